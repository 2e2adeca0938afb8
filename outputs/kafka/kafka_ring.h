#ifndef ETWSHIP_OUTPUTS_KAFKA_RING_H
#define ETWSHIP_OUTPUTS_KAFKA_RING_H

#include "outputs/kafka/kafka_link.h"
#include "outputs/kafka/kafka_position.h"

/*
 * What of our records is in the cluster already, kept in the cluster.
 *
 * Each transaction writes beside its events which ones they are (kafka_position.h), to a compacted topic, under one
 * of KAFKA_RING_SLOTS keys of ours in turn: "ID/SLOT/PART". Both are committed or neither is. After a start, the
 * last slots say what was delivered last, and what comes again of that is left out.
 *
 * Invariant: what the host would send again after a crash is in the last KAFKA_RING_SLOTS transactions. So the host
 * is asked to store its position before more than half as many have passed it (kafka_ring_is_due).
 *
 * A reader of committed messages sees only what lies before the oldest open transaction of anybody. So we commit
 * a mark of our own first, behind which nothing of ours lies, and read until it comes.
 */
enum { KAFKA_RING_SLOTS = 16, KAFKA_RING_PARTS = 64 };

struct kafka_slot {
    uint64_t number;  /* of the transaction; 0: none */
    int64_t offset;   /* of its first message; -1: unknown */
    struct buf value; /* while they are read */
};

struct kafka_ring {
    const char *topic; /* borrowed, as `id` */
    const char *id;    /* of our transactions */
    int32_t partition; /* -1: not known yet */
    int64_t start;     /* where reading begins; -1: at the beginning */
    uint64_t next;     /* number of the next transaction */
    uint64_t stored;   /* the host has stored what came before it */
    struct kafka_slot slots[KAFKA_RING_SLOTS];
    struct map had; /* ids that were delivered, and may come again */
    struct arena had_ids;

    /* Messages of the transaction that is under way. */
    struct buf values;
    struct buf keys;
    size_t value_ends[KAFKA_RING_PARTS];
    size_t key_ends[KAFKA_RING_PARTS];
    size_t part_count;
    struct kafka_result results[KAFKA_RING_PARTS];
};

/* ${checkpoint}: what kafka_ring_checkpoint wrote; anything else is as good as nothing. */
void kafka_ring_init(
    struct kafka_ring *ring, const char *topic, const char *id, struct span checkpoint);
void kafka_ring_fini(struct kafka_ring *ring);

/* Read what was delivered, over a ${link} with transactions, none of which is open. False with the reason. */
bool kafka_ring_recall(struct kafka_ring *ring, struct kafka_link *link,
    rd_kafka_resp_err_t *ret_code, struct error *err);

/* Was it delivered, as far as is known? */
bool kafka_ring_has(const struct kafka_ring *ring, const struct delivery *delivery, size_t index);

/* Nothing of what is known comes again. */
void kafka_ring_forget(struct kafka_ring *ring);

/* Hand over, within a transaction, that it delivers the records of ${delivery} that ${skip} does not name. Wait for
 * it by kafka_link_wait; then kafka_ring_code says how it went. False: out of memory. */
bool kafka_ring_put(struct kafka_ring *ring, struct kafka_link *link,
    const struct delivery *delivery, const bool *skip);
rd_kafka_resp_err_t kafka_ring_code(const struct kafka_ring *ring);

/* The transaction is committed. */
void kafka_ring_turn(struct kafka_ring *ring);

bool kafka_ring_is_due(const struct kafka_ring *ring);
void kafka_ring_stored(struct kafka_ring *ring);

/* Append where reading begins after a restart. */
void kafka_ring_checkpoint(const struct kafka_ring *ring, struct buf *out);

#endif
