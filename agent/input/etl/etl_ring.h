#ifndef ETWSHIP_INPUT_ETL_RING_H
#define ETWSHIP_INPUT_ETL_RING_H

#include "input/etl/etl_file.h"

/*
 * The buffers of a circular trace that is being written, in the order of their sequence numbers,
 * which is the order of filling. Each is copied before it is read, because it may be overwritten at
 * any time.
 */
struct etl_ring;

/* ${file} is borrowed. NULL if memory is short. */
struct etl_ring *etl_ring_create(struct etl_file *file, struct error *err);
void etl_ring_destroy(struct etl_ring *ring); /* NULL is fine */

enum etl_ring_step { ETL_RING_BUFFER, ETL_RING_NONE, ETL_RING_FAILED };

/*
 * The next buffer, with a sequence number of at most ${to}. ${ret_bytes} contains only it (at
 * offset 0) until the next call. ${ret_skipped}: number of buffers before it that were overwritten
 * unread; 0 for the first. Numbers that the session itself lost do not count. ${is_closed}: the
 * file is not written any more, or buffers up to ${to} were delivered in an earlier run.
 */
enum etl_ring_step etl_ring_next(struct etl_ring *ring, uint64_t to, bool is_closed,
    struct etl_buffer *ret_buffer, struct etl_bytes **ret_bytes, uint64_t *ret_skipped,
    struct error *err);

/* Sequence number of the oldest buffer; 0: none. False if the file cannot be read. */
bool etl_ring_oldest(struct etl_ring *ring, uint64_t *ret_sequence, struct error *err);

/* Skip everything up to ${sequence}: it was delivered in an earlier run or is lost. */
void etl_ring_skip(struct etl_ring *ring, uint64_t sequence);

/* File offset of the buffer delivered last. */
uint64_t etl_ring_offset(const struct etl_ring *ring);

#endif
