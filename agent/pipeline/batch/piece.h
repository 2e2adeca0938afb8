#ifndef ETWSHIP_PIPELINE_PIECE_H
#define ETWSHIP_PIPELINE_PIECE_H

#include "base/buf.h"
#include "event/model/record.h"
#include "pipeline/batch/block_pool.h"
#include "pipeline/batch/routes.h"

/*
 * Records of one stream, written: their bytes, where each ends, its sequence number, and where it
 * is routed to. Workers make pieces, batches are made of them. One thread at a time.
 */
struct piece {
    struct buf bytes;
    uint32_t *ends;
    uint64_t *sequences; /* of the record's session; NULL in batches, which do not need them */
    size_t count;
    size_t capacity;
    size_t sequence_capacity;
    /* Position of each record in its file, unknown for live ones; NULL: not wanted, or all are
     * unknown. */
    struct record_position *positions;
    size_t position_count; /* `count`, or one more for the record that is being written */
    size_t position_capacity;
    struct routes *routes; /* by template of the stream */
    size_t route_count;
    struct block_pool *pool; /* where the memory of `bytes` goes back to; NULL: none */
    size_t taken_bytes;      /* its capacity when it came from there; 0: it did not */

    uint64_t seen;     /* events that came by for this stream … */
    uint64_t filtered; /* … and that its filters dropped */
};

/* Above PIECE_FULL_BYTES, routes included, a worker hands over what it has; one more event may
 * follow. PIECE_MAX_BYTES are never needed: a batch is full long before (batch.h). */
enum { PIECE_FULL_BYTES = 4 * 1024 * 1024, PIECE_MAX_BYTES = 64 * 1024 * 1024 };

/* ${pool} outlives the piece; may be NULL. False: out of memory. */
bool piece_init(struct piece *piece, size_t route_count, struct block_pool *pool);
void piece_fini(struct piece *piece);

/* Make room for ${bytes} in all, in a block of the pool. Not having it is no failure. */
void piece_reserve(struct piece *piece, size_t bytes);

/* The record that is being written was read at ${position} of a file. For streams of which an
 * output asks for ids. False: out of memory. */
bool piece_add_position(struct piece *piece, const struct record_position *position);

/* End a record: the bytes appended since the previous one. Its routes were added before, and its
 * position if it has one. False: out of memory; the record is removed with them. */
bool piece_end_record(struct piece *piece, uint64_t sequence);

/* Take back what was appended to `bytes` after ${start}, and to routes and positions, since the
 * last record. */
void piece_take_back(struct piece *piece, uint32_t start);

/* Append ${count} records of ${from}, the first at ${first}; sequences are left out. False: out of
 * memory, and ${piece} is as it was. */
bool piece_append(struct piece *piece, const struct piece *from, size_t first, size_t count);

/* At least as many bytes as the piece takes where it is written down
 * with all that belongs to it. */
size_t piece_size(const struct piece *piece);

/* Offset of record ${index} in `bytes`; also for index == count. */
static inline uint32_t piece_start(const struct piece *piece, size_t index)
{
    return index ? piece->ends[index - 1] : 0;
}

/* Give back memory that is not needed for what is in it: all of the sequences, and most of a block
 * that is not half full. */
void piece_trim(struct piece *piece);

/* Bytes of memory that it holds. */
size_t piece_memory(const struct piece *piece);

#endif
