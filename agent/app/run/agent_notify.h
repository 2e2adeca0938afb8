#ifndef ETWSHIP_APP_AGENT_NOTIFY_H
#define ETWSHIP_APP_AGENT_NOTIFY_H

#include "platform/plat_notify.h"

/* How far a run is, as the service manager hears of it (platform/plat_notify.h). */
enum agent_phase { AGENT_STARTING, AGENT_RUNNING, AGENT_STOPPING };

/* The phase at one moment, and how many reloads have begun, and how many of these are over. */
struct agent_moment {
    enum agent_phase phase;
    uint64_t reloads_begun;
    uint64_t reloads_over;
};

/* One thread: the one that keeps time, so that its signs of life are the agent's. */
struct agent_notify {
    struct plat_notify *manager; /* NULL: none */
    uint64_t life_ns;            /* between signs of life; 0: none are asked for */
    uint64_t next_life;
    uint64_t next_try;
    enum agent_phase told;
    bool told_reload;      /* that one has begun, and not yet that it is over */
    uint64_t told_reloads; /* which one that was */
    uint64_t told_health;  /* a hash of what was wrong then; 0: nothing */
};

/* Cannot fail. */
void agent_notify_init(struct agent_notify *notify);
void agent_notify_fini(struct agent_notify *notify); /* zeroed is fine */

/*
 * Tell what the manager has not heard yet: that everything runs, that the configuration is
 * reloaded, that this is over, that the agent stops, one after the other even if it hears of all at
 * once; and, from the first of them on, that the agent lives. ${shutdown_ns}: the time that outputs
 * have once it stops. Returns the time (plat_monotonic_ns) at which it wants to be called again,
 * UINT64_MAX for never unless ${moment} changes. Never waits.
 */
uint64_t agent_notify_tick(struct agent_notify *notify, const struct agent_moment *moment,
    uint64_t shutdown_ns, uint64_t now_ns);

/* A status line for people. The manager shows the latest line, and of a long line the beginning.
 * Bytes that are not text become U+FFFD or a blank. False: the manager has no room for it, or does
 * not know yet that everything runs. */
bool agent_notify_status(struct agent_notify *notify, struct span line);

#endif
