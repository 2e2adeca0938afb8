#ifndef ETWSHIP_STORE_DAMAGED_H
#define ETWSHIP_STORE_DAMAGED_H

#include "store/ages.h"
#include "store/folder.h"

/*
 * Unreadable data is kept: it is moved or copied to a folder for people, under a name that says
 * what it is. Bounded: at most 256 MB and 1,000 files are kept. A failure here never fails the
 * caller.
 */

struct damaged;

/* NULL: out of memory. */
struct damaged *damaged_create(const struct folder *folder, struct segments *segments,
    struct ages *ages, const struct report *report);
void damaged_destroy(struct damaged *damaged);

/* Copy ${bytes} at ${offset} of segment ${id} to `damaged/<segment>-<offset>-<what>`. */
void damaged_copy(
    struct damaged *damaged, uint64_t id, uint64_t offset, uint64_t bytes, const char *what);

/* Move a whole segment file there, of which nothing can be read. False: it stays where it is. */
bool damaged_move(struct damaged *damaged, uint64_t id);

/* Give the catalogue's files another name, so that a new one can be made: a database, a log without
 * one, or both; ${ret_name} is empty if neither is there. The last three are kept. False with
 * ${err} set. */
bool damaged_catalogue(struct damaged *damaged, char *ret_name, size_t size, struct error *err);

#endif
