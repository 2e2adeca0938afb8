#include <windows.h>

#include <aclapi.h>
#include <sddl.h>
#include <stdlib.h>
#include <wchar.h>

#include "platform/plat_rights.h"
#include "platform/windows/plat_file_own.h"
#include "platform/windows/plat_wide.h"

/* True for rights to read the content, or to obtain that right. */
static bool lets_read(ACCESS_MASK mask)
{
    return (mask & (FILE_READ_DATA | WRITE_DAC | WRITE_OWNER | GENERIC_READ | GENERIC_ALL)) != 0;
}

/* True if ${sid} is a group that contains every user of the machine. */
static bool is_everybody(PSID sid)
{
    static const WELL_KNOWN_SID_TYPE groups[] = {WinWorldSid, WinAuthenticatedUserSid,
        WinBuiltinUsersSid, WinBuiltinGuestsSid, WinInteractiveSid, WinAnonymousSid};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (IsWellKnownSid(sid, groups[i])) {
            return true;
        }
    }
    return false;
}

/* Without a list everyone has access. */
static bool is_private(PACL list)
{
    for (DWORD i = 0; list && i < list->AceCount; i++) {
        void *entry;
        if (!GetAce(list, i, &entry)) {
            return false;
        }
        const ACE_HEADER *header = entry;
        if (header->AceType == ACCESS_ALLOWED_ACE_TYPE && !(header->AceFlags & INHERIT_ONLY_ACE)) {
            ACCESS_ALLOWED_ACE *allowed = entry;
            if (lets_read(allowed->Mask) && is_everybody(&allowed->SidStart)) {
                return false;
            }
        }
    }
    return list != NULL;
}

bool plat_file_is_private(const char *path, bool *ret_private, struct error *err)
{
    wchar_t *wide = plat_wide_path(path, err);
    if (!wide) {
        return false;
    }
    PACL list = NULL;
    PSECURITY_DESCRIPTOR descriptor = NULL;
    DWORD code = GetNamedSecurityInfoW(
        wide, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL, &list, NULL, &descriptor);
    free(wide);
    if (code != ERROR_SUCCESS) {
        return plat_wide_error(err, code, path, "cannot read its access rights");
    }
    *ret_private = is_private(list);
    LocalFree(descriptor);
    return true;
}

PSECURITY_DESCRIPTOR plat_file_private(void)
{
    PSECURITY_DESCRIPTOR descriptor = NULL;
    struct plat_rights_self self;
    wchar_t *user;
    wchar_t text[512];
    plat_rights_self(&self);
    if (self.sid_bytes && ConvertSidToStringSidW(self.sid, &user)) {
        swprintf(text, sizeof(text) / sizeof(text[0]),
            L"D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;%ls)", user);
        LocalFree(user);
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            text, SDDL_REVISION_1, &descriptor, NULL);
    }
    return descriptor;
}
