#include "platform/plat_accounts.h"

#include <stdio.h>
#include <windows.h>

static bool put_text(const wchar_t *wide, char text[PLAT_ACCOUNT_BYTES])
{
    return WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, PLAT_ACCOUNT_BYTES, NULL, NULL) > 0;
}

enum plat_account_answer plat_account_find(struct span sid, struct plat_account *ret_account)
{
    enum { UNITS = 257, HEAD_BYTES = 8 };
    union {
        SID sid;
        uint8_t bytes[SECURITY_MAX_SID_SIZE];
    } copy;
    wchar_t name[UNITS];
    wchar_t domain[UNITS];
    DWORD name_units = UNITS;
    DWORD domain_units = UNITS;
    SID_NAME_USE use;
    *ret_account = (struct plat_account){.name = ""};
    if (sid.size < HEAD_BYTES || sid.size > sizeof(copy)) {
        return PLAT_ACCOUNT_NONE;
    }
    memcpy(copy.bytes, sid.data, sid.size);
    if (!IsValidSid(&copy) || GetLengthSid(&copy) != sid.size) {
        return PLAT_ACCOUNT_NONE;
    }
    if (!LookupAccountSidW(NULL, &copy, name, &name_units, domain, &domain_units, &use)) {
        return GetLastError() == ERROR_NONE_MAPPED ? PLAT_ACCOUNT_NONE : PLAT_ACCOUNT_FAILED;
    }
    if (!put_text(name, ret_account->name) || !put_text(domain, ret_account->domain)) {
        return PLAT_ACCOUNT_FAILED;
    }
    return ret_account->name[0] ? PLAT_ACCOUNT_KNOWN : PLAT_ACCOUNT_NONE;
}
