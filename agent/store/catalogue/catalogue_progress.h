#ifndef ETWSHIP_STORE_CATALOGUE_PROGRESS_H
#define ETWSHIP_STORE_CATALOGUE_PROGRESS_H

#include "base/buf.h"
#include "store/catalogue/catalogue.h"

/*
 * How far outputs are with sessions that can be read again, in runs that keep no batches: one row
 * for each output. A row is replaced as a whole, so the positions and the checkpoint that belongs
 * to them are always of one moment.
 */
struct catalogue_progress {
    struct span output;     /* its name; at most CATALOGUE_NAME_MAX_BYTES */
    struct span sessions;   /* what catalogue_progress_add wrote; CATALOGUE_BLOB_MAX_BYTES */
    struct span checkpoint; /* opaque; the same; empty: none */
};

/* Add or replace the row of the output. Without sessions and without a checkpoint: remove it. In a
 * transaction. */
bool catalogue_put_progress(
    struct catalogue *catalogue, const struct catalogue_progress *progress, struct error *err);

/* All rows, by output, until ${each} returns false. It must not use the catalogue. */
bool catalogue_progresses(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_progress *progress), void *self,
    struct error *err);

/* Append to ${sessions}: the output has settled ${session} up to ${sequence}. A buffer that is
 * full, or a name beyond CATALOGUE_NAME_MAX_BYTES, sets `failed`. */
void catalogue_progress_add(struct buf *sessions, struct span session, uint64_t sequence);

/* Take the first session off ${sessions}. False: there is none, or the rest is damaged. */
bool catalogue_progress_next(
    struct span *sessions, struct span *ret_session, uint64_t *ret_sequence);

#endif
