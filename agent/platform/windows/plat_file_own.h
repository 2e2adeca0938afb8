#ifndef ETWSHIP_PLATFORM_WINDOWS_PLAT_FILE_OWN_H
#define ETWSHIP_PLATFORM_WINDOWS_PLAT_FILE_OWN_H

#include <windows.h>

#include "platform/plat_file.h"

/* Representation of a file, shared by the files of this folder that open one. */
struct plat_file {
    HANDLE handle;
    bool appends;   /* writes go to the end at that time */
    char name[128]; /* for texts: the end of the path */
};

/* Make a file from ${handle} and take ownership of ${handle}, also on failure. NULL: out of
 * memory. */
struct plat_file *plat_file_wrap(HANDLE handle, const char *name, struct error *err);

/* Open the entry at ${path} to query it, with ${flags} of CreateFileW. INVALID_HANDLE_VALUE: there
 * is none. */
HANDLE plat_file_look(const char *path, DWORD flags);

/* Full rights for the system, administrators and the user of this process, inherited by everything
 * in a folder, and nothing inherited from above. The caller frees it with LocalFree; NULL: the user
 * is unknown. */
PSECURITY_DESCRIPTOR plat_file_private(void);

#endif
