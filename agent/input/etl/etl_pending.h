#ifndef ETWSHIP_INPUT_ETL_PENDING_H
#define ETWSHIP_INPUT_ETL_PENDING_H

#include "input/etl/etl_file.h"

/*
 * Buffers of a growing trace that hold undelivered records. Buffers are added as they arrive;
 * records are delivered in time order up to a limit. Records of one processor keep their order;
 * equal times are ordered by position in the file. The order depends only on the added buffers and
 * the limits used. Not thread-safe.
 */
struct etl_pending;

/* ${file} is borrowed. NULL if memory is short. */
struct etl_pending *etl_pending_create(struct etl_file *file, struct error *err);
void etl_pending_destroy(struct etl_pending *pending); /* NULL is fine */

/* Append ${buffer} (copied) to the row of its processor; header buffers have a row of their own.
 * Records before byte ${from} are skipped. */
bool etl_pending_add(struct etl_pending *pending, const struct etl_buffer *buffer, size_t epoch,
    uint32_t from, struct error *err);

enum etl_pending_step { ETL_PENDING_RECORD, ETL_PENDING_NONE, ETL_PENDING_FAILED };

/* The next record with a time of at most ${limit}; valid until the next call. */
enum etl_pending_step etl_pending_next(struct etl_pending *pending, uint64_t limit,
    const struct event_record **ret_record, struct error *err);

/* Number of buffers with undelivered records. */
size_t etl_pending_buffers(const struct etl_pending *pending);

/* Drop all buffers: the file cannot be read any more. */
void etl_pending_drop(struct etl_pending *pending);

#endif
