#ifndef ETWSHIP_PIPELINE_SOURCE_GATES_H
#define ETWSHIP_PIPELINE_SOURCE_GATES_H

#include "pipeline/work/decode_worker.h"

/*
 * The gates of a session that is replayed, asked by its source: an event that they drop by its
 * header is not even copied. It is counted as the worker would have, rule by rule, but here. On the
 * source's thread.
 */
struct source_gates;

struct source_gates_settings {
    const struct worker_session *session; /* borrowed, like all else here */
    const struct worker_stream *streams;
    const struct event_agent *agent;
};

/* *ret_gates NULL: the session's filters drop nothing by the header. False: no memory. */
bool source_gates_create(const struct source_gates_settings *settings,
    struct source_gates **ret_gates, struct error *err);
void source_gates_destroy(struct source_gates *gates); /* NULL is fine */

enum source_gates_level {
    SOURCE_GATES_PASS,    /* a worker is to decide */
    SOURCE_GATES_SESSION, /* the session does not want the event */
    SOURCE_GATES_STREAMS, /* it does, and none of its streams */
};

/* Judge ${record}, which has no number yet: every stream has had, or is given, the events up to
 * ${sequence}. ${ret_tag}: what source_gates_count is to be told when its turn comes. */
enum source_gates_level source_gates_ask(struct source_gates *gates,
    const struct event_record *record, uint64_t sequence, uint64_t *ret_tag);

/* ${count} events that were left out have their numbers. 0: events that an earlier run counted. */
enum source_gates_level source_gates_count(
    struct source_gates *gates, uint64_t tag, uint64_t count);

/* Add what was counted to the counts of all. */
void source_gates_flush(struct source_gates *gates);

#endif
