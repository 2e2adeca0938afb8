#ifndef ETWSHIP_PIPELINE_SPOOL_DURABLE_H
#define ETWSHIP_PIPELINE_SPOOL_DURABLE_H

#include "pipeline/record/ledger.h"
#include "pipeline/spool/spool.h"

/*
 * The spool on a disk: threads and a memory cache around a store (store/store.h). Appended
 * batches wait in memory for the next group commit, and are handed out after it. Committed batches
 * stay in memory while there is room, so outputs that keep up cause no reads.
 *
 * From start to halt or destroy only the thread `spool` uses the store, except that outputs read
 * batches on their own threads. Before and after, the caller may use the store, on the thread that
 * creates and destroys the spool.
 */
struct store;

enum spool_full {
    SPOOL_FULL_BLOCK,       /* wait: the queue fills, and sources drop by their own rule */
    SPOOL_FULL_DROP_OLDEST, /* the oldest batches make room */
    SPOOL_FULL_DROP_NEWEST, /* new events of live sessions are dropped */
};

struct spool_durable_stream {
    /* Describes everything that decides the content of its batches: format and options, filters,
     * sessions, routes. An output whose stream has another key than in the previous run drains the
     * old one first. */
    const char *key;
    uint32_t hash; /* see delivery_ids */
};

/* Records that an output will never get; on the spool's thread. */
struct spool_durable_loss {
    size_t cursor;           /* SIZE_MAX: of an output that this run does not have, … */
    struct span output;      /* … which is called so; else empty */
    enum output_drop reason; /* OUTPUT_DROP_SPOOL_… */
    uint64_t records;
    bool own;      /* events of the agent itself, of this run */
    uint64_t from; /* times of the events, FILETIME; 0: unknown */
    uint64_t to;
};

struct spool_durable_settings {
    struct store *store;                        /* borrowed, until the spool is destroyed */
    const struct spool_durable_stream *streams; /* borrowed */
    size_t stream_count;
    /* Names by number; the last one is the agent itself, "", and all that this run does not have.
     * Borrowed. */
    const char *const *sessions;
    const bool *replayable; /* by session; borrowed */
    /* By session: undelivered events can be read again, as those above and those of Event Logs.
     * Borrowed. */
    const bool *comes_again;
    size_t session_count;
    struct block_pool *pool; /* for batches that are read; borrowed, NULL: none */
    size_t memory_bytes; /* for batches that wait to be written, and those that stay afterwards */
    /* Sessions that are read again wait while every stream has so many bytes of committed batches
     * in memory that none of its outputs has got; 0: they do not. As they may be copied for the
     * sake of an output that is down, … */
    size_t max_ahead;
    uint64_t max_hold_ns;      /* … they wait no longer than that for an output to take one */
    uint64_t sync_interval_ns; /* longest wait of appended batches for a commit */
    uint64_t sync_bytes;       /* or when this many bytes wait */
    const char *folder; /* of the store, for its status, as are the next two; borrowed, or NULL */
    uint64_t max_bytes;
    uint64_t min_free_bytes; /* of its disk; 0: no limit */
    enum spool_full on_full; /* what live sessions do; replayable ones wait */
    uint64_t reserve_bytes;  /* kept free for live sessions when replayable ones fill it */

    /* These are called on the spool's thread, without locks. All may be NULL. */
    /* A commit begins: batches appended from now on may not be in it. */
    void (*begin)(void *self);
    /*
     * Stage what else belongs into this commit (store_source_state, store_done, store_live,
     * store_gap, …). ${all}: everything appended before `begin` is staged; else some of it waits
     * for room on the disk, and spool_durable_sequence returns how far it is staged. False: the
     * spool calls again at the next commit; what was staged stays staged.
     */
    bool (*stage)(void *self, struct store *store, bool all, struct error *err);
    void (*lost)(void *self, const struct spool_durable_loss *loss);
    /* Log a warning; ${kind} as in outlet_settings.warn. */
    void (*warn)(void *self, const char *kind, const char *text);
    void *self;
};

/* Look up the store's streams and the sequences of earlier runs. NULL with ${err} set. */
struct spool *spool_durable_create(
    const struct spool_durable_settings *settings, struct error *err);

/* In `stage`: the position of the session in the stream that this commit stores. */
uint64_t spool_durable_sequence(const struct spool *base, size_t session, size_t stream);

#endif
