#ifndef ETWSHIP_APP_INSTALL_FOLDERS_H
#define ETWSHIP_APP_INSTALL_FOLDERS_H

#include <stddef.h>

#include "base/error.h"

/* The folders of the service, and the rights of accounts on them: data, without a call. */

enum { INSTALL_FOLDERS_LIST_BYTES = 512 };

/*
 * Folder number ${i}, from 0 on, each after the one that it lies in: its name below
 * %ProgramData%\etwship ("": that folder itself), and its access list as SDDL ([MS-DTYP] 2.5.1) for
 * a service that runs as ${account}, a SID as text; NULL: LocalSystem. False: there are no more, or
 * ${account} is too long (ERR_CONFIG).
 */
bool install_folders_get(size_t i, const char *account, const char **ret_name,
    char ret_sddl[INSTALL_FOLDERS_LIST_BYTES], struct error *err);

#endif
