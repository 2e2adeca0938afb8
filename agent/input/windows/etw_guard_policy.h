#ifndef ETWSHIP_INPUT_WINDOWS_ETW_GUARD_POLICY_H
#define ETWSHIP_INPUT_WINDOWS_ETW_GUARD_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How often the guard of a session repairs one thing (the session itself, its settings, one
 * provider): some times per window, with longer and longer pauses. A repair that is undone soon after
 * is somebody's wish: after the second one the thing is left alone until the window is over, as it
 * is when the window has had all its repairs. So two agents that want different things of one
 * session do not take turns for ever. Pure: times are given, in ns of one clock.
 */
struct etw_guard_limits {
    uint32_t repairs;      /* per window */
    uint64_t window_ns;    /* begins with its first repair */
    uint64_t undone_ns;    /* broken again within this time: the repair was undone */
    uint64_t pause_ns;     /* between the first two repairs; it doubles … */
    uint64_t pause_max_ns; /* … up to this */
};

/* The times that a window of ${window_ns} makes: undone is what is broken again within a fifth of it. */
struct etw_guard_limits etw_guard_policy_limits(
    uint32_t repairs, uint64_t window_ns, uint64_t pause_ns);

/* One thing. Zero is one that never was repaired. */
struct etw_guard_bound {
    uint32_t repairs; /* in the window that runs */
    uint32_t undone;  /* of them, one after the other */
    bool gave_up;
    bool contested; /* given up because repairs were undone */
    uint64_t window_until_ns;
    uint64_t repaired_at_ns; /* 0: not in this window, or that was found undone already */
    uint64_t next_ns;        /* no repair before */
};

enum etw_guard_verdict {
    ETW_GUARD_REPAIR,  /* now; then say etw_guard_policy_repaired */
    ETW_GUARD_WAIT,    /* not yet: look again, at next_ns at the latest */
    ETW_GUARD_GIVE_UP, /* from now on, until window_until_ns: to be told once */
    ETW_GUARD_LEAVE,   /* it was given up, and that was told */
};

/* The thing is not as it shall be. */
enum etw_guard_verdict etw_guard_policy_broken(
    struct etw_guard_bound *bound, const struct etw_guard_limits *limits, uint64_t now_ns);

/* A repair was tried; ${done}: without an error. */
void etw_guard_policy_repaired(struct etw_guard_bound *bound, const struct etw_guard_limits *limits,
    bool done, uint64_t now_ns);

/* The thing is as it shall be. */
void etw_guard_policy_whole(
    struct etw_guard_bound *bound, const struct etw_guard_limits *limits, uint64_t now_ns);

#endif
