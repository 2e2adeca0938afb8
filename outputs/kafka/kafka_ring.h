#ifndef ETWSHIP_OUTPUTS_KAFKA_RING_H
#define ETWSHIP_OUTPUTS_KAFKA_RING_H

#include "outputs/kafka/kafka_position.h"
#include "outputs/kafka/kafka_send.h"

/*
 * The records that the cluster has already; the cluster itself stores this.
 *
 * Each transaction also writes the ids of its events (kafka_position.h) to a compacted topic. Its
 * keys are "ID/SLOT/PART", where SLOT counts from 0 to KAFKA_RING_SLOTS - 1 and starts again. The
 * cluster commits events and ids together or not at all. After a start, the slots contain the
 * events of the last transactions; the output skips these when the host sends them again.
 *
 * Invariant: all events that the host would send again after a crash are in the last
 * KAFKA_RING_SLOTS transactions. So the output asks the host to store its position after every
 * KAFKA_RING_SLOTS / 2 transactions (kafka_ring_is_due).
 *
 * A reader of committed messages cannot pass the oldest open transaction of any producer. So the
 * output first commits a mark, which is then its last message, and reads up to that mark.
 */
enum { KAFKA_RING_SLOTS = 16, KAFKA_RING_PARTS = 64 };

struct kafka_slot {
    uint64_t number;  /* number of the transaction; 0: none */
    int64_t offset;   /* of its first message; -1: unknown */
    struct buf value; /* while they are read */
};

struct kafka_ring {
    const char *topic; /* borrowed, like `id` */
    const char *id;    /* of our transactions */
    int32_t partition; /* -1: not known yet */
    int64_t start;     /* offset where reading begins; -1: at the beginning */
    uint64_t next;     /* number of the next transaction */
    uint64_t stored; /* the host has stored its position after all transactions below this number */
    struct kafka_slot slots[KAFKA_RING_SLOTS];
    struct map delivered; /* ids of delivered records that the host may send again */
    struct arena delivered_ids;

    /* Messages of the current transaction. */
    struct buf values;
    struct buf keys;
    size_t value_ends[KAFKA_RING_PARTS];
    size_t key_ends[KAFKA_RING_PARTS];
    size_t part_count;
    struct kafka_result results[KAFKA_RING_PARTS];
};

/* ${checkpoint}: written by kafka_ring_checkpoint. Any other text counts as none. */
void kafka_ring_init(
    struct kafka_ring *ring, const char *topic, const char *id, struct span checkpoint);
void kafka_ring_fini(struct kafka_ring *ring);

/* Read from the cluster which events were delivered. ${link} has transactions, and none is open.
 * False with the reason. */
bool kafka_ring_recall(struct kafka_ring *ring, struct kafka_link *link,
    rd_kafka_resp_err_t *ret_code, struct error *err);

/* True if record ${index} is known to be delivered. */
bool kafka_ring_has(const struct kafka_ring *ring, const struct delivery *delivery, size_t index);

/* Forget all ids: the host does not send these records again. */
void kafka_ring_forget(struct kafka_ring *ring);

/* Within a transaction, write the ids of the records of ${delivery} that ${marks} do not exclude.
 * After kafka_link_wait, kafka_ring_code returns the result. False: out of memory. */
bool kafka_ring_put(struct kafka_ring *ring, struct kafka_link *link,
    const struct delivery *delivery, const struct kafka_mark *marks);
rd_kafka_resp_err_t kafka_ring_code(const struct kafka_ring *ring);

/* The transaction is committed. */
void kafka_ring_turn(struct kafka_ring *ring);

bool kafka_ring_is_due(const struct kafka_ring *ring);
void kafka_ring_stored(struct kafka_ring *ring);

/* Append the position at which the next run begins to read. */
void kafka_ring_checkpoint(const struct kafka_ring *ring, struct buf *out);

#endif
