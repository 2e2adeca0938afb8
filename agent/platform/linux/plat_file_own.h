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

#endif
