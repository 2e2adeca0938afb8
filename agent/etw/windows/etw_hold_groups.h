#ifndef ETWSHIP_ETW_WINDOWS_ETW_HOLD_GROUPS_H
#define ETWSHIP_ETW_WINDOWS_ETW_HOLD_GROUPS_H

#include <windows.h>

#include <authz.h>

#include "etw/etw_hold.h"

/* Accounts that may control sessions: members of Administrators and of Performance Log Users
 * (starttracew on learn.microsoft.com). */

/* True if ${groups} has one of these groups with all of ${attributes} (SE_GROUP_...). */
bool etw_hold_groups_may_trace(const TOKEN_GROUPS *groups, DWORD attributes);

/* Membership of the account `S-1-...` in one of these groups, also through other groups. Held: yes.
 * Free: no. Doubtful: unknown, for example because no domain controller answers. */
enum etw_hold_state etw_hold_groups_ask(const char *account);

/* The functions of authz.dll that are called. */
struct etw_hold_authz {
    BOOL(WINAPI *create)
    (DWORD flags, void *check, void *compute, void *free_groups, const wchar_t *name,
        AUTHZ_RESOURCE_MANAGER_HANDLE *ret_manager);
    BOOL(WINAPI *look_up)
    (DWORD flags, PSID account, AUTHZ_RESOURCE_MANAGER_HANDLE manager, LARGE_INTEGER *expires,
        LUID identifier, void *arguments, AUTHZ_CLIENT_CONTEXT_HANDLE *ret_context);
    BOOL(WINAPI *get)
    (AUTHZ_CLIENT_CONTEXT_HANDLE context, int what, DWORD bytes, DWORD *ret_bytes,
        void *ret_groups);
    BOOL(WINAPI *free_context)(AUTHZ_CLIENT_CONTEXT_HANDLE context);
    BOOL(WINAPI *free_manager)(AUTHZ_RESOURCE_MANAGER_HANDLE manager);
};

/* For tests: use these functions. NULL: those of Windows again. */
void etw_hold_groups_use(const struct etw_hold_authz *authz);

#endif
