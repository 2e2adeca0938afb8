#ifndef ETWSHIP_APP_AGENT_LIFE_H
#define ETWSHIP_APP_AGENT_LIFE_H

#include "app/log/log.h"
#include "platform/plat_thread.h"

/* The life of an agent: docs/design/threads-and-locks.md has the diagram. Any thread. */

enum agent_state {
    AGENT_STATE_RUNNING,    /* from its making on */
    AGENT_STATE_MAKING_WAY, /* it stops for another agent in this process */
    AGENT_STATE_STOPPING,   /* it stops, and none comes after it */
    AGENT_STATE_CANCELLING, /* agent.shutdown is over: outputs deliver nothing more */
    AGENT_STATE_ENDED,      /* its threads have ended; positions are stored a last time */
};

struct agent_life {
    struct log *log;
    uint64_t shutdown_ns; /* agent.shutdown */

    /* Guarded by the mutex. */
    struct plat_mutex mutex;
    enum agent_state state;
    bool has_successor;
    uint64_t deadline_ns; /* agent_life_deadline */
};

void agent_life_init(struct agent_life *life, struct log *log, uint64_t shutdown_ns);
void agent_life_fini(struct agent_life *life);

/* The only way from one state to another. False: the agent is not in a state that ${to} may follow.
 * A stop that was asked for before is nothing special; all else is a mistake of the caller, and
 * logged. */
bool agent_life_change(struct agent_life *life, enum agent_state to);

/* When the time of the outputs is over, while it stops. UINT64_MAX: it does not, or they are
 * cancelled. */
uint64_t agent_life_deadline(struct agent_life *life);

/* It has made way, whatever came after that. */
bool agent_life_has_successor(struct agent_life *life);

#endif
