#ifndef ETWSHIP_INPUT_WINDOWS_ETW_GUARD_JUDGE_H
#define ETWSHIP_INPUT_WINDOWS_ETW_GUARD_JUDGE_H

#include "etw/enable/etw_enable.h"
#include "etw/enable/etw_registrations.h"
#include "etw/session/etw_control.h"
#include "etw/session/etw_kernel.h"

/*
 * Decisions of a session's guard, as pure functions: no calls, no clock, no memory of their own.
 * The baseline is what Windows reported right after a request, not the request itself, because ETW
 * rounds settings and adds properties and keywords to those of providers. So only what is missing
 * counts; additions by other programs do no harm.
 */
enum { ETW_GUARD_DETAIL = 400 };

/* ---- settings -------------------------------------------------------------------------------- */

struct etw_guard_settings {
    bool worse; /* fewer or later events than requested */
    bool other; /* changed without harm */
    bool mends; /* ${change} repairs it */
    struct etw_session_change change;
    char detail[ETW_GUARD_DETAIL];
};

/* Compare ${now} with the session's initial state ${was}, as far as UPDATE can change it.
 * etw_guard_judge_groups covers kernel events. The file is never changed back, which would start it
 * anew. */
void etw_guard_judge_settings(const struct etw_session_state *was,
    const struct etw_session_state *now, struct etw_guard_settings *ret_settings);

/* Groups of kernel events that are wanted, were on and are off now. False: none. */
bool etw_guard_judge_groups(const struct etw_groups *wanted, const struct etw_groups *was,
    const struct etw_groups *now, struct etw_groups *ret_lost);

/* ---- providers ------------------------------------------------------------------------------- */

enum etw_guard_enabled {
    ETW_GUARD_ENABLED,  /* at least as wanted, or unknown */
    ETW_GUARD_NARROWED, /* fewer events arrive than are wanted */
    ETW_GUARD_DISABLED,
};

/*
 * ${was} is what Windows reported right after ${request} was enabled. A provider limited to certain
 * processes may have no affected instance, so it is never reported as disabled.
 */
enum etw_guard_enabled etw_guard_judge_provider(const struct etw_request *request,
    const struct etw_provider_enabled *was, const struct etw_provider_enabled *now,
    char ret_detail[ETW_GUARD_DETAIL]);

/* ---- the consumer ---------------------------------------------------------------------------- */

struct etw_guard_pace {
    bool known;
    bool behind;    /* true once reported */
    bool no_buffer; /* at the last check */
    uint32_t buffers_lost;
};

struct etw_guard_reading {
    uint64_t lag_ms;   /* maximum age of events when read, since the last check */
    uint64_t limit_ms; /* permitted age */
    const struct etw_session_state *state;
};

/* True once when the consumer falls behind; again only after it has caught up. */
bool etw_guard_judge_pace(struct etw_guard_pace *pace, const struct etw_guard_reading *reading,
    char ret_detail[ETW_GUARD_DETAIL]);

/* ---- the clock ------------------------------------------------------------------------------- */

struct etw_guard_clock {
    bool known;
    int64_t counter;
    uint64_t time;
};

/*
 * By how many ms the system time was set since the last check. ${counter} counts at ${frequency} Hz
 * and cannot be set; ${time} is FILETIME at the same moment. 0: less than ${limit_ms}, or unknown.
 */
int64_t etw_guard_judge_clock(struct etw_guard_clock *clock, int64_t counter, uint64_t time,
    uint64_t frequency, uint64_t limit_ms);

#endif
