#ifndef ETWSHIP_INPUT_WINDOWS_ETW_SESSION_H
#define ETWSHIP_INPUT_WINDOWS_ETW_SESSION_H

#include "input/windows/etw_plan.h"

/*
 * A live session from its first moment to its last, as input_ops has it: started, taken over or
 * attached to, read, watched for losses, started again when somebody else stops it, and ended in
 * good order. What ETW refuses is told and tried again; it never ends the agent.
 */
struct etw_session;

/* How long things take: milliseconds. */
struct etw_session_timing {
    uint32_t poll_ms;      /* between two looks at the session's counters */
    uint32_t held_ms;      /* between two looks at what raw buffers brought */
    uint32_t retry_ms;     /* first pause after a failure; it doubles */
    uint32_t retry_max_ms; /* longest pause */
    uint32_t look_ms;      /* until providers that nobody knew are first looked for; it doubles */
    uint32_t look_max_ms;
    uint32_t enable_ms;  /* what providers get to answer */
    uint32_t begin_ms;   /* what the reader of a session that was running gets to come to it */
    uint32_t stop_ms;    /* what each step of an orderly stop gets before the next, ruder one */
    uint32_t who_ms;     /* how long a report waits to hear who did it */
    uint32_t behind_ms;  /* how old the newest event may be, beside the flush, while events come */
    uint32_t numbers_ms; /* how late a message may come, beside the flush */
    uint32_t clock_ms;   /* by how much the system's time must be set to be told */
};

/* What inputs go by; tests change it before there is one. */
extern struct etw_session_timing etw_session_timing;

/* ${plan} is the session's from here on, also on failure. What ${env} points to outlives it. */
struct etw_session *etw_session_create(struct etw_plan *plan, const struct input_env *env,
    const struct etw_session_timing *timing, struct error *err);

/* See input_ops. */
enum input_end etw_session_run(
    struct etw_session *session, const struct input_sink *sink, struct error *err);
void etw_session_stop(struct etw_session *session);
bool etw_session_goes_on(const struct etw_session *session, const struct etw_session *next);
void etw_session_pass_on(struct etw_session *session);
void etw_session_legacy(struct etw_session *session, struct buf *out);
void etw_session_renounce(struct span bytes);
void etw_session_destroy(struct etw_session *session); /* NULL is fine */

#endif
