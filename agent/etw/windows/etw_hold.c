#include "etw/etw_hold.h"

#include <stdlib.h>
#include <windows.h>

#include "base/guid.h"

/*
 * A named mutex of the whole machine, never waited for: it exists as long as somebody has it open.
 * Its name is made of the session's GUID, since it may not hold every character that a session's
 * name may. (createmutexw, openmutexw on learn.microsoft.com)
 */
struct etw_hold {
    HANDLE mutex;
};

enum { NAME_CHARS = 64 };

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

/* The mutex and who made it: ERROR_SUCCESS we, ERROR_ALREADY_EXISTS somebody else. */
static DWORD create(const char *session, HANDLE *ret_mutex)
{
    wchar_t name[NAME_CHARS];
    mutex_name(session, name);
    SetLastError(ERROR_SUCCESS);
    *ret_mutex = CreateMutexW(NULL, FALSE, name);
    DWORD code = GetLastError();
    if (!*ret_mutex) {
        /* Refused because there is one that belongs to somebody else. */
        return code == ERROR_ACCESS_DENIED ? ERROR_ALREADY_EXISTS : code;
    }
    return code;
}

struct etw_hold *etw_hold_take(const char *session, struct error *err)
{
    struct etw_hold *hold = calloc(1, sizeof(*hold));
    if (!hold) {
        error_set(err, ERR_MEMORY, "out of memory for session %.100s", session);
        return NULL;
    }
    DWORD code = create(session, &hold->mutex);
    if (code == ERROR_SUCCESS) {
        return hold;
    }
    if (code == ERROR_ALREADY_EXISTS) {
        error_set(err, ERR_STOPPED,
            "session %.100s is looked after by a running agent. stop that one, or use another name",
            session);
    } else {
        error_set_os(err, code, "is another program using its names?",
            "session %.100s cannot be claimed (error %lu)", session, code);
    }
    etw_hold_drop(hold);
    return NULL;
}

void etw_hold_drop(struct etw_hold *hold)
{
    if (hold && hold->mutex) {
        CloseHandle(hold->mutex);
    }
    free(hold);
}

bool etw_hold_is_held(const char *session)
{
    wchar_t name[NAME_CHARS];
    mutex_name(session, name);
    HANDLE mutex = OpenMutexW(SYNCHRONIZE, FALSE, name);
    if (mutex) {
        CloseHandle(mutex);
        return true;
    }
    return GetLastError() != ERROR_FILE_NOT_FOUND;
}
