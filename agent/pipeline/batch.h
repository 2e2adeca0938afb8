#ifndef ETWSHIP_PIPELINE_BATCH_H
#define ETWSHIP_PIPELINE_BATCH_H

#include "outputs/output.h"
#include "pipeline/piece.h"

/*
 * Records of one stream, sealed: what an output is given at once. It knows how far it takes each
 * session: a segment says that everything of its session up to `last_sequence` is in this batch,
 * in an earlier one, or was filtered. So batches acked in order make a low-water mark.
 *
 * Immutable once it is in the spool, which owns it.
 */
struct batch_segment {
    uint32_t session;
    bool cut;               /* an output goes on behind it: never merged with what follows */
    uint64_t last_sequence; /* of the session */
    size_t record_end;      /* index behind its last record in the batch */
};

struct batch {
    struct piece piece;
    struct batch_segment *segments;
    size_t segment_count;
    size_t segment_capacity;
    bool own;           /* events of the agent itself, none else */
    uint64_t opened_ns; /* plat_monotonic_ns of its first record or segment */

    /* Of the spool. */
    struct batch *next;
    struct batch *previous;
    uint64_t number; /* within the stream, from 1 */
    size_t readers_left;
    size_t memory;
};

/* ${pool}: see piece_init. NULL: out of memory */
struct batch *batch_create(size_t route_count, struct block_pool *pool, uint64_t now_ns);
void batch_destroy(struct batch *batch); /* NULL is fine */

/*
 * Note that the batch takes ${session} to ${last_sequence} with the records that are in it now.
 * Merged into the segment before where that is of the same session and was not cut. False: out of
 * memory.
 */
bool batch_mark(struct batch *batch, uint32_t session, uint64_t last_sequence, bool cut);

/* What a batch beside its records costs. */
size_t batch_memory(const struct batch *batch);

/* Records ${first} to ${first} + ${count} for an output that wants routes of template ${route}
 * (or none: SIZE_MAX). ${ends} has room for ${count} entries, used where first is not 0. */
struct delivery batch_delivery(
    const struct batch *batch, size_t first, size_t count, size_t route, uint32_t *ends);

#endif
