#ifndef ETWSHIP_PIPELINE_ROLLUPS_H
#define ETWSHIP_PIPELINE_ROLLUPS_H

#include "pipeline/slab/rollup.h"
#include "pipeline/slab/slab.h"

/* The open windows of all sessions and streams. They belong to the sealer, under its mutex. Without
 * `rollup` rules they cost nothing. */
struct rollups;

struct rollups *rollups_create(size_t session_count, size_t stream_count, struct error *err);
void rollups_destroy(struct rollups *rollups); /* with what is open; NULL is fine */

/* What happened to a piece's rolled-up events. */
struct rolled {
    uint64_t events;
    uint64_t absorbed; /* the part of them that has no record of its own any more */
};

/* Take what piece ${piece} of ${slab}, of stream ${stream}, has;
 * what finds no room is noted in its list. */
struct rolled rollups_take_slab(struct rollups *rollups, struct slab *slab, size_t piece,
    size_t stream, bool replayable, uint64_t now_ns);

/* NULL: nothing was ever rolled up there. */
struct rollup *rollups_of(const struct rollups *rollups, size_t session, size_t stream);

#endif
