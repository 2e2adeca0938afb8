#ifndef ETWSHIP_APP_AGENT_NOTIFY_H
#define ETWSHIP_APP_AGENT_NOTIFY_H

#include "platform/plat_notify.h"

/* How far a run is, as the service manager hears of it (platform/plat_notify.h). */
enum agent_phase { AGENT_STARTING, AGENT_RUNNING, AGENT_STOPPING };

/* One thread: the one that keeps time, so that its signs of life are the agent's. */
struct agent_notify {
    struct plat_notify *manager; /* NULL: nobody listens */
    uint64_t shutdown_ns;
    uint64_t life_ns; /* between signs of life; 0: none are asked for */
    uint64_t next_life;
    uint64_t next_try;
    enum agent_phase told;
};

/* ${shutdown_ns}: the time that outputs have once the agent stops. Cannot fail. */
void agent_notify_init(struct agent_notify *notify, uint64_t shutdown_ns);
void agent_notify_fini(struct agent_notify *notify); /* zeroed is fine */

/*
 * Tell what the manager has not heard yet: that everything runs, that the agent stops, one after the
 * other even if it hears of both at once; and, from the first of them on, that the agent lives.
 * Returns the time (plat_monotonic_ns) at which it wants to be called again, UINT64_MAX for never
 * unless the phase changes. Never waits.
 */
uint64_t agent_notify_tick(struct agent_notify *notify, enum agent_phase phase, uint64_t now_ns);

/* A line for people, of which the manager shows the latest: its beginning, where it is long. What is
 * no text becomes U+FFFD or a blank. One that the manager has no room for is left out. */
void agent_notify_status(struct agent_notify *notify, struct span line);

#endif
