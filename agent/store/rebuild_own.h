#ifndef ETWSHIP_STORE_REBUILD_OWN_H
#define ETWSHIP_STORE_REBUILD_OWN_H

#include "store/rebuild.h"
#include "store/state/streams.h"

/* Within rebuild*.c. */
struct rebuild {
    const struct folder *folder;
    struct segments *segments;
    struct streams *streams;
    struct chains *chains;
    struct ages *ages;
    struct damaged *damaged;
    const struct report *report;
    uint64_t letters_lost; /* since the store was opened */

    /* Of the rebuild in hand: what was found and lost. */
    struct catalogue *catalogue;
    uint64_t last_id; /* of batches that count */
    uint64_t batches;
    uint64_t records;
    uint64_t unreadable; /* batches whose head can be read, but not the rest */
    uint64_t skipped_bytes;
    struct catalogue_counters next;
    struct buf room;
};

/* Inside a transaction: streams that the catalogue has not. */
bool rebuild_put_streams(struct rebuild *rebuild, struct error *err);

/* Inside a transaction: put all good frames of segment ${id} from ${from} on into the catalogue,
 * and what is damaged aside. False: the disk, memory, or the catalogue failed. */
bool rebuild_segment(struct rebuild *rebuild, uint64_t id, uint64_t from, struct error *err);

/* Inside a transaction: the dead letters. */
bool rebuild_letters(struct rebuild *rebuild, struct error *err);

#endif
