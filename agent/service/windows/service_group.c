#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* After windows.h, on which it depends. */
#include <lmaccess.h>
#include <lmerr.h>

#include "platform/windows/plat_wide.h"
#include "service/windows/service_own.h"

/*
 * Group names depend on the system's language, so the name is looked up by the SID, S-1-5-32-559.
 * netapi32.dll is loaded from the system's folder, as it is not one of the "known DLLs".
 */
union any_sid {
    SID sid;
    uint8_t bytes[SECURITY_MAX_SID_SIZE];
};

enum { NAME_UNITS = 256 };

typedef DWORD WINAPI change_fn(
    const wchar_t *server, const wchar_t *group, DWORD level, BYTE *members, DWORD count);

static uint32_t find_group(wchar_t name[NAME_UNITS])
{
    union any_sid sid;
    wchar_t domain[NAME_UNITS];
    DWORD sid_bytes = sizeof(sid);
    DWORD name_units = NAME_UNITS;
    DWORD domain_units = NAME_UNITS;
    SID_NAME_USE use;
    bool found = CreateWellKnownSid(WinBuiltinPerfLoggingUsersSid, NULL, &sid, &sid_bytes) &&
                 LookupAccountSidW(NULL, &sid, name, &name_units, domain, &domain_units, &use);
    return found ? ERROR_SUCCESS : GetLastError();
}

static uint32_t find_account(const char *account, union any_sid *ret_sid)
{
    wchar_t domain[NAME_UNITS];
    DWORD sid_bytes = sizeof(*ret_sid);
    DWORD domain_units = NAME_UNITS;
    SID_NAME_USE use;
    wchar_t *name = plat_wide_text(account, NULL);
    if (!name) {
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    bool found = LookupAccountNameW(NULL, name, ret_sid, &sid_bytes, domain, &domain_units, &use);
    uint32_t code = found ? ERROR_SUCCESS : GetLastError();
    free(name);
    return code;
}

uint32_t service_group_set_log_user(const char *account, bool member)
{
    union any_sid sid;
    wchar_t group[NAME_UNITS];
    uint32_t code = find_account(account, &sid);
    code = code ? code : find_group(group);
    if (code) {
        return code;
    }
    HMODULE library = LoadLibraryExW(L"netapi32.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    FARPROC found = library ? GetProcAddress(library,
                                  member ? "NetLocalGroupAddMembers" : "NetLocalGroupDelMembers")
                            : NULL;
    if (!found) {
        return GetLastError();
    }
    change_fn *change;
    memcpy(&change, &found, sizeof(change));
    LOCALGROUP_MEMBERS_INFO_0 info = {.lgrmi0_sid = &sid};
    code = change(NULL, group, 0, (BYTE *)&info, 1);
    bool was_so = code == (member ? ERROR_MEMBER_IN_ALIAS : ERROR_MEMBER_NOT_IN_ALIAS);
    return was_so ? ERROR_SUCCESS : code;
}
