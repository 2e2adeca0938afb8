#ifndef ETWSHIP_PIPELINE_DECODE_WORKER_H
#define ETWSHIP_PIPELINE_DECODE_WORKER_H

#include "event/select/event_template.h"
#include "event/write/event_writer.h"
#include "pipeline/record/event_decode.h"
#include "pipeline/record/event_excerpt.h"
#include "pipeline/record/event_observer.h"
#include "pipeline/slab/slab_queue.h"
#include "pipeline/work/gate.h"
#include "pipeline/work/sealer.h"
#include "process/process_table.h"

/*
 * The middle of the pipeline: a thread that takes slabs from the queue, decodes and filters their
 * events, writes each once per stream, and hands the slab to the sealer. A worker has caches,
 * writers and a decoder of its own, per session, so nothing is shared and nothing locked.
 */
struct decode_worker;

enum { STREAM_MAX_ROUTES = 8 };

/* Events of some sessions in one format, as some outputs want them. */
struct worker_stream {
    const struct event_format *format;
    struct gate gate; /* what the outputs keep; no filter: everything */
    const struct event_template *routes[STREAM_MAX_ROUTES];
    size_t route_count;
    struct event_options options;
    const struct event_excerpt *excerpt; /* of each event; of the only worker; NULL: all of it */
    struct event_zone zone;              /* these two: event_writer_settings */
    bool colors;
    bool ids;              /* an output wants to know where its records were read */
    size_t batch_bytes;    /* that batches are sealed at */
    const size_t *outputs; /* that take it */
    size_t output_count;
};

/* What is kept of the events of a session, and what rules change of them. Any worker. */
struct worker_rules {
    const struct gate *gates; /* lists of rules that every event must pass */
    size_t gate_count;
    /* Is an event wanted at all (the session's providers)? As far as its record and definition
     * tell, which is all that ${event} has; and once it is decoded. NULL: all are. */
    bool (*wants)(const void *self, const struct event *event);
    bool (*selects)(const void *self, struct filter_scratch *scratch, const struct event *event);
    /* Apply what the rules of these do to an event that is wanted. NULL: nothing. */
    void (*edits)(const void *self, struct filter_scratch *scratch, const struct event *event,
        struct event_editor *editor);
    const void *selection;
};

struct worker_session {
    const char *name;                /* etw.session; NULL: the agent itself */
    uint8_t pointer_size;            /* event_decode.h */
    const struct codepage *ansi;     /* of its strings */
    struct process_table *processes; /* the process of an event; NULL: not added */
    struct worker_rules rules;
    const size_t *streams;      /* that take it, by piece of a slab */
    const uint64_t *resume;     /* by piece: what is numbered up to here, all outputs of that
                                    stream had before a restart, … */
    const uint64_t *resume_max; /* … and what is numbered above, none of them */
    size_t stream_count;
    uint64_t observed; /* what is numbered up to here, an observer has seen before */
};

struct decode_worker_settings {
    size_t index;
    struct slab_queue *queue; /* borrowed, like all else here */
    struct sealer *sealer;
    struct losses *losses; /* gets the counts of what limits held back; NULL: none */
    const struct worker_stream *streams;
    size_t stream_count;
    const struct worker_session *sessions;
    size_t session_count;
    struct schema_cache *const *caches; /* by session, this worker's own; NULL: the agent itself */
    struct block_pool *pool;            /* for pieces; may be NULL */
    struct span tail;                   /* event_writer_settings.tail */
    const struct event_agent *agent;    /* the same as values; for filters and routes, too */

    /* More definitions that events of session ${session} carry could not be kept: ${losses} are all
     * so far. On the worker's thread, once a slab at most. NULL: none. */
    void (*definitions)(void *self, size_t session, const struct schema_losses *losses);
    /* The records of ${provider}, of an event log, have no message, as nothing has one for them.
     * Once for each provider of a session and worker. On the worker's thread. NULL: none. */
    void (*silent)(void *self, size_t session, struct span provider);
    void *definitions_self;

    struct tap_hub *taps; /* open taps; NULL: none */

    /* Sees every event that a stream wants, after it was written; event NULL: none. When it has
     * seen enough of a session, the worker leaves out the rest, as filtered. */
    struct event_observer observer;
};

struct decode_worker *decode_worker_create(
    const struct decode_worker_settings *settings, struct error *err);
void decode_worker_destroy(struct decode_worker *worker); /* joined, or never started; NULL */

bool decode_worker_start(struct decode_worker *worker, struct error *err);

/* Wait for its end: the queue is closed and empty. */
void decode_worker_join(struct decode_worker *worker);

/* The sequence up to which its observer has seen the session; joined. */
uint64_t decode_worker_observed(const struct decode_worker *worker, size_t session);

#endif
