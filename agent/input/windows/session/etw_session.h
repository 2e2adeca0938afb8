#ifndef ETWSHIP_INPUT_WINDOWS_ETW_SESSION_H
#define ETWSHIP_INPUT_WINDOWS_ETW_SESSION_H

#include "input/windows/etw_plan.h"

/*
 * A live session with the life cycle of input_ops: started, taken over or attached to, read,
 * checked for losses, restarted if another program stops it, and ended in order. If ETW refuses
 * something, that is reported and retried; it never ends the agent.
 */
struct etw_session;

/* Intervals and limits in milliseconds. */
struct etw_session_timing {
    uint32_t poll_ms;      /* between two checks of the session's counters */
    uint32_t held_ms;      /* between two deliveries from raw buffers */
    uint32_t retry_ms;     /* first pause after a failure; it doubles */
    uint32_t retry_max_ms; /* longest pause */
    uint32_t look_ms;      /* until unknown providers are first looked up again; it doubles */
    uint32_t look_max_ms;
    uint32_t enable_ms; /* time for providers to answer */
    uint32_t begin_ms;  /* time for the reader of a running session to connect */
    /* time for each step of an orderly stop before the next, more forceful one */
    uint32_t stop_ms;
    uint32_t actor_ms; /* how long a report waits for the process that caused it */
    /* permitted age of the newest event, in addition to the flush interval, while events arrive */
    uint32_t behind_ms;
    uint32_t numbers_ms; /* permitted delay of a message, in addition to the flush interval */
    uint32_t clock_ms;   /* smallest change of the system time that is reported */
};

/* Values for new inputs; tests change them before creating one. */
extern struct etw_session_timing etw_session_timing;

/* Takes ownership of ${plan}, also on failure. What ${env} points to must outlive the session. */
struct etw_session *etw_session_create(struct etw_plan *plan, const struct input_env *env,
    const struct etw_session_timing *timing, struct error *err);

/* These implement input_ops. */
enum input_end etw_session_run(
    struct etw_session *session, const struct input_sink *sink, struct error *err);
void etw_session_stop(struct etw_session *session);
bool etw_session_goes_on(const struct etw_session *session, const struct etw_session *next);
void etw_session_pass_on(struct etw_session *session);
void etw_session_write_takeover(struct etw_session *session, struct buf *out);
void etw_session_end_takeover(struct span bytes);
void etw_session_destroy(struct etw_session *session); /* NULL is fine */

#endif
