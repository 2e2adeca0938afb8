#include <windows.h>

#include <aclapi.h>
#include <sddl.h>
#include <stdlib.h>
#include <string.h>
#include <winioctl.h>

#include "platform/plat_rights.h"
#include "platform/windows/plat_wide.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* Read owner and DACL from NtQuerySecurityObject: self-relative and unresolved. */
static bool read_descriptor(
    HANDLE file, const char *path, struct plat_rights *rights, struct error *err)
{
    enum { MAX_DESCRIPTOR_BYTES = 256 * 1024 };
    const SECURITY_INFORMATION what = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    DWORD bytes = 0;
    GetKernelObjectSecurity(file, what, NULL, 0, &bytes);
    if (bytes == 0 || bytes > MAX_DESCRIPTOR_BYTES) {
        return plat_wide_error(err, GetLastError(), path, "cannot read its access rights");
    }
    rights->descriptor = malloc(bytes);
    if (!rights->descriptor) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", path);
    }
    if (!GetKernelObjectSecurity(file, what, rights->descriptor, bytes, &bytes)) {
        return plat_wide_error(err, GetLastError(), path, "cannot read its access rights");
    }
    rights->descriptor_bytes = bytes;
    return true;
}

static bool read_link(HANDLE file, const char *path, struct plat_rights *rights, struct error *err)
{
    DWORD bytes = 0;
    rights->link = malloc(MAXIMUM_REPARSE_DATA_BUFFER_SIZE);
    if (!rights->link) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", path);
    }
    if (!DeviceIoControl(file, FSCTL_GET_REPARSE_POINT, NULL, 0, rights->link,
            MAXIMUM_REPARSE_DATA_BUFFER_SIZE, &bytes, NULL)) {
        return plat_wide_error(err, GetLastError(), path, "cannot read this link");
    }
    rights->link_bytes = bytes;
    return true;
}

static bool read_all(HANDLE file, const char *path, struct plat_rights *rights, struct error *err)
{
    BY_HANDLE_FILE_INFORMATION info;
    if (GetFileType(file) != FILE_TYPE_DISK) {
        rights->kind = PLAT_RIGHTS_OTHER;
        return true;
    }
    if (!GetFileInformationByHandle(file, &info)) {
        return plat_wide_error(err, GetLastError(), path, "cannot read its attributes");
    }
    bool is_link = info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT;
    rights->is_folder = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    rights->kind = is_link             ? PLAT_RIGHTS_LINK
                   : rights->is_folder ? PLAT_RIGHTS_FOLDER
                                       : PLAT_RIGHTS_FILE;
    return read_descriptor(file, path, rights, err) &&
           (!is_link || read_link(file, path, rights, err));
}

bool plat_rights_read(const char *path, struct plat_rights *ret_rights, struct error *err)
{
    struct plat_rights rights = {.kind = PLAT_RIGHTS_NONE};
    wchar_t *wide = plat_wide_path(path, err);
    if (!wide) {
        return false;
    }
    HANDLE file = CreateFileW(wide, READ_CONTROL | FILE_READ_ATTRIBUTES,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    DWORD code = GetLastError();
    free(wide);
    if (file == INVALID_HANDLE_VALUE) {
        if (code != ERROR_FILE_NOT_FOUND && code != ERROR_PATH_NOT_FOUND) {
            return plat_wide_error(err, code, path, "cannot read its access rights");
        }
        *ret_rights = rights;
        return true;
    }
    bool good = read_all(file, path, &rights, err);
    CloseHandle(file);
    if (!good) {
        plat_rights_fini(&rights);
        return false;
    }
    *ret_rights = rights;
    return true;
}

void plat_rights_fini(struct plat_rights *rights)
{
    free(rights->descriptor);
    free(rights->link);
}

/* ---- this process ---------------------------------------------------------------------------- */

static bool is_elevated(HANDLE token)
{
    TOKEN_ELEVATION elevation;
    DWORD bytes;
    return GetTokenInformation(token, TokenElevation, &elevation, sizeof(elevation), &bytes) &&
           elevation.TokenIsElevated;
}

static bool has_one_account(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    return ntdll && GetProcAddress(ntdll, "wine_get_version");
}

void plat_rights_self(struct plat_rights_self *ret_self)
{
    union {
        TOKEN_USER user;
        uint8_t bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } held;
    struct plat_rights_self self = {.has_sids = true, .is_service_too = has_one_account()};
    DWORD bytes;
    HANDLE token;
    if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
        self.is_privileged = is_elevated(token);
        if (GetTokenInformation(token, TokenUser, &held, sizeof(held), &bytes)) {
            self.sid_bytes = GetLengthSid(held.user.User.Sid);
            memcpy(self.sid, held.user.User.Sid, self.sid_bytes);
        }
        CloseHandle(token);
    }
    *ret_self = self;
}

/* ---- paths ----------------------------------------------------------------------------------- */

