#ifndef ETWSHIP_STORE_STORE_OWN_H
#define ETWSHIP_STORE_STORE_OWN_H

#include "store/chains.h"
#include "store/disk_room.h"
#include "store/rebuild.h"
#include "store/unneeded.h"

/* Shared by the files store*.c; not for other modules. The parts, each with its own file. */
struct store {
    struct report *report;
    struct folder *folder;
    struct segments *segments;
    struct catalogue *catalogue; /* NULL: lost, and to be rebuilt by the next commit */
    struct streams *streams;
    struct chains *chains;
    struct stage *stage;
    struct pending *pending;
    struct numbers *numbers;
    struct unneeded *unneeded;
    struct ages *ages;
    struct disk_room *room;
    struct damaged *damaged;
    struct rebuild *rebuild;

    bool is_unclean;         /* a commit failed: something may be written that is not committed */
    bool has_committed_rest; /* of the last commit, all that needs no batches */
    bool caller_removes_old; /* outputs, by store_remove_old */
};

struct store_row store_row_of(const struct catalogue_batch *batch);

/* Does ${err} say that a file, above all the catalogue, is damaged or gone? */
static inline bool store_has_lost(const struct error *err)
{
    return err->code == ERR_DAMAGED || err->code == ERR_MISSING;
}

/* Output ${output} of this run; NULL with ${err}: there is none. */
struct chain *store_chain(const struct store *store, size_t output, struct error *err);

/* ---- store_stage.c --------------------------------------------------------------------------- */

/* A name or value that the catalogue would refuse. */
bool store_is_too_long(struct span name, struct span value, struct error *err);

/* ---- store_limits.c -------------------------------------------------------------------------- */

/* Outputs that have not been there for max_age, unless the caller sees to them
 * (store_remove_old). */
void store_remove_absent(struct store *store);

#endif
