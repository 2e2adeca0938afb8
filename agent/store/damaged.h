#ifndef ETWSHIP_STORE_DAMAGED_H
#define ETWSHIP_STORE_DAMAGED_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store;

/*
 * Unreadable data is kept: it is moved or copied to a folder for people, under a name that says
 * what it is. Bounded: at most 256 MB and 1,000 files are kept. A failure here never fails the
 * caller.
 */

/* Copy ${bytes} at ${offset} of segment ${id} to `damaged/<segment>-<offset>-<what>`. */
void damaged_copy(
    struct store *store, uint64_t id, uint64_t offset, uint64_t bytes, const char *what);

/* Move a whole segment file there, of which nothing can be read. False: it stays where it is. */
bool damaged_move(struct store *store, uint64_t id);

/* Give the catalogue's files another name, so that a new one can be made. The last three are kept.
 * False with ${err} set. */
bool damaged_catalogue(struct store *store, char *ret_name, size_t size, struct error *err);

#endif
