#include "input/windows/session/etw_guard_policy.h"

enum { MAX_UNDONE = 2, UNDONE_PART = 5, LONGEST_PAUSE_PART = 4 };

struct etw_guard_limits etw_guard_policy_limits(
    uint32_t repairs, uint64_t window_ns, uint64_t pause_ns)
{
    uint64_t longest = window_ns / LONGEST_PAUSE_PART;
    return (struct etw_guard_limits){.repairs = repairs,
        .window_ns = window_ns,
        .undone_ns = window_ns / UNDONE_PART,
        .pause_ns = pause_ns < longest ? pause_ns : longest,
        .pause_max_ns = longest};
}

/* Start a new window; the previous one no longer counts. */
static void begin_anew(struct etw_guard_bound *bound, uint64_t now_ns)
{
    if (bound->window_until_ns && now_ns >= bound->window_until_ns) {
        *bound = (struct etw_guard_bound){.repairs = 0};
    }
}

static bool is_undone(
    const struct etw_guard_bound *bound, const struct etw_guard_limits *limits, uint64_t now_ns)
{
    return bound->repaired_at_ns && now_ns - bound->repaired_at_ns < limits->undone_ns;
}

enum etw_guard_verdict etw_guard_policy_broken(
    struct etw_guard_bound *bound, const struct etw_guard_limits *limits, uint64_t now_ns)
{
    begin_anew(bound, now_ns);
    if (bound->gave_up) {
        return ETW_GUARD_LEAVE;
    }
    if (bound->repaired_at_ns) {
        bound->undone = is_undone(bound, limits, now_ns) ? bound->undone + 1 : 0;
        bound->repaired_at_ns = 0;
    }
    bound->contested = bound->undone >= MAX_UNDONE;
    if (bound->contested || bound->repairs >= limits->repairs) {
        bound->gave_up = true;
        if (bound->window_until_ns == 0) { /* no repairs are allowed */
            bound->window_until_ns = now_ns + limits->window_ns;
        }
        return ETW_GUARD_GIVE_UP;
    }
    return now_ns < bound->next_ns ? ETW_GUARD_WAIT : ETW_GUARD_REPAIR;
}

void etw_guard_policy_repaired(struct etw_guard_bound *bound, const struct etw_guard_limits *limits,
    bool done, uint64_t now_ns)
{
    if (bound->repairs == 0) {
        bound->window_until_ns = now_ns + limits->window_ns;
    }
    uint64_t pause = limits->pause_ns;
    for (uint32_t i = 0; i < bound->repairs && pause < limits->pause_max_ns; i++) {
        pause *= 2;
    }
    bound->next_ns = now_ns + (pause < limits->pause_max_ns ? pause : limits->pause_max_ns);
    bound->repairs++;
    bound->repaired_at_ns = done ? now_ns : 0;
}

void etw_guard_policy_whole(
    struct etw_guard_bound *bound, const struct etw_guard_limits *limits, uint64_t now_ns)
{
    begin_anew(bound, now_ns);
    if (bound->repaired_at_ns && !is_undone(bound, limits, now_ns)) {
        bound->undone = 0; /* the repair lasted */
    }
}
