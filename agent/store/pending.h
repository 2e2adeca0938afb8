#ifndef ETWSHIP_STORE_PENDING_H
#define ETWSHIP_STORE_PENDING_H

#include "store/disk/segments.h"
#include "store/store.h"

/*
 * Batches that were appended and are not committed: they stay in memory, as what was written but
 * not synced must be written again when the sync fails. One thread at a time.
 */
struct pending;

struct pending *pending_create(void); /* NULL: out of memory */
void pending_destroy(struct pending *pending);

size_t pending_count(const struct pending *pending);
uint64_t pending_bytes(const struct pending *pending); /* of memory */

/* Batch ${index}, by id. Its segment, offset and disk_bytes once it is placed. */
const struct store_row *pending_row(const struct pending *pending, size_t index);
const struct frame_source *pending_sources(
    const struct pending *pending, size_t index, size_t *ret_count);

/* Add a copy of ${batch}, except a borrowed body, with the numbers of ${row}. False: out of
 * memory, or beyond the limits of segments (segments_fits); nothing changed. */
bool pending_add(struct pending *pending, const struct store_batch *batch,
    const struct store_row *row, struct error *err);

/* Write those that are not written. False: some may be. */
bool pending_place(struct pending *pending, struct segments *segments, struct error *err);

/* Sync what was written. False: what was not durable before is to be written again. */
bool pending_sync(struct pending *pending, struct segments *segments, struct error *err);

/* The unsynced frames are removed from the files, which may be given up. */
void pending_undo(struct pending *pending, struct segments *segments);

/* The segment that was written to last; 0: none of them is placed. */
uint64_t pending_segment(const struct pending *pending);

/* The clock was set: when they entered is moved by ${by}, and is not after ${now}. */
void pending_shift_entered(struct pending *pending, uint64_t by, uint64_t now);

/* Has one of them a place in ${segment}? */
bool pending_uses(const struct pending *pending, uint64_t segment);

/* All were committed. */
void pending_clear(struct pending *pending);

#endif
