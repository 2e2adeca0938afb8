#ifndef ETWSHIP_PLATFORM_LINUX_PLAT_FILE_OWN_H
#define ETWSHIP_PLATFORM_LINUX_PLAT_FILE_OWN_H

#include "platform/plat_file.h"

/* Representation of a file, shared by the files of this folder that open one. */
struct plat_file {
    int fd;
    char name[128]; /* for texts: the end of the path */
};

/* Make a file from ${fd} and take ownership of ${fd}, also on failure. NULL: out of memory. */
struct plat_file *plat_file_wrap(int fd, const char *name, struct error *err);

/* True if ${fd}, opened for writing without following a link, may be changed. False with ERR_CONFIG
 * for an ordinary file with several names. */
bool plat_file_check_own(int fd, const char *path, struct error *err);

#endif
