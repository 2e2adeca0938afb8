#ifndef ETWSHIP_INPUT_WINDOWS_ETW_TURN_H
#define ETWSHIP_INPUT_WINDOWS_ETW_TURN_H

#include "platform/plat_thread.h"

/*
 * The turn to call a session's sink. The consumer has it from the first event of a buffer to the
 * end of that buffer, otherwise the session's thread may take it. No lock is held meanwhile, so no
 * thread waits for ever for a consumer that ETW does not call again. After closing, the consumer
 * gets no turn any more.
 */
struct etw_turn {
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool taken;
    bool asked; /* the session's thread waits; it goes first */
    bool closed;
};

void etw_turn_init(struct etw_turn *turn);
void etw_turn_fini(struct etw_turn *turn); /* no thread may have or await the turn */

/* Take the turn as the consumer; false: closed. */
bool etw_turn_take(struct etw_turn *turn);

/* Take the turn as the session's thread; false if it is not free before plat_monotonic_ns() reaches
 * ${deadline_ns}. */
bool etw_turn_ask(struct etw_turn *turn, uint64_t deadline_ns);

/* Give the turn back, by the thread that has it. */
void etw_turn_give(struct etw_turn *turn);

/* Called by the session's thread: wait until the consumer gives its turn back, and refuse it
 * further turns. */
void etw_turn_close(struct etw_turn *turn);

#endif
