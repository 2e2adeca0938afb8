#ifndef ETWSHIP_ETW_WINDOWS_ETW_HOLD_OWNER_H
#define ETWSHIP_ETW_WINDOWS_ETW_HOLD_OWNER_H

#include <wchar.h>
#include <windows.h>

#include "etw/etw_hold.h"

/* Accounts that are trusted to hold the lock of a session (etw_hold.h). */

/* The account of this process, `S-1-...`. */
bool etw_hold_owner_own(char ret_owner[ETW_HOLD_OWNER_BYTES]);

/* True if ${object}, opened as ${name} ("Global\\…") with READ_CONTROL, has that name and a trusted
 * owner. Else ${ret_owner} is the owner, if known. */
bool etw_hold_owner_is_trusted(
    HANDLE object, const wchar_t *name, char ret_owner[ETW_HOLD_OWNER_BYTES]);

/* State of a session if the owner of its object is not trusted: held if the owner is a member of a
 * group that may control sessions, else free. Also free if ${name} is a link to an object with
 * another name. */
enum etw_hold_state etw_hold_owner_judge(HANDLE object, const wchar_t *name);

/* True if process ${pid} runs and may run sessions, or if this process may not see that. */
bool etw_hold_owner_may_run(uint32_t pid);

#endif
