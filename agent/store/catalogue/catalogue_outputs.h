#ifndef ETWSHIP_STORE_CATALOGUE_OUTPUTS_H
#define ETWSHIP_STORE_CATALOGUE_OUTPUTS_H

#include "base/buf.h"
#include "store/catalogue/catalogue.h"

/* How far outputs have come. Put and remove inside a transaction (catalogue.h). */

struct catalogue_output {
    uint64_t id;
    struct span name;       /* unique; at most CATALOGUE_NAME_MAX_BYTES */
    uint64_t position;      /* it is done with all batches up to this id */
    struct span early;      /* opaque: which later ones it is done with; CATALOGUE_BLOB_MAX_BYTES */
    struct span checkpoint; /* opaque, belongs to exactly this position; the same */
    uint64_t seen;          /* FILETIME, when it was configured last */
};

/* Add or replace it. Leftovers of batches up to `position` are removed (catalogue_put_leftover). */
bool catalogue_put_output(
    struct catalogue *catalogue, const struct catalogue_output *output, struct error *err);

/* As catalogue_put_output, without its checkpoint, which stays as it is. */
bool catalogue_move_output(
    struct catalogue *catalogue, const struct catalogue_output *output, struct error *err);

/* All, by id, until ${each} returns false. It must not use the catalogue. */
bool catalogue_outputs(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_output *output), void *self, struct error *err);

/* Append the output's checkpoint to ${checkpoint}; nothing if there is none. */
bool catalogue_find_checkpoint(
    struct catalogue *catalogue, uint64_t output, struct buf *checkpoint, struct error *err);

/* Forget it with its ranges and leftovers. One that is not there is fine. */
bool catalogue_remove_output(struct catalogue *catalogue, uint64_t id, struct error *err);

/* ---- ranges: what an output reads, one after the other --------------------------------------- */

struct catalogue_range {
    uint64_t output;
    uint64_t ordinal; /* its place in the output's chain; ascending, from 1 on */
    uint64_t stream;
    struct span about; /* opaque; at most CATALOGUE_TEXT_MAX_BYTES */
    uint64_t after;    /* batches with ids above this */
    uint64_t last;     /* and up to this; UINT64_MAX: no end yet */
};

/* Add it, or change all of it. */
bool catalogue_put_range(
    struct catalogue *catalogue, const struct catalogue_range *range, struct error *err);

/* All, by output and ordinal, until ${each} returns false. It must not use the catalogue. */
bool catalogue_ranges(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_range *range), void *self, struct error *err);

/* Remove the output's ranges up to ${ordinal}. */
bool catalogue_remove_ranges(
    struct catalogue *catalogue, uint64_t output, uint64_t ordinal, struct error *err);

/* ---- leftovers: what of a batch an output has still to take ---------------------------------- */

struct catalogue_leftover {
    uint64_t output;
    uint64_t batch;
    struct span left; /* opaque; at most CATALOGUE_BLOB_MAX_BYTES */
};

/* Set it; an empty one removes it. */
bool catalogue_put_leftover(
    struct catalogue *catalogue, const struct catalogue_leftover *leftover, struct error *err);

/* All, by output and batch, until ${each} returns false. It must not use the catalogue. */
bool catalogue_leftovers(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_leftover *leftover), void *self,
    struct error *err);

/* Append the leftover to ${left}; nothing if there is none. */
bool catalogue_find_leftover(struct catalogue *catalogue, uint64_t output, uint64_t batch,
    struct buf *left, struct error *err);

#endif
