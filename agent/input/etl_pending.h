#ifndef ETWSHIP_INPUT_ETL_PENDING_H
#define ETWSHIP_INPUT_ETL_PENDING_H

#include "input/etl_file.h"

/*
 * The buffers of a growing trace whose records wait for their turn: added as they arrive, given
 * record by record in one order of time, as far as a limit allows. What one processor wrote keeps
 * its order; equal times go by the place in the file. The order depends on what was added and the
 * limits asked with, nothing else. One thread at a time.
 */
struct etl_pending;

/* ${file} is borrowed. NULL without memory. */
struct etl_pending *etl_pending_create(struct etl_file *file, struct error *err);
void etl_pending_destroy(struct etl_pending *pending); /* NULL is fine */

/* Add ${buffer} (copied), behind those of its processor: header buffers are a row of their own. Of
 * its records those before ${from} bytes are left out. */
bool etl_pending_add(struct etl_pending *pending, const struct etl_buffer *buffer, size_t epoch,
    uint32_t from, struct error *err);

enum etl_pending_step { ETL_PENDING_RECORD, ETL_PENDING_NONE, ETL_PENDING_FAILED };

/* The next record whose time is at most ${limit}; valid until the next call. */
enum etl_pending_step etl_pending_next(struct etl_pending *pending, uint64_t limit,
    const struct event_record **ret_record, struct error *err);

/* Buffers of which records wait still. */
size_t etl_pending_buffers(const struct etl_pending *pending);

/* Forget all of them: the file cannot be read any more. */
void etl_pending_drop(struct etl_pending *pending);

#endif
