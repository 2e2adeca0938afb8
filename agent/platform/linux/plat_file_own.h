#ifndef ETWSHIP_PLATFORM_LINUX_PLAT_FILE_OWN_H
#define ETWSHIP_PLATFORM_LINUX_PLAT_FILE_OWN_H

#include "platform/plat_file.h"

/* What a file is among the files of this folder that open one. */
struct plat_file {
    int fd;
    char name[128]; /* for texts: the end of the path */
};

/* A file around ${fd}, which it closes, also on failure. NULL: out of memory. */
struct plat_file *plat_file_wrap(int fd, const char *name, struct error *err);

/* May ${fd}, opened for writing by ${path} without following a link, be changed? Not if it is an ordinary
 * file with other names besides (ERR_CONFIG). */
bool plat_file_check_own(int fd, const char *path, struct error *err);

#endif
