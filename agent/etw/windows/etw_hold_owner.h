#ifndef ETWSHIP_ETW_WINDOWS_ETW_HOLD_OWNER_H
#define ETWSHIP_ETW_WINDOWS_ETW_HOLD_OWNER_H

#include <wchar.h>
#include <windows.h>

#include "etw/etw_hold.h"

/* Which accounts are trusted to hold the lock of a session (etw_hold.h). */

/* The account of this process, `S-1-...`. */
bool etw_hold_owner_own(char ret_owner[ETW_HOLD_OWNER_BYTES]);

/* Does ${object}, opened as ${name} ("Global\\…") with READ_CONTROL, have that name, and an owner that
 * is trusted? If not, ${ret_owner} is the owner, if that is known. */
bool etw_hold_owner_is_trusted(
    HANDLE object, const wchar_t *name, char ret_owner[ETW_HOLD_OWNER_BYTES]);

/* What an object means for its session if its owner is not trusted: held if the owner is a member of a group
 * that may control sessions, free if not. Also free if ${name} is a link to an object of another name. */
enum etw_hold_state etw_hold_owner_judge(HANDLE object, const wchar_t *name);

/* Does process ${pid} run, with the right to run sessions? True also where this process may not see that. */
bool etw_hold_owner_may_run(uint32_t pid);

#endif
