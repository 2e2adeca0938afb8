#ifndef ETWSHIP_INPUT_WINDOWS_ETW_TURN_H
#define ETWSHIP_INPUT_WINDOWS_ETW_TURN_H

#include "platform/plat_thread.h"

/*
 * Whose turn it is to call a session's sink: the consumer's, from the first event of a buffer to
 * the end of that buffer, or the session's own thread's. No lock is held meanwhile, so nobody waits
 * for ever for a consumer that ETW does not call again. Once closed, the consumer gets no turn any
 * more.
 */
struct etw_turn {
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool taken;
    bool asked; /* the session's thread waits: it goes first */
    bool closed;
};

void etw_turn_init(struct etw_turn *turn);
void etw_turn_fini(struct etw_turn *turn); /* nobody has it or waits for it */

/* For the consumer; false: closed. */
bool etw_turn_take(struct etw_turn *turn);

/* For the session's thread: false if it is not free before plat_monotonic_ns() is ${deadline_ns}. */
bool etw_turn_ask(struct etw_turn *turn, uint64_t deadline_ns);

/* By whoever has it. */
void etw_turn_give(struct etw_turn *turn);

/* By the session's thread: wait for the consumer to give it back, and let it have none any more. */
void etw_turn_close(struct etw_turn *turn);

#endif
