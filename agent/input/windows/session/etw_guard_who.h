#ifndef ETWSHIP_INPUT_WINDOWS_ETW_GUARD_WHO_H
#define ETWSHIP_INPUT_WINDOWS_ETW_GUARD_WHO_H

#include "base/error.h"
#include "base/guid.h"
#include "base/span.h"
#include "input/windows/session/etw_guard_policy.h"

/*
 * Finds out which process changes ETW sessions. The provider Microsoft-Windows-Kernel-EventTracing
 * writes an event whenever a session is stopped (id 11) or configured (12), or a provider is
 * enabled (14) or disabled (15) in one. The event names session and provider; its header has the
 * process that made the request. The payloads are those of its manifest. That the header's process
 * is the caller is undocumented but measured by others (Windows 11 26200) and relied on by
 * programs.
 *
 * All guards of the process share one small session, etwship-who-PID, while at least one is open.
 */
struct etw_guard_who;

enum etw_guard_deed {
    ETW_GUARD_DEED_STOP,
    ETW_GUARD_DEED_CONFIGURE,
    ETW_GUARD_DEED_ENABLE,
    ETW_GUARD_DEED_DISABLE,
};

struct etw_guard_culprit {
    uint32_t pid;
    char image[512]; /* path of the program; "": it has ended since */
    char user[192];  /* SID; "": unknown */
};

/* Open a share. Later changes are recorded. NULL: ERR_IO, ERR_MEMORY, ERR_UNSUPPORTED, ERR_STOPPED.
 * Thread-safe. */
struct etw_guard_who *etw_guard_who_open(struct error *err);
void etw_guard_who_close(struct etw_guard_who *who); /* NULL is fine */

/* Restart the session if another program stopped it, within ${limits}. Returns a static text to
 * report, or NULL. Thread-safe; call it regularly. */
const char *etw_guard_who_keep(struct etw_guard_who *who, const struct etw_guard_limits *limits);

/*
 * Find the process that last did ${deed} to ${session} (and ${provider}, for the last two deeds)
 * and was not reported yet. Actions before ${since} (FILETIME) are dropped. Actions of this process
 * do not count. False: unknown so far. Thread-safe.
 */
bool etw_guard_who_find(struct etw_guard_who *who, enum etw_guard_deed deed, const char *session,
    const struct guid *provider, uint64_t since, struct etw_guard_culprit *ret_culprit);

/* A parsed event of that provider. */
struct etw_guard_change {
    enum etw_guard_deed deed;
    struct guid provider; /* zero for changes of a session */
    struct span session;  /* UTF-16LE, in the payload */
};

/* False: another event, or a truncated payload. Pure. */
bool etw_guard_who_read(uint16_t id, struct span payload, struct etw_guard_change *ret_change);

#endif
