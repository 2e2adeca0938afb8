#ifndef ETWSHIP_INPUT_WINDOWS_ETW_GUARD_JUDGE_H
#define ETWSHIP_INPUT_WINDOWS_ETW_GUARD_JUDGE_H

#include "etw/etw_control.h"
#include "etw/etw_enable.h"
#include "etw/etw_kernel.h"
#include "etw/etw_who.h"

/*
 * What the guard of a session makes of what it sees: no call, no clock, no memory but what is
 * given. What is compared is what Windows said right after it had been asked, not what it was asked
 * for, as ETW rounds settings, and adds properties and keywords of its own to what sessions want of
 * providers. So only what is missing counts; what somebody adds is no harm.
 */
enum { ETW_GUARD_DETAIL = 400 };

/* ---- settings ------------------------------------------------------------------------------------ */

struct etw_guard_settings {
    bool worse; /* less comes, or later, than was asked for */
    bool other; /* changed in a way that does no harm */
    bool mends; /* ${change} brings it back */
    struct etw_session_change change;
    char detail[ETW_GUARD_DETAIL];
};

/* ${was} is the session as it began, ${now} as it is. What UPDATE can change is compared; of kernel
 * events etw_guard_judge_groups tells. A file is never changed back: that would begin it anew. */
void etw_guard_judge_settings(const struct etw_session_state *was,
    const struct etw_session_state *now, struct etw_guard_settings *ret_settings);

/* Groups of kernel events that are wanted, were on and are off: into ${ret_lost}; false: none. */
bool etw_guard_judge_groups(const struct etw_groups *wanted, const struct etw_groups *was,
    const struct etw_groups *now, struct etw_groups *ret_lost);

/* ---- providers ----------------------------------------------------------------------------------- */

enum etw_guard_enabled {
    ETW_GUARD_ENABLED,  /* at least as wanted, or nobody can tell */
    ETW_GUARD_NARROWED, /* fewer events come than are wanted */
    ETW_GUARD_DISABLED,
};

/*
 * ${was} is what Windows said right after ${request} was enabled. A provider that is wanted of some
 * processes only may have no instance that is concerned; it is never found disabled.
 */
enum etw_guard_enabled etw_guard_judge_provider(const struct etw_request *request,
    const struct etw_who_enabled *was, const struct etw_who_enabled *now,
    char ret_detail[ETW_GUARD_DETAIL]);

/* ---- the consumer -------------------------------------------------------------------------------- */

struct etw_guard_pace {
    bool known;
    bool behind;    /* and that was told */
    bool no_buffer; /* at the last look */
    uint32_t buffers_lost;
};

struct etw_guard_reading {
    uint64_t lag_ms;   /* how old events were when they were read, at most since the last look */
    uint64_t limit_ms; /* how old they may be */
    const struct etw_session_state *state;
};

/* Has the consumer fallen behind since the last look? True once, until it has caught up. */
bool etw_guard_judge_pace(struct etw_guard_pace *pace, const struct etw_guard_reading *reading,
    char ret_detail[ETW_GUARD_DETAIL]);

/* ---- the clock ----------------------------------------------------------------------------------- */

struct etw_guard_clock {
    bool known;
    int64_t counter;
    uint64_t time;
};

/*
 * By how many ms was the system's time set since the last look? ${counter} counts ${frequency} times in
 * a second and cannot be set, ${time} is FILETIME at the same moment. 0: by less than ${limit_ms}, or
 * nobody can tell.
 */
int64_t etw_guard_judge_clock(struct etw_guard_clock *clock, int64_t counter, uint64_t time,
    uint64_t frequency, uint64_t limit_ms);

#endif
