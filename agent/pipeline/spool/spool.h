#ifndef ETWSHIP_PIPELINE_SPOOL_H
#define ETWSHIP_PIPELINE_SPOOL_H

#include "base/error.h"
#include "pipeline/batch/batch.h"

/*
 * Holds sealed batches until their outputs have delivered them. A stream has batches in order, and
 * one cursor per output that reads them. A batch stays until every cursor has acked it. The spool
 * limits how much may wait: back-pressure begins here. All functions but add_cursor, start and
 * destroy: any thread.
 *
 * A spool that `keeps` stores them on a disk (spool_durable.h): the next run delivers what is left,
 * and the spool stores each output's position. One in memory (below) keeps nothing over a restart.
 */
struct spool;

enum spool_next {
    SPOOL_BATCH,
    SPOOL_NOTHING, /* until the deadline */
    SPOOL_END,     /* closed, and everything was handed out */
};

/* The kind of session that a batch comes from. */
enum spool_origin {
    SPOOL_REPLAYED, /* of a session that is read again: always worth the wait */
    SPOOL_LIVE,     /* of one that is not */
    SPOOL_OWN,      /* of the agent, which is little: to be taken in any case */
};

enum spool_room {
    SPOOL_ROOM,
    SPOOL_NO_ROOM_FULL, /* what comes is to be dropped: as much is kept as may be … */
    SPOOL_NO_ROOM_DISK, /* … or the disk takes no more */
    SPOOL_CANCELLED,    /* nothing waits any more */
};

/* Whether a cursor has got its batch again. */
enum spool_pick {
    SPOOL_PICKED,
    SPOOL_PICK_LATER, /* it cannot be read now */
    SPOOL_PICK_GONE,  /* it was dropped or is damaged; spool_ops.put_down says who acks it */
};

/* A restless cursor waits no longer than that for a batch. */
enum { SPOOL_RESTLESS_MS = 200 };
static const uint64_t spool_restless_ns = UINT64_C(1000000) * SPOOL_RESTLESS_MS;

struct spool_usage {
    uint64_t bytes;   /* memory or disk that batches hold */
    uint64_t batches; /* that some cursor has not acked */
    uint64_t max_bytes;
    uint64_t oldest_ms; /* how long the oldest of them has been waiting; 0: unknown */

    /* Of one that keeps. */
    uint64_t free_bytes;  /* of the disk; UINT64_MAX: unknown */
    enum spool_room room; /* is there any? */
    bool failing;         /* what comes cannot be written now */
};

/* Size and age of what waits for one cursor. */
struct spool_backlog {
    uint64_t batches;
    uint64_t records;
    uint64_t bytes;
    uint64_t oldest_ms; /* as above */
};

/* Settings of a cursor. */
struct spool_reader {
    const char *name; /* of the output, the same over restarts; borrowed */
    size_t stream;
    size_t route;           /* template of the stream that it is routed by; SIZE_MAX: none */
    uint32_t stream_hash;   /* see delivery_ids */
    bool from_head;         /* a new output begins at the oldest batch, not after the last */
    struct span checkpoint; /* of a run without this spool, newer than what it has; empty: none.
                               Becomes true with the first commit */
};

/* A batch as a cursor gets it, with what it was written for: the output may have had another
 * stream, or another route, when it was. Valid until it is acked. */
struct spool_item {
    const struct batch *batch;
    uint64_t epoch; /* with a record's number its name among those of all spools */
    uint32_t stream_hash;
    size_t route;
    bool earlier;         /* an earlier run may have delivered some of it */
    const uint32_t *left; /* the records that are to be delivered, ascending; NULL: all of them */
    size_t left_count;
    uint64_t bytes; /* that it takes of the spool's room */
    void *place;    /* of the spool */
};

/* All are there. In memory, those that are about the disk do nothing and succeed. */
struct spool_ops {
    /* Before anything is appended: a cursor for ${reader}. ${ret_backlog}: what an earlier run has
     * left for it. */
    bool (*add_cursor)(struct spool *spool, const struct spool_reader *reader, size_t *ret_cursor,
        struct spool_backlog *ret_backlog, struct error *err);

    /* Every cursor was added. */
    bool (*start)(struct spool *spool, struct error *err);

    /* Wait until there is room for a batch. */
    enum spool_room (*wait_room)(struct spool *spool, enum spool_origin origin);

    /* Take a batch of ${stream}, and number it and its records, ascending over all that the spool
     * takes. A stream without cursors drops it. It may go beyond the room. */
    void (*append)(struct spool *spool, size_t stream, struct batch *batch);

