#ifndef ETWSHIP_STORE_REBUILD_H
#define ETWSHIP_STORE_REBUILD_H

#include "store/damaged.h"
#include "store/state/ids.h"

/*
 * Rebuild the catalogue from the segments: batches, streams, positions of sources, and all numbers.
 * Segments do not have positions of outputs, so everything is delivered again (orphans.h); nor
 * states of inputs and open gaps. Dead letters come from files of their own (letter_files.h);
 * unreadable ones are reported, and become a gap.
 */
struct rebuild;
struct streams;

/* All are borrowed. NULL: out of memory. */
struct rebuild *rebuild_create(const struct folder *folder, struct segments *segments,
    struct streams *streams, struct chains *chains, struct ages *ages, struct damaged *damaged,
    const struct report *report);
void rebuild_destroy(struct rebuild *rebuild);

/* At the start: set an existing catalogue aside, and build a new one. ${why}, the reason, is
 * reported, unless ${is_new}: there was nothing yet. NULL with ${err} set. */
struct catalogue *rebuild_at_start(
    struct rebuild *rebuild, const struct error *why, bool is_new, struct error *err);

/* In a running store whose catalogue has turned out to be damaged, or gone, and is closed: the
 * same, but outputs are still where they are in memory, and only batches up to ${last_id} were
 * committed. ${why} says what was found; on failure why not. */
struct catalogue *rebuild_running(struct rebuild *rebuild, uint64_t last_id, struct error *why);

/* At the start: put back frames that the catalogue does not know. ${tails}: pairs of a segment and
 * from where on. */
bool rebuild_adopt(struct rebuild *rebuild, struct catalogue *catalogue, const struct ids *tails,
    struct error *err);

/* At the start, with a catalogue that could be opened: are its letters good (ERR_DAMAGED if not),
 * and does it know all of their newest file? If not it is older, and takes what it lacks. */
bool rebuild_compare_letters(
    struct rebuild *rebuild, struct catalogue *catalogue, struct error *err);

/* As store_letters_lost. */
uint64_t rebuild_letters_lost(const struct rebuild *rebuild);

#endif
