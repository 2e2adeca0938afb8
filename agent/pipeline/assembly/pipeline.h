#ifndef ETWSHIP_PIPELINE_PIPELINE_H
#define ETWSHIP_PIPELINE_PIPELINE_H

#include "pipeline/deliver/outlet.h"
#include "pipeline/source/source.h"
#include "pipeline/spool/spool_durable.h"
#include "pipeline/work/decode_worker.h"

/*
 * Sources, queue, workers, sealer, spool and outlets put together. The caller runs the inputs, each
 * on a thread of its own, and knows what the parts are for; the pipeline knows sessions, streams
 * and outputs by their numbers.
 *
 * Order: create, start, run the inputs, pipeline_finish_source for each, drain, destroy.
 */
struct pipeline;

struct pipeline_stream {
    struct worker_stream shape;
    const char *key;  /* spool_durable_stream.key; not used in memory */
    uint32_t hash;    /* delivery_ids.stream_hash */
    size_t max_bytes; /* of a batch */
    size_t max_events;
    bool whole_pieces; /* sealer_stream.whole_pieces */
    uint64_t max_age_ns;
};

struct pipeline_session {
    const char *name;  /* unique among them */
    const char *shown; /* what its events say that it is; NULL: its name */
    struct input_decoding decoding;
    const struct codepage *ansi;
    struct process_table
        *processes; /* of its events, which may be other sessions', too; NULL: none */
    struct worker_rules rules;
    bool replayable;
    bool waits; /* for room, as if replayable: the next run reads what was not taken */
    uint64_t block_for_ns;
    struct provider_budget_settings budget;
    uint64_t max_events;
    const size_t *streams; /* that take it */
    size_t stream_count;
};

/* True if this run or the next one reads again what found no room, so that the session waits for
 * room. A session that cannot wait is live. */
static inline bool pipeline_session_can_wait(const struct pipeline_session *session)
{
    return session->replayable || session->waits;
}

struct pipeline_output {
    const char *name;
    const struct output_ops *ops;
    const void *settings; /* of the output */
    struct delivery_retry retry;
    size_t workers;
    size_t own_bytes; /* of each worker: output_ops.memory */
    size_t stream;
    size_t route;         /* template of the stream; SIZE_MAX: none */
    bool ids;             /* delivery.ids: then `shape.ids` of its stream is set, too */
    bool from_head;       /* spool_reader.from_head */
    bool ends_on_failure; /* delivery_host_settings */
    struct span checkpoint;
};

/* The store that keeps batches on disk, opened before the pipeline is created and closed after it
 * was destroyed; both on one thread, which may use it before and after. */
struct pipeline_store {
    struct store *store; /* borrowed; NULL: batches wait in memory, and a restart finds none */
    const char *folder;  /* as the store was opened with, as are the next four; NULL: unknown */
    uint64_t max_bytes;  /* 0: no limit */
    uint64_t min_free_bytes;
    uint64_t sync_interval_ns;
    uint64_t sync_bytes;
    enum spool_full on_full;
    /* [session * output_count + output]: what outputs had delivered before this store existed;
     * NULL: nothing. */
    const struct delivered *delivered;
    /* Stage what else belongs into a commit; see spool_durable.h. pipeline_staged returns the
     * position of a session in that commit. On the spool's thread. May be NULL. */
    bool (*stage)(void *self, struct store *store, bool all, struct error *err);
    void *self; /* of it */
};

/* Everything is borrowed, and outlives the pipeline. */
struct pipeline_settings {
    const struct pipeline_session *sessions;
    size_t session_count;
    const struct pipeline_stream *streams;
    size_t stream_count;
    const struct pipeline_output *outputs;
    size_t output_count;
    /*
     * [session * output_count + output]: sequence up to which the output has settled the session in
     * an earlier run; NULL: no earlier run. With a store, the higher of this and the store's own
     * position counts, so it matters only for new streams.
     */
    const uint64_t *resume;
    /* Earlier runs may have delivered more than this; with a store: sessions start from the
     * beginning. */
    bool restarted;
    struct pipeline_store store;
    size_t worker_count;
    size_t memory_bytes;     /* of the process: what it needs itself, and everything queued */
    size_t process_tables;   /* that sessions have, one or many each: budget_process_bytes */
    size_t definition_bytes; /* that definitions of files take: schema_shared_bytes */
    bool rolls_up;         /* some rule does: each session may have open windows for each stream */
    size_t limiter_tables; /* of limits that go by fields */
    size_t queue_bytes;    /* of it, for slabs before decoding; 0: a sixteenth */
    uint64_t gap_age_ns;   /* 0: 1 s */
    /* In: losses that the previous pipeline of the process has not reported; this one reports them.
     * Out: losses that this pipeline leaves to the next one if there is no store. NULL: no pipeline
     * before or after. */
    struct losses_left *left;
    struct dead_letters *dead_letters; /* NULL: what outputs refuse is lost */
    const char *output_folder;         /* output_env.folder; NULL: there is none */
    struct span tail;                  /* event_writer_settings.tail */
    const struct event_agent *agent;

