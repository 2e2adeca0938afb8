#ifndef ETWSHIP_INPUT_ETL_RING_H
#define ETWSHIP_INPUT_ETL_RING_H

#include "input/etl_file.h"

/*
 * The buffers of a circular trace that is being written, in the order of their sequence numbers,
 * which is the order in which they were filled. Each is copied before it is read, because it may be
 * overwritten at any time.
 */
struct etl_ring;

/* ${file} is borrowed. NULL without memory. */
struct etl_ring *etl_ring_create(struct etl_file *file, struct error *err);
void etl_ring_destroy(struct etl_ring *ring); /* NULL is fine */

enum etl_ring_step { ETL_RING_BUFFER, ETL_RING_NONE, ETL_RING_FAILED };

/*
 * The next buffer, with a sequence number of at most ${to}. ${ret_bytes} holds it alone (its offset
 * there is 0) until the next call. ${ret_skipped}: how many before it were overwritten unread; none
 * before the first. Numbers that the session itself lost are not counted. ${is_closed}: nobody
 * writes any more, or the buffers up to ${to} were given in an earlier run.
 */
enum etl_ring_step etl_ring_next(struct etl_ring *ring, uint64_t to, bool is_closed,
    struct etl_buffer *ret_buffer, struct etl_bytes **ret_bytes, uint64_t *ret_skipped,
    struct error *err);

/* The oldest buffer that is there; 0: none. False if the file cannot be read. */
bool etl_ring_oldest(struct etl_ring *ring, uint64_t *ret_sequence, struct error *err);

/* Everything up to ${sequence} was given in an earlier run, or is gone. */
void etl_ring_leave(struct etl_ring *ring, uint64_t sequence);

/* Where the buffer that was given last stands in the file. */
uint64_t etl_ring_offset(const struct etl_ring *ring);

#endif
