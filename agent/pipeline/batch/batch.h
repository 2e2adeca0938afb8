#ifndef ETWSHIP_PIPELINE_BATCH_H
#define ETWSHIP_PIPELINE_BATCH_H

#include "outputs/delivery_id.h"
#include "pipeline/batch/piece.h"
#include "pipeline/batch/time_range.h"

/*
 * Records of one stream, sealed: what an output is given at once. It knows how far it takes each
 * session: a segment says that everything of its session up to `last_sequence` is in this batch,
 * in an earlier one, or was filtered. So batches acked in order make a low-water mark.
 *
 * Immutable once it is in the spool, which owns it.
 */
struct batch_segment {
    uint32_t session;
    bool cut;                /* an output continues after it: never merged with what follows */
    uint64_t last_sequence;  /* of the session */
    size_t record_end;       /* index after its last record in the batch */
    struct time_range times; /* of its records, and of others that were decoded with them */
};

struct batch {
    struct piece piece;
    struct batch_segment *segments;
    size_t segment_count;
    size_t segment_capacity;
    bool own;           /* events of the agent itself, none else; those that no session has
                           numbered are in no segment */
    uint64_t opened_ns; /* plat_monotonic_ns of its first record or segment */

    /* Of the spool. */
    struct batch *next;
    struct batch *previous;
    uint64_t number;       /* ascending within the stream; in memory from 1, without holes */
    uint64_t epoch;        /* of a spool in memory: spool_item.epoch */
    uint64_t first_record; /* of its first one: numbers run over all streams of the spool */
    size_t stream;
    size_t readers_left; /* that have yet to ack it, or on a disk to take it */
    size_t holders;      /* on a disk: readers that have it in their hands */
    size_t memory;
    bool is_taken; /* some reader has got it, from memory */
};

/* ${pool}: see piece_init. NULL: out of memory */
struct batch *batch_create(size_t route_count, struct block_pool *pool, uint64_t now_ns);
void batch_destroy(struct batch *batch); /* NULL is fine */

/*
 * Note that, with the records in it now, the batch covers a session up to the end of ${segment};
 * its record_end is their count. Merged into the previous segment if that has the same session and
 * was not cut. False: out of memory.
 */
bool batch_mark(struct batch *batch, const struct batch_segment *segment);

/*
 * Whatever its stream's settings say: with one piece more the batch might be too long for a body on
 * the disk, or its routes have too many names.
 */
bool batch_is_full(const struct batch *batch);

/* About as many bytes as the batch takes where it is written down. */
size_t batch_size(const struct batch *batch);

/* Index of the segment that record ${index} is in: there is one, as in all batches but own ones. */
size_t batch_segment_of(const struct batch *batch, size_t index);

/* Bytes that a batch costs beside its records. */
size_t batch_memory(const struct batch *batch);

/* The parts of the ids of the batch's records, in a stream with hash ${stream_hash}. Views. */
struct delivery_ids batch_ids(const struct batch *batch, uint64_t epoch, uint32_t stream_hash);

/* Records ${first} to ${first} + ${count} for an output that wants routes of template ${route}
 * (or none: SIZE_MAX). ${ends} has room for ${count} entries, used where first is not 0. */
struct delivery batch_delivery(
    const struct batch *batch, size_t first, size_t count, size_t route, uint32_t *ends);

#endif