    /* A cache for one session and worker; the pipeline destroys it. */
    struct schema_cache *(*make_cache)(
        void *self, size_t session, size_t worker, struct error *err);
    bool borrows_caches; /* it does not: they are the caller's */
    /* See decode_worker.h; may be NULL. */
    void (*definitions)(void *self, size_t session, const struct schema_losses *losses);
    /* Records of ${provider}, of an event log, have no message:
     * decode_worker_settings.silent. NULL: none. */
    void (*silent)(void *self, size_t session, struct span provider);
    struct tap_hub *taps; /* open taps; NULL: none */
    /* Sees the events of one worker; may be NULL. */
    struct event_observer (*observe)(void *self, size_t worker);
    /* [session]: the sequence up to which the pipeline before in this process has shown its events
     * to them; NULL: there was none. */
    const uint64_t *observed;
    struct source_hooks hooks; /* of all sources */
    /* See outlet.h; the first is not used with a store.
     * Without it, positions are kept in this process alone. */
    bool (*save)(void *self, struct error *err);
    void (*ended)(void *self, size_t output, bool closed);
    bool (*stopping)(void *self); /* NULL: only pipeline_cancel stops outputs that wait */
    /* ${output} NULL: it is about the spool. */
    void (*warn)(void *self, const char *output, const char *kind, const char *text);
    void (*note)(void *self, const char *output, const char *text);
    void *self;
};

struct pipeline *pipeline_create(const struct pipeline_settings *settings, struct error *err);

/* Drained, or never started. NULL is fine. If an output is stuck in a call, what it uses is not
 * freed, as the process is about to end. */
void pipeline_destroy(struct pipeline *pipeline);

bool pipeline_start(struct pipeline *pipeline, struct error *err);

/* Fill ${ret_sink} for the input of ${session}; see source.h. */
void pipeline_sink(struct pipeline *pipeline, size_t session, struct input_sink *ret_sink);

/* The input of ${session} has ended; ${stopped}: before its end. On the thread that it ran on. */
void pipeline_finish_source(struct pipeline *pipeline, size_t session, bool stopped);

/* After pipeline_finish_source. */
struct source_counts pipeline_source_counts(const struct pipeline *pipeline, size_t session);

/* Ship a status event through every stream, at FILETIME ${now}. Left out when the last one is still
 * under way. One thread at a time. */
void pipeline_report(struct pipeline *pipeline, const struct status *status, uint64_t now);

/* Announce that another agent of this process continues at the positions of the outputs.
 * Undelivered events of sessions that are read again are then not lost, whether positions are
 * stored or not. Without a store the next agent reports losses from now on, because these outputs
 * may accept nothing more. Any thread. */
void pipeline_expect_successor(struct pipeline *pipeline);

/* Every source is finished, and another agent continues with the store. When this returns, the
 * spool has what the sources delivered, and outputs end after the batch that they are sending.
 * Drain after it. Without a store nothing happens. */
void pipeline_hand_over(struct pipeline *pipeline);

/* Every source is finished: wait until everything is delivered, or given up. False if an output is
 * stuck inside a call; then it may be called again. */
bool pipeline_drain(struct pipeline *pipeline);

/* The agent stops: outputs try again at once what waits for its next try. Any thread. */
void pipeline_retry_now(struct pipeline *pipeline);

/* The time for the shutdown is over: the pipeline no longer waits for destinations or room, and
 * counts what is left as dropped. For a moment it still delivers the gaps that report this. Any
 * thread. */
void pipeline_cancel(struct pipeline *pipeline);

/* With a store: the sequence up to which the session is in it with the commit that is being made,
 * in every stream that takes it. In pipeline_store.stage, and when nothing runs. */
uint64_t pipeline_staged(const struct pipeline *pipeline, size_t session);

/* The sequence up to which observers have seen the session, here or before. After the drain. */
uint64_t pipeline_observed(const struct pipeline *pipeline, size_t session);

struct ledger *pipeline_ledger(struct pipeline *pipeline);
struct spool *pipeline_spool(struct pipeline *pipeline);
struct dead_letters *pipeline_dead_letters(struct pipeline *pipeline); /* NULL: none are kept */
struct losses *pipeline_losses(struct pipeline *pipeline);
struct outlet *pipeline_outlet(struct pipeline *pipeline, size_t output);
size_t pipeline_queue_bytes(const struct pipeline *pipeline);

#endif
