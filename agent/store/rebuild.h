#ifndef ETWSHIP_STORE_REBUILD_H
#define ETWSHIP_STORE_REBUILD_H

#include "base/buf.h"
#include "store/catalogue/catalogue.h"

struct store;

/*
 * Rebuild the catalogue from the segments: batches, streams, positions of sources, and all numbers.
 * Segments do not have positions of outputs, so everything is delivered again; nor states of inputs
 * and open gaps. Dead letters come from files of their own (letter_files.h); unreadable ones are
 * reported, and become a gap.
 *
 * Until outputs are opened, it is unknown which of them reads what. An artificial output,
 * REBUILD_ORPHANS, pins what was found; an output that opens a stream of it begins at its head.
 * What no output of this run claims stays with it, as with an output that was removed from the
 * configuration.
 */
#define REBUILD_ORPHANS "(rebuilt)"

/* Counts of what was found and lost. */
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

/* At the start: set an existing catalogue aside, and build a new one. ${why}, the reason, is
 * reported. */
bool rebuild_all(struct store *store, const struct error *why, struct error *err);

/* In a running store whose catalogue has turned out to be damaged, or gone: the same, but outputs are
 * still where they are in memory. ${why} says what was found; on failure why not. */
bool rebuild_running(struct store *store, struct error *why);

/* True if batches of ${stream} were found that wait for its outputs; they begin after ${ret_after}.
 * An output that must read something else after that cannot have them, and they continue to
 * wait. */
bool rebuild_orphans(const struct store *store, uint64_t stream, uint64_t *ret_after);

/* Release what open outputs have claimed. */
void rebuild_claim(struct store *store);

#endif