    /* The batch after the one that the cursor got before; each is handed out once. Waits until
     * plat_monotonic_ns() is ${deadline_ns}; UINT64_MAX: as long as it takes. */
    enum spool_next (*next)(
        struct spool *spool, size_t cursor, uint64_t deadline_ns, struct spool_item *ret_item);

    /* The cursor has finished a batch that it got; in any order. Not ${settled}: some records were
     * neither delivered nor given up permanently, so a spool that keeps hands the batch out again
     * in the next run. */
    void (*ack)(struct spool *spool, size_t cursor, const struct spool_item *item, bool settled);

    /* Of a batch that the cursor still has, only these records (ascending) are to be delivered.
     * Becomes true by and by. */
    void (*note_left)(struct spool *spool, size_t cursor, const struct spool_item *item,
        const uint32_t *records, size_t count);

    /*
     * The cursor keeps a batch of which ${count} records are not settled, but does not read it
     * until pick_up, which sets ${item}->batch again. Meanwhile the spool may free its memory. It
     * may also drop the batch, to make room or because of its age, or find it damaged. Then the
     * spool counts these records as lost, and the cursor learns it in one of two ways:
     *
     * - pick_up returns SPOOL_PICK_GONE: the spool settles the batch, and the cursor must not ack
     *   it;
     * - next_gone returns the number of a batch that was dropped: the cursor must ack it. Each is
     *   returned once. If a thread of the output is about to pick it up, the first way holds.
     */
    void (*put_down)(
        struct spool *spool, size_t cursor, const struct spool_item *item, size_t count);
    enum spool_pick (*pick_up)(struct spool *spool, size_t cursor, struct spool_item *item);
    uint64_t (*next_gone)(struct spool *spool, size_t cursor); /* 0: none */

    /* While it is ${restless}, `next` says SPOOL_NOTHING after SPOOL_RESTLESS_MS, whatever the
     * deadline: its output holds batches for later, and must not miss when that is. */
    void (*set_restless)(struct spool *spool, size_t cursor, bool restless);

    /*
     * Commit the cursor's acks so far and ${bytes}, the checkpoint of its output, in one
     * transaction. Acks are committed by this call alone, so an output without checkpoints calls it
     * too, with empty ${bytes}. ${now}: committed when this returns, else with the next commit.
     * False with ${err} set: nothing has changed. In memory the outlet keeps both itself.
     */
    bool (*checkpoint)(
        struct spool *spool, size_t cursor, struct span bytes, bool now, struct error *err);

    /* Append the checkpoint that belongs to where the cursor began. In memory nothing. */
    bool (*first_checkpoint)(
        struct spool *spool, size_t cursor, struct buf *ret_bytes, struct error *err);

    /* Everything that was appended and noted is true on the disk when this returns true. */
    bool (*flush)(struct spool *spool, struct error *err);

    /* Nothing is made true any more from now on, and nothing handed out. For a spool that cannot be
     * destroyed, as an output is stuck with a batch of it. */
    void (*halt)(struct spool *spool);

    /* The cursor gets no further batch, whatever waits for it: `next` returns SPOOL_END. In memory
     * it gets what is left, to drop it. */
    void (*end_cursor)(struct spool *spool, size_t cursor);

    void (*close)(struct spool *spool);  /* nothing more will be appended */
    void (*cancel)(struct spool *spool); /* nothing waits for room any more */
    void (*usage)(struct spool *spool, struct spool_usage *ret_usage);
    /* In memory the ledger knows it. */
    void (*backlog)(struct spool *spool, size_t cursor, struct spool_backlog *ret_backlog);
    void (*destroy)(struct spool *spool); /* with what is in it */
};

struct spool {
    const struct spool_ops *ops;
    bool keeps;
};

/* Batches in memory, together at most ${max_bytes} (and one more), in an epoch of their own, 64
 * random bits, and in another one from when the clock was set. NULL with ${err} set: out of memory,
 * or the system has no random numbers. */
struct spool *spool_memory_create(size_t stream_count, size_t max_bytes, struct error *err);

/* Let sessions that are read again wait while every stream has ${max_ahead} bytes of batches that
 * none of its outputs has got: further ahead is of no use, and costs memory that is in no cache.
 * An output that stands still delays no other one by that. Before anything is appended; not where
 * live sessions would wait behind others. */
void spool_memory_hold_back(struct spool *spool, size_t max_ahead);

/* For tests: the clock that is looked at. Before anything is appended. */
struct store_clock;
void spool_memory_use_clock(struct spool *spool, const struct store_clock *clock);

static inline void spool_destroy(struct spool *spool)
{
    if (spool) {
        spool->ops->destroy(spool);
    }
}

#endif
