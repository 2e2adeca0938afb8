#ifndef ETWSHIP_STORE_COMMIT_OWN_H
#define ETWSHIP_STORE_COMMIT_OWN_H

#include "store/chains.h"
#include "store/pending.h"

struct stage;
struct stage_entry;
struct streams;

/* Shared by store_commit.c, commit_put.c and commit_remove.c: the parts of a transaction. Each puts
 * into the catalogue, or removes from it, and changes nothing in memory that counts before the
 * transaction was committed. */
struct commit {
    struct catalogue *catalogue;
    struct streams *streams;
    const struct chains *chains;
    const struct pending *pending;
    const struct stage *stage;
    uint64_t last_id; /* of the batches that were committed before */
    bool has_batches; /* those that are pending, and what depends on them */
    bool is_due;      /* something may not be needed any more (unneeded.h) … */
    bool is_more;     /* … and more of that is left for the next one */
    uint64_t bytes;   /* of its batches */
};

/* ---- commit_put.c ---------------------------------------------------------------------------- */

/* The pending batches. */
bool commit_put_batches(struct commit *commit, struct error *err);

/* What is staged; without batches only what does not depend on them. */
bool commit_put_stage(struct commit *commit, struct error *err);

/* Does the entry say how far something is that is in the pending batches? */
bool commit_put_is_bound(const struct stage_entry *entry);

/* ---- commit_remove.c ------------------------------------------------------------------------- */

/* Batches that no output wants any more. */
bool commit_remove_settled(struct commit *commit, struct error *err);

/* Streams of earlier runs that nothing refers to any more, of which some are looked at each
 * time. */
bool commit_remove_streams(struct commit *commit, struct error *err);

#endif
