#ifndef ETWSHIP_INPUT_WINDOWS_ETW_GUARD_WHO_H
#define ETWSHIP_INPUT_WINDOWS_ETW_GUARD_WHO_H

#include "base/error.h"
#include "base/guid.h"
#include "base/span.h"
#include "input/windows/etw_guard_policy.h"

/*
 * Who changes sessions of ETW. The provider Microsoft-Windows-Kernel-EventTracing writes an event
 * whenever a session is stopped (id 11) or configured (12), a provider enabled to one (14) or
 * disabled (15); it names session and provider, and its header has the process that asked for it.
 * The payloads are those of its manifest; that the header's process is the caller's is what others
 * have measured (Windows 11 26200) and programs rely on, no page of Microsoft's says so.
 *
 * One small session of the process, etwship-who-PID, for as long as somebody has a share in it.
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
    char image[512]; /* the program's path; "": it has ended since */
    char user[192];  /* a SID; "": unknown */
};

/* A share. Whatever others do from here on is known. NULL: ERR_IO, ERR_MEMORY, ERR_UNSUPPORTED,
 * ERR_STOPPED. Any thread. */
struct etw_guard_who *etw_guard_who_open(struct error *err);
void etw_guard_who_close(struct etw_guard_who *who); /* NULL is fine */

/* Start its session again where somebody has stopped it, as often as ${limits} allow. What is to be told
 * of that, static text; NULL: nothing. Any thread; now and then. */
const char *etw_guard_who_keep(struct etw_guard_who *who, const struct etw_guard_limits *limits);

/*
 * Who did ${deed} to ${session} (and, of the last two, ${provider}), the last time that was not told
 * yet? What was done before ${since} (FILETIME) is forgotten. False: nobody is known, so far. Own
 * deeds are none. Any thread.
 */
bool etw_guard_who_find(struct etw_guard_who *who, enum etw_guard_deed deed, const char *session,
    const struct guid *provider, uint64_t since, struct etw_guard_culprit *ret_culprit);

/* One event of that provider, as its manifest lays it out. */
struct etw_guard_change {
    enum etw_guard_deed deed;
    struct guid provider; /* zero for a session's */
    struct span session;  /* UTF-16LE, in the payload */
};

/* False: another event, or a payload that is cut. Pure. */
bool etw_guard_who_read(uint16_t id, struct span payload, struct etw_guard_change *ret_change);

#endif
