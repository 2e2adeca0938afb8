#ifndef ETWSHIP_STORE_COMMIT_H
#define ETWSHIP_STORE_COMMIT_H

#include "store/state/ids.h"
#include "store/state/stage.h"

struct store;

/* Within store_commit.c alone: the parts of its transaction. Each puts into the catalogue, or removes from
 * it, and changes nothing in memory but the commit. */

/* What a transaction contains. */
struct commit {
    struct store *store;
    bool has_batches;   /* those that are pending, and what depends on them */
    bool is_more;       /* left to be removed */
    struct ids streams; /* that it removes */
    uint64_t bytes;
};

/* ---- commit_put.c ------------------------------------------------------------------------------------ */

/* The pending batches. */
bool commit_put_batches(struct commit *commit, struct error *err);

/* What is staged; without batches only what does not depend on them. */
bool commit_put_stage(struct commit *commit, struct error *err);

/* Does the entry say how far something is that is in the pending batches? */
bool commit_put_is_bound(const struct stage_entry *entry);

/* ---- commit_remove.c --------------------------------------------------------------------------------- */

/* Batches that no output wants any more. */
bool commit_remove_settled(struct commit *commit, struct error *err);

/* Streams of earlier runs that nothing refers to any more, of which some are looked at each time. */
bool commit_remove_streams(struct commit *commit, struct error *err);

#endif
