#include "etw/etw_hold.h"

#include <windows.h>

#include <sddl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/guid.h"
#include "etw/windows/etw_hold_owner.h"

/*
 * A machine-wide named mutex, never waited for: it exists while a process has it open. Its name is
 * derived from the session's GUID, since a session's name may have characters that a mutex's may
 * not. (createmutexexw on learn.microsoft.com)
 *
 * Accounts that may control sessions may read its owner only: LocalSystem, administrators and
 * members of Performance Log Users (S-1-5-32-559). Others may not open it, since any open handle
 * keeps the mutex, with its owner, alive after the agent has ended.
 */
struct etw_hold {
    HANDLE mutex; /* NULL: the name is squatted */
    char warning[512];
};

enum { NAME_CHARS = 64, RIGHTS_BYTES = 256 };

static void mutex_name(const char *session, wchar_t *name)
{
    static const char prefix[] = "Global\\etwship-session-";
    struct guid guid = guid_from_name(span_text(session));
    char text[NAME_CHARS] = {0};
    memcpy(text, prefix, sizeof(prefix) - 1);
    guid_write(&guid, text + sizeof(prefix) - 1);
    for (size_t i = 0; i < NAME_CHARS; i++) {
        name[i] = (wchar_t)text[i];
    }
}

/* Owned by the account of this process; for LocalSystem and elevated administrators by
 * Administrators, as Windows does, since the account alone does not prove elevation. */
static bool write_rights(bool is_administrator, char rights[RIGHTS_BYTES])
{
    char owner[ETW_HOLD_OWNER_BYTES] = "BA";
    if (!is_administrator && !etw_hold_owner_own(owner)) {
        return false;
    }
    snprintf(
        rights, RIGHTS_BYTES, "O:%.180sD:P(A;;GA;;;SY)(A;;GA;;;BA)(A;;RC;;;S-1-5-32-559)", owner);
    return true;
}

/* The mutex, or NULL; ERROR_SUCCESS if this call created it. */
static DWORD create(const wchar_t *name, HANDLE *ret_mutex)
{
    DWORD code = ERROR_INVALID_OWNER;
    *ret_mutex = NULL;
    for (int is_administrator = 1; is_administrator >= 0 && code == ERROR_INVALID_OWNER;
         is_administrator--) {
        SECURITY_ATTRIBUTES attributes = {.nLength = sizeof(attributes)};
        char rights[RIGHTS_BYTES];
        if (!write_rights(is_administrator, rights)) {
            return code;
        }
        if (!ConvertStringSecurityDescriptorToSecurityDescriptorA(
                rights, SDDL_REVISION_1, &attributes.lpSecurityDescriptor, NULL)) {
            return GetLastError();
        }
        SetLastError(ERROR_SUCCESS);
        *ret_mutex = CreateMutexExW(&attributes, name, 0, READ_CONTROL);
        code = GetLastError();
        LocalFree(attributes.lpSecurityDescriptor);
    }
    return code;
}

/* True if another program has this name: any account that may control sessions can open a mutex of
 * etwship. */
static bool is_foreign(DWORD code)
{
    return code == ERROR_ACCESS_DENIED || code == ERROR_INVALID_HANDLE;
}

static void set_warning(struct etw_hold *hold, const char *session, const char *owner)
{
    if (hold->mutex) {
        CloseHandle(hold->mutex);
        hold->mutex = NULL;
    }
    snprintf(hold->warning, sizeof(hold->warning),
        "session %.100s: its lock belongs to %.200s, which is not trusted. the session runs, but a "
        "second agent with it would not be noticed. end the program that has the lock",
        session, owner);
}

static const char hidden_account[] = "an unreadable account";

/* Decide about the created or found object. True: this process holds the session, perhaps with a
 * warning. */
static bool settle(
    struct etw_hold *hold, const char *session, const wchar_t *name, DWORD code, struct error *err)
{
    char owner[ETW_HOLD_OWNER_BYTES];
    snprintf(owner, sizeof(owner), "%s", hidden_account);
    bool is_ours = false;
    if (hold->mutex && (code == ERROR_SUCCESS || code == ERROR_ALREADY_EXISTS)) {
        is_ours = etw_hold_owner_is_trusted(hold->mutex, name, owner);
        if (is_ours && code == ERROR_ALREADY_EXISTS) {
            return error_set(err, ERR_STOPPED,
                "session %.100s belongs to a running agent. stop that one, or use another name",
                session);
        }
    } else if (!is_foreign(code)) {
        return error_set_os(err, code, "check whether another program uses its names",
            "session %.100s cannot be claimed (error %lu)", session, code);
    }
    if (!is_ours) {
        set_warning(hold, session, owner);
    }
    return true;
}

struct etw_hold *etw_hold_take(const char *session, struct error *err)
{
    wchar_t name[NAME_CHARS];
    struct etw_hold *hold = calloc(1, sizeof(*hold));
    if (!hold) {
        error_set(err, ERR_MEMORY, "out of memory for session %.100s", session);
        return NULL;
    }
    mutex_name(session, name);
    DWORD code = create(name, &hold->mutex);
    if (!settle(hold, session, name, code, err)) {
        etw_hold_drop(hold);
        return NULL;
    }
    return hold;
}

const char *etw_hold_warning(const struct etw_hold *hold)
{
    return hold->warning[0] ? hold->warning : NULL;
}

void etw_hold_drop(struct etw_hold *hold)
{
    if (hold && hold->mutex) {
        CloseHandle(hold->mutex);
    }
    free(hold);
}

/* State of an object with this name if its owner is not trusted. ${mutex} is NULL if it cannot be
 * opened. */
static enum etw_hold_state look_at_untrusted(
    const char *session, const wchar_t *name, HANDLE mutex, DWORD code)
{
    uint32_t pid = etw_hold_name_pid(session);
    if (pid) {
        return etw_hold_owner_may_run(pid) ? ETW_HOLD_HELD : ETW_HOLD_FREE;
    }
    if (mutex) {
        return etw_hold_owner_judge(mutex, name);
    }
    return code == ERROR_ACCESS_DENIED ? ETW_HOLD_DOUBTFUL : ETW_HOLD_FREE; /* else not a mutex */
}

enum etw_hold_state etw_hold_look(const char *session, char ret_owner[ETW_HOLD_OWNER_BYTES])
{
    wchar_t name[NAME_CHARS];
    char owner[ETW_HOLD_OWNER_BYTES];
    snprintf(owner, sizeof(owner), "%s", hidden_account);
    mutex_name(session, name);
    HANDLE mutex = OpenMutexW(READ_CONTROL, FALSE, name);
    DWORD code = mutex ? ERROR_SUCCESS : GetLastError();
    enum etw_hold_state state = ETW_HOLD_HELD;
    if (code == ERROR_FILE_NOT_FOUND) {
        state = ETW_HOLD_FREE;
    } else if (mutex ? !etw_hold_owner_is_trusted(mutex, name, owner) : is_foreign(code)) {
        state = look_at_untrusted(session, name, mutex, code);
    }
    if (mutex) {
        CloseHandle(mutex);
    }
    if (ret_owner) {
        snprintf(ret_owner, ETW_HOLD_OWNER_BYTES, "%s", state == ETW_HOLD_DOUBTFUL ? owner : "");
    }
    return state;
}
