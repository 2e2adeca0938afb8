#include <windows.h>

#include "etw/etw_privilege.h"

/* The token of this process (checktokenmembership, adjusttokenprivileges on learn.microsoft.com).
 * Under UAC the group of administrators counts only when elevated. */

static bool is_member(WELL_KNOWN_SID_TYPE type)
{
    union {
        SID sid;
        uint8_t bytes[SECURITY_MAX_SID_SIZE];
    } sid;
    DWORD size = sizeof(sid);
    BOOL member = FALSE;
    return CreateWellKnownSid(type, NULL, &sid, &size) &&
           CheckTokenMembership(NULL, &sid, &member) && member;
}

/* The process's token with ${access}, or NULL. */
static HANDLE open_token(DWORD access)
{
    HANDLE token = NULL;
    return OpenProcessToken(GetCurrentProcess(), access, &token) ? token : NULL;
}

static bool profile_luid(LUID *ret_luid)
{
    return LookupPrivilegeValueW(NULL, L"SeSystemProfilePrivilege", ret_luid) != 0;
}

static bool has_profile(void)
{
    union {
        TOKEN_PRIVILEGES list;
        uint8_t bytes[sizeof(TOKEN_PRIVILEGES) + 64 * sizeof(LUID_AND_ATTRIBUTES)];
    } held;
    LUID wanted;
    DWORD size;
    bool found = false;
    HANDLE token = open_token(TOKEN_QUERY);
    if (token && profile_luid(&wanted) &&
        GetTokenInformation(token, TokenPrivileges, &held, sizeof(held), &size)) {
        for (DWORD i = 0; i < held.list.PrivilegeCount; i++) {
            const LUID *luid = &held.list.Privileges[i].Luid;
            found = found || (luid->LowPart == wanted.LowPart && luid->HighPart == wanted.HighPart);
        }
    }
    if (token) {
        CloseHandle(token);
    }
    return found;
}

void etw_privilege_query(struct etw_rights *ret_rights)
{
    *ret_rights = (struct etw_rights){
        .administrator = is_member(WinBuiltinAdministratorsSid) || is_member(WinLocalSystemSid),
        .service = is_member(WinLocalServiceSid) || is_member(WinNetworkServiceSid),
        .log_user = is_member(WinBuiltinPerfLoggingUsersSid),
        .profile = has_profile(),
    };
}

bool etw_privilege_enable_profile(struct error *err)
{
    TOKEN_PRIVILEGES wanted = {.PrivilegeCount = 1};
    DWORD code = ERROR_ACCESS_DENIED;
    HANDLE token = open_token(TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY);
    wanted.Privileges[0].Attributes = SE_PRIVILEGE_ENABLED;
    if (token && profile_luid(&wanted.Privileges[0].Luid)) {
        /* Succeeds even if nothing was changed; the error code tells. */
        AdjustTokenPrivileges(token, FALSE, &wanted, 0, NULL, NULL);
        code = GetLastError();
    }
    if (token) {
        CloseHandle(token);
    }
    return code == ERROR_SUCCESS ||
           error_set_os(err, code,
               "run as administrator, or grant 'Profile system performance' to this user",
               "the privilege SeSystemProfilePrivilege cannot be enabled (error %lu)", code);
}
