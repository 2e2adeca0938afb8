#ifndef ETWSHIP_INPUT_EVTX_TAIL_H
#define ETWSHIP_INPUT_EVTX_TAIL_H

#include "input/etl/etl_file.h"
#include "input/evtx/evtx_chunk.h"

/*
 * The chunks of an event log that is being written, in the order of their records, which is the
 * order of writing. While a chunk is read, Windows may add records to it or, in a circular log,
 * overwrite it. So each chunk is copied first.
 *
 * A mark states how far a log was read: the number of a chunk's first record, and the end of the
 * last read record in that chunk.
 */
struct evtx_tail;

/* ${file} is borrowed. NULL if memory is short. */
struct evtx_tail *evtx_tail_create(struct etl_file *file, struct error *err);
void evtx_tail_destroy(struct evtx_tail *tail); /* NULL is fine */

enum evtx_tail_step { EVTX_TAIL_CHUNK, EVTX_TAIL_NONE, EVTX_TAIL_FAILED };

/* Result of evtx_tail_next. */
struct evtx_tail_found {
    struct evtx_chunk *chunk; /* returns its new records; valid until the next call */
    uint64_t mark;            /* after them */
    uint64_t lost;            /* records before them that were overwritten before they were read */
};

/*
 * Find the next chunk with new records, up to the mark ${to} (UINT64_MAX: up to the last complete
 * record). ${is_final}: the file is no longer written, or everything before ${to} was read in an
 * earlier run.
 */
enum evtx_tail_step evtx_tail_next(struct evtx_tail *tail, uint64_t to, bool is_final,
    struct evtx_tail_found *ret_found, struct error *err);

/* Skip everything up to the mark ${to}: it was read in an earlier run or is lost. */
void evtx_tail_leave(struct evtx_tail *tail, uint64_t to);

/* True if the log was cleared, so that it is a new log now. Known after evtx_tail_next. */
bool evtx_tail_is_replaced(const struct evtx_tail *tail);

/* True if the log still has the records that begin at the chunk of the mark ${start}. */
bool evtx_tail_has(struct evtx_tail *tail, uint64_t start);

#endif
