#ifndef ETWSHIP_STORE_PENDING_H
#define ETWSHIP_STORE_PENDING_H

#include "store/disk/segments.h"
#include "store/store.h"

/*
 * Batches that were appended and are not committed: they stay in memory, as what was written but not
 * synced must be written again when the sync fails. One thread at a time.
 */
struct pending_batch {
    struct store_row row; /* segment, offset and disk_bytes once it is placed */
    struct frame_source *sources;
    size_t source_count;
    struct span body;
    size_t bytes;    /* of memory, the body's too where that is lent */
    bool is_placed;  /* written */
    bool is_durable; /* and synced */
};

struct pending {
    struct pending_batch **batches; /* by id */
    size_t count;
    size_t capacity;
    uint64_t bytes; /* of all */
};

void pending_fini(struct pending *pending); /* a zeroed one is a fresh one */

/* Add a copy of ${batch}, except a borrowed body, with the numbers of ${row}. False: out of memory,
 * nothing changed. */
bool pending_add(struct pending *pending, const struct store_batch *batch,
    const struct store_row *row, struct error *err);

/* Take back what was added last. */
void pending_drop_last(struct pending *pending);

/* The arguments of segments_append. Views of ${batch}. */
struct segments_batch pending_frame(const struct pending_batch *batch);

/* Write those that are not written. False: some may be. */
bool pending_place(struct pending *pending, struct segments *segments, struct error *err);

/* Sync what was written. False: what was not durable before is to be written again. */
bool pending_sync(struct pending *pending, struct segments *segments, struct error *err);

/* The unsynced frames are removed from the files, which may be given up. */
void pending_undo(struct pending *pending, struct segments *segments);

/* Has one of them a place in ${segment}? */
bool pending_uses(const struct pending *pending, uint64_t segment);

/* All were committed. */
void pending_clear(struct pending *pending);

#endif
