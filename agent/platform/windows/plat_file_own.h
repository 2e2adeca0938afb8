#ifndef ETWSHIP_PLATFORM_WINDOWS_PLAT_FILE_OWN_H
#define ETWSHIP_PLATFORM_WINDOWS_PLAT_FILE_OWN_H

#include <windows.h>

#include "platform/plat_file.h"

/* What a file is among the files of this folder that open one. */
struct plat_file {
    HANDLE handle;
    bool appends;   /* writes go to the end, wherever that is then */
    char name[128]; /* for texts: the end of the path */
};

/* A file around ${handle}, which it closes, also on failure. NULL: out of memory. */
struct plat_file *plat_file_wrap(HANDLE handle, const char *name, struct error *err);

/* Full rights for the system, administrators and the user of this process, for all that will be made in it
 * too if it is a folder, and nothing from above. The caller frees it with LocalFree; NULL: not known whose
 * it is. */
PSECURITY_DESCRIPTOR plat_file_private(void);

#endif
