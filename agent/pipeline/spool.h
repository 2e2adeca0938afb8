#ifndef ETWSHIP_PIPELINE_SPOOL_H
#define ETWSHIP_PIPELINE_SPOOL_H

#include "base/error.h"
#include "pipeline/batch.h"

/*
 * Where sealed batches wait for their outputs. A stream has batches in order and cursors that read
 * them, one per output; a batch stays until every cursor has acked it. The spool decides how much
 * may wait: that is where back-pressure begins. All functions but add_cursor and destroy: any
 * thread.
 */
struct spool;

enum spool_next {
    SPOOL_BATCH,
    SPOOL_NOTHING, /* until the deadline */
    SPOOL_END,     /* closed, and everything was handed out */
};

struct spool_usage {
    uint64_t bytes;   /* memory or disk that batches hold */
    uint64_t batches; /* that some cursor has not acked */
    uint64_t max_bytes;
};

struct spool_ops {
    /* Before anything is appended: a reader of ${stream}. */
    bool (*add_cursor)(struct spool *spool, size_t stream, size_t *ret_cursor, struct error *err);

    /* Wait until there is room for a batch. False if there will be none: cancelled. */
    bool (*wait_room)(struct spool *spool);

    /* Take a batch of ${stream}, and number it: 1, 2, 3, …, and its records behind all others that
     * the spool has taken. A stream without cursors forgets it. It may go beyond the room. */
    void (*append)(struct spool *spool, size_t stream, struct batch *batch);

    /* The batch behind the one that the cursor got before; each is handed out once. Waits until
     * plat_monotonic_ns() is ${deadline_ns}. */
    enum spool_next (*next)(
        struct spool *spool, size_t cursor, uint64_t deadline_ns, const struct batch **ret_batch);

    /* The cursor is done with a batch that it was given; in any order. */
    void (*ack)(struct spool *spool, size_t cursor, const struct batch *batch);

    void (*close)(struct spool *spool);  /* nothing more will be appended */
    void (*cancel)(struct spool *spool); /* nobody waits for room any more */
    void (*usage)(struct spool *spool, struct spool_usage *ret_usage);
    void (*destroy)(struct spool *spool); /* with what is in it */
};

struct spool {
    const struct spool_ops *ops;
    uint64_t epoch; /* 64 random bits: with a record's number its name among those of all spools */
};

/* Batches in memory, together at most ${max_bytes} (and one more), in an epoch of their own. NULL with
 * ${err} set: out of memory, or the system has no random numbers. */
struct spool *spool_memory_create(size_t stream_count, size_t max_bytes, struct error *err);

static inline void spool_destroy(struct spool *spool)
{
    if (spool) {
        spool->ops->destroy(spool);
    }
}

#endif
