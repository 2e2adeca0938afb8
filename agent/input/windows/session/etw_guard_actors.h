#ifndef ETWSHIP_INPUT_WINDOWS_ETW_GUARD_ACTORS_H
#define ETWSHIP_INPUT_WINDOWS_ETW_GUARD_ACTORS_H

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
struct etw_guard_actors;

enum etw_guard_change_kind {
    ETW_GUARD_CHANGE_STOP,
    ETW_GUARD_CHANGE_CONFIGURE,
    ETW_GUARD_CHANGE_ENABLE,
    ETW_GUARD_CHANGE_DISABLE,
};

struct etw_guard_actor {
    uint32_t pid;
    char image[512]; /* path of the program; "": it has ended since */
    char user[192];  /* SID; "": unknown */
};

/* Open a share. Later changes are recorded. NULL: ERR_IO, ERR_MEMORY, ERR_UNSUPPORTED, ERR_STOPPED.
 * Thread-safe. */
struct etw_guard_actors *etw_guard_actors_open(struct error *err);
void etw_guard_actors_close(struct etw_guard_actors *actors); /* NULL is fine */

/* Restart the session if another program stopped it, within ${limits}. Returns a static text to
 * report, or NULL. Thread-safe; call it regularly. */
const char *etw_guard_actors_keep(
    struct etw_guard_actors *actors, const struct etw_guard_limits *limits);

/*
 * Find the process that last made the change ${kind} to ${session} (and ${provider}, for the last
 * two kinds) and was not reported yet. Changes before ${since} (FILETIME) are dropped. Changes by
 * this process do not count. False: unknown so far. Thread-safe.
 */
bool etw_guard_actors_find(struct etw_guard_actors *actors, enum etw_guard_change_kind kind,
    const char *session, const struct guid *provider, uint64_t since,
    struct etw_guard_actor *ret_actor);

/* A parsed event of that provider. */
struct etw_guard_change {
    enum etw_guard_change_kind kind;
    struct guid provider; /* zero for changes of a session */
    struct span session;  /* UTF-16LE, in the payload */
};

/* False: another event, or a truncated payload. Pure. */
bool etw_guard_actors_read(uint16_t id, struct span payload, struct etw_guard_change *ret_change);

#endif
