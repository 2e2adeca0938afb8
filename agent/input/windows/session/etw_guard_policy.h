#ifndef ETWSHIP_INPUT_WINDOWS_ETW_GUARD_POLICY_H
#define ETWSHIP_INPUT_WINDOWS_ETW_GUARD_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How often the guard of a session repairs one item (the session itself, its settings, one
 * provider): a limited number of times per window, with growing pauses. A repair that is soon
 * undone is another program's intention: after the second one, or when the window's repairs are
 * used up, the item is left alone until the end of the window. So two agents with conflicting
 * wishes for one session do not alternate for ever. Pure functions; times are in ns of one clock.
 */
struct etw_guard_limits {
    uint32_t repairs;      /* per window */
    uint64_t window_ns;    /* starts with its first repair */
    uint64_t undone_ns;    /* broken again within this time means that the repair was undone */
    uint64_t pause_ns;     /* between the first two repairs; doubles */
    uint64_t pause_max_ns; /* limit of the pause */
};

/* Limits for a window of ${window_ns}; what breaks again within a fifth of it counts as undone. */
struct etw_guard_limits etw_guard_policy_limits(
    uint32_t repairs, uint64_t window_ns, uint64_t pause_ns);

/* One item. Zero: never repaired. */
struct etw_guard_bound {
    uint32_t repairs; /* in the current window */
    uint32_t undone;  /* consecutive repairs that were undone */
    bool gave_up;
    bool contested; /* gave up because repairs were undone */
    uint64_t window_until_ns;
    uint64_t repaired_at_ns; /* 0: not in this window, or already counted as undone */
    uint64_t next_ns;        /* earliest time of the next repair */
};

enum etw_guard_verdict {
    ETW_GUARD_REPAIR,  /* repair now, then call etw_guard_policy_repaired */
    ETW_GUARD_WAIT,    /* not yet: check again, at next_ns at the latest */
    ETW_GUARD_GIVE_UP, /* give up until window_until_ns; to be reported once */
    ETW_GUARD_LEAVE,   /* given up and reported */
};

/* The item is not in its wanted state. */
enum etw_guard_verdict etw_guard_policy_broken(
    struct etw_guard_bound *bound, const struct etw_guard_limits *limits, uint64_t now_ns);

/* A repair was attempted; ${done}: successfully. */
void etw_guard_policy_repaired(struct etw_guard_bound *bound, const struct etw_guard_limits *limits,
    bool done, uint64_t now_ns);

/* The item is in its wanted state. */
void etw_guard_policy_whole(
    struct etw_guard_bound *bound, const struct etw_guard_limits *limits, uint64_t now_ns);

#endif
