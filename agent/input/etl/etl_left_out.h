#ifndef ETWSHIP_INPUT_ETL_LEFT_OUT_H
#define ETWSHIP_INPUT_ETL_LEFT_OUT_H

#include "base/buf.h"
#include "input/record/etl_buffer.h"
#include "input/record/etl_record.h"

/*
 * Buffers whose records are all left out, as the first pass decided. Time and reason of each record
 * are noted, usually in 2 bytes. So the second pass counts the records in their places
 * (etl_merge.h) without reading the buffers again. Not thread-safe.
 */
enum { ETL_LEFT_OUT_REASONS = 8 };

struct etl_left_out_buffer {
    uint64_t offset; /* in the file */
    uint32_t size;
    uint32_t records;
    size_t notes;    /* offset of the first note */
    uint64_t latest; /* time of any record */
    const struct trace_info *trace;
    int64_t last_raw; /* times of the last record, which a record without a time inherits */
    uint64_t last_time;
};

/* Zero-initialise: nothing is noted. */
struct etl_left_out {
    size_t *budget; /* bytes that may still be used; several files may share it. NULL: none */
    struct etl_left_out_buffer *buffers; /* closed ones, by offset */
    size_t count;
    size_t capacity;
    struct buf notes;
    size_t closed_bytes; /* notes of closed buffers */
    struct etl_left_out_buffer open;
    uint64_t noted;  /* records, in closed buffers */
    uint64_t wasted; /* records noted of buffers that were not closed */
    uint64_t asked;  /* calls of etl_left_out_open */
};

/* Start anew with ${budget} (borrowed; may be NULL). */
void etl_left_out_init(struct etl_left_out *left_out, size_t *budget);
void etl_left_out_fini(struct etl_left_out *left_out);

/* Forget all buffers, and give their bytes back to the budget. */
void etl_left_out_clear(struct etl_left_out *left_out);

/* Open ${buffer} for notes. A buffer that is still open gets none. Buffers must come in ascending
 * order of their offsets. False: no notes are wanted. That is so for most buffers once more notes
 * were wasted than used. */
bool etl_left_out_open(struct etl_left_out *left_out, const struct etl_buffer *buffer);

/* Note the next record of the open buffer, with a time of its own. ${reason}: below
 * ETL_LEFT_OUT_REASONS. False: there is no room, so the buffer cannot be noted. */
bool etl_left_out_add(struct etl_left_out *left_out, uint64_t time, uint8_t reason);

/* All records of the open buffer were noted. ${last}: the times that a record after them would
 * inherit. */
void etl_left_out_close(struct etl_left_out *left_out, const struct etl_scope *last);

/* The closed buffer at ${offset}, valid until the next change. NULL: none. */
const struct etl_left_out_buffer *etl_left_out_find(
    const struct etl_left_out *left_out, uint64_t offset);

/* Reads the notes of a buffer. */
struct etl_left_out_reader {
    const uint8_t *at;
    uint32_t left;
    uint8_t reason; /* of the current record */
    uint64_t time;
};

struct etl_left_out_reader etl_left_out_read(
    const struct etl_left_out *left_out, const struct etl_left_out_buffer *buffer);

/* Continue with the next record; false: there is none. */
static inline bool etl_left_out_next(struct etl_left_out_reader *reader)
{
    if (reader->left == 0) {
        return false;
    }
    reader->left--;
    uint64_t note = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *reader->at++;
        note |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    uint64_t step = note / ETL_LEFT_OUT_REASONS;
    reader->reason = note % ETL_LEFT_OUT_REASONS;
    reader->time += step >> 1 ^ (0 - (step & 1)); /* zigzag */
    return true;
}

#endif
