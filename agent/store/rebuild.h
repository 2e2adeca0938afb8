#ifndef ETWSHIP_STORE_REBUILD_H
#define ETWSHIP_STORE_REBUILD_H

#include "store/store_own.h"

/*
 * The catalogue from the segments: batches, streams, how far sources were, and all numbers. What
 * outputs had taken is not in them, so everything that is there is delivered again; neither are
 * inputs' states, and open gaps. Dead letters come from files of their own (letter_files.h); what cannot
 * be read of those is told, and becomes a gap.
 *
 * Which output wants what cannot be known before they are opened. Until then an artificial output,
 * REBUILD_ORPHANS, pins what was found; an output that opens a stream of it begins at its head. What no
 * output of this run claims stays with it, as with one that was removed from the configuration.
 */
#define REBUILD_ORPHANS "(rebuilt)"

/* What was found, and what was not. */
struct rebuild {
    struct store *store;
    uint64_t last_id; /* of batches that count */
    uint64_t batches;
    uint64_t records;
    uint64_t damaged; /* batches whose head can be read, but not the rest */
    uint64_t skipped_bytes;
    uint64_t files_aside;
    struct catalogue_counters next;
    struct buf room;
};

void rebuild_init(struct rebuild *rebuild, struct store *store);
void rebuild_fini(struct rebuild *rebuild);

/* Inside a transaction: streams that the catalogue has not. */
bool rebuild_put_streams(struct store *store, struct error *err);

/* Inside a transaction: put all good frames of segment ${id} from ${from} on into the catalogue, and
 * what is damaged aside. False: the disk, memory, or the catalogue failed. */
bool rebuild_segment(struct rebuild *rebuild, uint64_t id, uint64_t from, struct error *err);

/* Inside a transaction: the dead letters. */
bool rebuild_letters(struct store *store, struct error *err);

/* At the start, with a catalogue that could be opened: are its letters good (ERR_DAMAGED if not), and does it
 * know all of their newest file? If not it is older, and takes what it lacks. */
bool rebuild_compare_letters(struct store *store, struct error *err);

/* Inside the same: what was found waits for its outputs; numbers continue after all that were seen. */
bool rebuild_finish(struct rebuild *rebuild, struct error *err);

/* At the start: set aside the catalogue, if there is one, and make it anew. ${why} says
 * what was found, and is told. */
bool rebuild_all(struct store *store, const struct error *why, struct error *err);

/* In a running store whose catalogue has turned out to be damaged, or gone: the same, but outputs are
 * still where they are in memory. ${why} says what was found; on failure why not. */
bool rebuild_running(struct store *store, struct error *why);

/* Was anything of ${stream} found that waits for its outputs? Then it begins after ${ret_after}. An
 * output that has something else to take after that cannot have it, and then it goes on waiting. */
bool rebuild_orphans(const struct store *store, uint64_t stream, uint64_t *ret_after);

/* What outputs that are open have claimed is theirs. */
void rebuild_claim(struct store *store);

#endif
