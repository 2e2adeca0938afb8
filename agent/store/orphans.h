#ifndef ETWSHIP_STORE_ORPHANS_H
#define ETWSHIP_STORE_ORPHANS_H

#include "store/ages.h"

/*
 * Batches that a rebuild has found wait for outputs that are not open yet: until those are, it is
 * unknown which of them reads what. An artificial output pins what was found; an output that opens
 * a stream of it begins at its head. What no output of this run claims stays with it, as with an
 * output that was removed from the configuration.
 */

/* Batches of ${stream} from ${first_id} on were found: they wait, unless a known output reads the
 * stream. */
bool orphans_add(struct chains *chains, struct ages *ages, uint64_t stream, uint64_t first_id,
    struct error *err);

/* True if batches of ${stream} were found that wait for its outputs; they begin after ${ret_after}.
 * An output that must read something else after that cannot have them, and they continue to
 * wait. */
bool orphans_find(const struct chains *chains, uint64_t stream, uint64_t *ret_after);

/* Release what open outputs have claimed. True: there was something. */
bool orphans_claim(struct chains *chains, struct ages *ages);

#endif