char *plat_rights_absolute(const char *path, struct error *err)
{
    enum { MAX_UNITS = 32768 };
    wchar_t *wide = plat_wide_text(path, err);
    wchar_t *full = wide ? malloc(MAX_UNITS * sizeof(*full)) : NULL;
    char *absolute = NULL;
    if (wide && !full) {
        error_set(err, ERR_MEMORY, "%s: out of memory", path);
    } else if (wide) {
        DWORD units = GetFullPathNameW(wide, MAX_UNITS, full, NULL);
        if (units == 0 || units >= MAX_UNITS) {
            DWORD code = units ? ERROR_FILENAME_EXCED_RANGE : GetLastError();
            plat_wide_error(err, code, path, "not a valid path");
        } else {
            absolute = plat_wide_to_utf8(full);
        }
    }
    free(full);
    free(wide);
    return absolute;
}

char *plat_rights_program(struct error *err)
{
    enum { MAX_UNITS = 32768 };
    wchar_t *full = malloc(MAX_UNITS * sizeof(*full));
    char *program = NULL;
    if (!full) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    DWORD units = GetModuleFileNameW(NULL, full, MAX_UNITS);
    if (units == 0 || units >= MAX_UNITS) {
        plat_wide_error(err, GetLastError(), "etwship.exe", "its path is unknown");
    } else {
        program = plat_wide_to_utf8(full);
    }
    free(full);
    return program;
}

/* ---- own folders ----------------------------------------------------------------------------- */

/* Open the folder itself without following a link: a user who may write beside it could have
 * replaced it by one, and setting rights would affect another place. NULL: none, or a link. */
static HANDLE open_folder(
    const wchar_t *wide, ACCESS_MASK rights, const char *path, struct error *err)
{
    BY_HANDLE_FILE_INFORMATION info;
    HANDLE folder = CreateFileW(wide,
        rights | READ_CONTROL | FILE_READ_ATTRIBUTES | FILE_LIST_DIRECTORY,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (folder == INVALID_HANDLE_VALUE) {
        plat_wide_error(err, GetLastError(), path, "cannot open it to set its access rights");
        return NULL;
    }
    const DWORD kinds = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
    bool good = GetFileInformationByHandle(folder, &info);
    if (!good) {
        plat_wide_error(err, GetLastError(), path, "cannot read its attributes");
    } else if ((info.dwFileAttributes & kinds) != FILE_ATTRIBUTE_DIRECTORY) {
        good = error_set(err, ERR_CONFIG,
            "%s: is a link or not a folder. check where it leads and remove it", path);
    }
    if (!good) {
        CloseHandle(folder);
        return NULL;
    }
    return folder;
}

/*
 * An elevated process, or LocalSystem, may make the administrators group an owner. Others may not;
 * their folder belongs to their account (ERROR_INVALID_OWNER), which a later check of trust
 * reports.
 */
static bool give_to_administrators(const wchar_t *wide, const char *path, struct error *err)
{
    union {
        SID sid;
        uint8_t bytes[SECURITY_MAX_SID_SIZE];
    } sid;
    DWORD size = sizeof(sid);
    struct plat_rights_self self;
    if (!CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, &sid, &size)) {
        return plat_wide_error(err, GetLastError(), path, "cannot get the SID of administrators");
    }
    plat_rights_self(&self);
    HANDLE folder = open_folder(wide, WRITE_OWNER, path, err);
    if (!folder) {
        return !self.is_privileged;
    }
    DWORD code = SetSecurityInfo(
        folder, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION, &sid, NULL, NULL, NULL);
    CloseHandle(folder);
    return code == ERROR_SUCCESS || !self.is_privileged ||
           plat_wide_error(err, code, path, "cannot make administrators its owner");
}

/* Replace the access list of an existing folder, and what it inherits to its content. */
static bool set_list(
    const wchar_t *wide, PSECURITY_DESCRIPTOR descriptor, const char *path, struct error *err)
{
    BOOL present;
    BOOL defaulted;
    PACL list = NULL;
    if (!GetSecurityDescriptorDacl(descriptor, &present, &list, &defaulted) || !list) {
        return error_set(err, ERR_CONFIG, "%s: there is no access list to set", path);
    }
    HANDLE folder = open_folder(wide, WRITE_DAC, path, err);
    if (!folder) {
        return false;
    }
    DWORD code = SetSecurityInfo(folder, SE_FILE_OBJECT,
        DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION, NULL, NULL, list, NULL);
    CloseHandle(folder);
    return code == ERROR_SUCCESS ||
           plat_wide_error(err, code, path, "cannot set its access rights");
}

bool plat_rights_protect(const char *path, const char *sddl, struct error *err)
{
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof(attributes)};
    wchar_t *wide = plat_wide_path(path, err);
    wchar_t *text = wide ? plat_wide_text(sddl, err) : NULL;
    bool good = text != NULL;
    if (good && !ConvertStringSecurityDescriptorToSecurityDescriptorW(
                    text, SDDL_REVISION_1, &attributes.lpSecurityDescriptor, NULL)) {
        good = plat_wide_error(err, GetLastError(), sddl, "invalid access rights");
    }
    /* created with its rights, so that there is never a moment with access for others */
    if (good && !CreateDirectoryW(wide, &attributes)) {
        DWORD code = GetLastError();
        good = code == ERROR_ALREADY_EXISTS
                   ? set_list(wide, attributes.lpSecurityDescriptor, path, err)
                   : plat_wide_error(err, code, path, "cannot create this folder");
    }
    good = good && give_to_administrators(wide, path, err);
    LocalFree(attributes.lpSecurityDescriptor);
    free(text);
    free(wide);
    return good;
}
