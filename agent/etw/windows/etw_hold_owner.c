#include "etw/windows/etw_hold_owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <winternl.h>

#include "base/buf.h"
#include "etw/windows/etw_hold_groups.h"
#include "platform/plat_rights.h"
#include "trust/sid.h"

enum { MAX_DESCRIPTOR_BYTES = 64 * 1024, MAX_NAME_BYTES = 2048, MAX_TOKEN_BYTES = 64 * 1024 };

/* ---- the owner ------------------------------------------------------------------------------- */

static bool read_sid(PSID from, struct sid *ret_sid)
{
    struct reader r = reader_make(span_make(from, GetLengthSid(from)));
    return sid_read(&r, ret_sid);
}

static bool read_owner(HANDLE object, struct sid *ret_owner)
{
    DWORD bytes = 0;
    PSID owner = NULL;
    BOOL is_default;
    GetKernelObjectSecurity(object, OWNER_SECURITY_INFORMATION, NULL, 0, &bytes);
    void *descriptor = bytes && bytes <= MAX_DESCRIPTOR_BYTES ? malloc(bytes) : NULL;
    bool good = descriptor &&
                GetKernelObjectSecurity(
                    object, OWNER_SECURITY_INFORMATION, descriptor, bytes, &bytes) &&
                GetSecurityDescriptorOwner(descriptor, &owner, &is_default) && owner &&
                IsValidSid(owner) && read_sid(owner, ret_owner);
    free(descriptor);
    return good;
}

static bool read_own(struct sid *ret_sid)
{
    struct plat_rights_self self;
    plat_rights_self(&self);
    struct reader r = reader_make(span_make(self.sid, self.sid_bytes));
    return sid_read(&r, ret_sid);
}

/* ${write} is sid_write or sid_write_plain. */
static void write_sid(const struct sid *sid, void (*write)(const struct sid *sid, struct buf *out),
    char ret_text[ETW_HOLD_OWNER_BYTES])
{
    struct buf text;
    buf_init(&text, ETW_HOLD_OWNER_BYTES - 1);
    write(sid, &text);
    struct span written = buf_span(&text);
    snprintf(ret_text, ETW_HOLD_OWNER_BYTES, "%.*s", SPAN_ARG(written));
    buf_fini(&text);
}

bool etw_hold_owner_own(char ret_owner[ETW_HOLD_OWNER_BYTES])
{
    struct sid own;
    bool is_known = read_own(&own);
    if (is_known) {
        write_sid(&own, sid_write_plain, ret_owner);
    }
    return is_known;
}

static bool is_trusted(const struct sid *sid)
{
    struct sid process;
    const struct sid_own own = {
        .process = read_own(&process) ? &process : NULL, .service = sid_of_service()};
    return sid_is_trusted(sid, &own);
}

/* ---- the name -------------------------------------------------------------------------------- */

typedef NTSTATUS WINAPI query_fn(HANDLE, OBJECT_INFORMATION_CLASS, PVOID, ULONG, PULONG);

/* A name may be a link of another account to a different object, so the object's own name is
 * compared: in ${name}, "Global\..." is short for "\BaseNamedObjects\...", which has a longer path
 * in a container. */
static bool has_name(HANDLE object, const wchar_t *name)
{
    static const wchar_t folder[] = L"\\BaseNamedObjects";
    enum { NAME_INFORMATION = 1, FOLDER_CHARS = sizeof(folder) / sizeof(folder[0]) - 1 };
    union {
        UNICODE_STRING name;
        uint8_t bytes[MAX_NAME_BYTES];
    } held = {.bytes = {0}};
    const wchar_t *own = wcschr(name, L'\\');
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    FARPROC found = ntdll ? GetProcAddress(ntdll, "NtQueryObject") : NULL;
    query_fn *query;
    memcpy(&query, &found, sizeof(query));
    ULONG room = sizeof(held) - sizeof(wchar_t); /* it ends with a NUL in any case */
    if (!own || !query ||
        query(object, (OBJECT_INFORMATION_CLASS)NAME_INFORMATION, &held, room, NULL) < 0) {
        return false;
    }
    size_t chars = held.name.Length / sizeof(wchar_t);
    size_t own_chars = wcslen(own);
    if (!held.name.Buffer || chars < own_chars + FOLDER_CHARS ||
        wcsstr(held.name.Buffer, L"\\Sessions\\")) {
        return false;
    }
    const wchar_t *end = held.name.Buffer + chars - own_chars;
    return _wcsnicmp(end - FOLDER_CHARS, folder, FOLDER_CHARS) == 0 &&
           _wcsnicmp(end, own, own_chars) == 0;
}

bool etw_hold_owner_is_trusted(
    HANDLE object, const wchar_t *name, char ret_owner[ETW_HOLD_OWNER_BYTES])
{
    struct sid owner;
    if (!read_owner(object, &owner)) {
        snprintf(ret_owner, ETW_HOLD_OWNER_BYTES, "an account that cannot be read");
        return false;
    }
    if (!has_name(object, name)) {
        snprintf(ret_owner, ETW_HOLD_OWNER_BYTES, "an account that has replaced it with a link");
        return false;
    }
    write_sid(&owner, sid_write, ret_owner);
    return is_trusted(&owner);
}

enum etw_hold_state etw_hold_owner_judge(HANDLE object, const wchar_t *name)
{
    struct sid owner;
    char text[ETW_HOLD_OWNER_BYTES];
    if (!has_name(object, name)) {
        return ETW_HOLD_FREE;
    }
    if (!read_owner(object, &owner)) {
        return ETW_HOLD_DOUBTFUL;
    }
    write_sid(&owner, sid_write_plain, text);
    return etw_hold_groups_ask(text);
}

/* ---- processes ------------------------------------------------------------------------------- */

static bool has_rights(HANDLE token)
{
    DWORD bytes = 0;
    struct sid user_sid;
    void *groups = malloc(MAX_TOKEN_BYTES);
    void *user = malloc(MAX_TOKEN_BYTES);
    bool sees = groups && user &&
                GetTokenInformation(token, TokenGroups, groups, MAX_TOKEN_BYTES, &bytes) &&
                GetTokenInformation(token, TokenUser, user, MAX_TOKEN_BYTES, &bytes) &&
                read_sid(((TOKEN_USER *)user)->User.Sid, &user_sid);
    bool has = !sees || etw_hold_groups_may_trace(groups, SE_GROUP_ENABLED) ||
               is_trusted(&user_sid);
    free(groups);
    free(user);
    return has;
}

bool etw_hold_owner_may_run(uint32_t pid)
{
    HANDLE token = NULL;
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
    if (!process) {
        return GetLastError() != ERROR_INVALID_PARAMETER; /* else the process does not exist */
    }
    DWORD code = STILL_ACTIVE;
    bool runs = !GetExitCodeProcess(process, &code) || code == STILL_ACTIVE;
    bool may = runs && (!OpenProcessToken(process, TOKEN_QUERY, &token) || has_rights(token));
    if (token) {
        CloseHandle(token);
    }
    CloseHandle(process);
    return may;
}
