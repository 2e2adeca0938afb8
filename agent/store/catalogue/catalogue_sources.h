#ifndef ETWSHIP_STORE_CATALOGUE_SOURCES_H
#define ETWSHIP_STORE_CATALOGUE_SOURCES_H

#include "base/buf.h"
#include "store/catalogue/catalogue.h"

/* Positions and losses of sources. A session is identified by its name, of at most
 * CATALOGUE_NAME_MAX_BYTES. Put and remove inside a transaction (catalogue.h). */

enum { CATALOGUE_DONE_MAX = 100000 }; /* files of a session; the oldest are removed */

/* ---- positions ------------------------------------------------------------------------------- */

struct catalogue_source {
    struct span session;
    uint64_t stream;
    uint64_t sequence; /* everything of the session up to this number is in the stream's batches */
};

bool catalogue_put_source(
    struct catalogue *catalogue, const struct catalogue_source *source, struct error *err);

/* ${ret_found} false: nothing is known, and ${ret_sequence} untouched. */
bool catalogue_find_source(struct catalogue *catalogue, struct span session, uint64_t stream,
    uint64_t *ret_sequence, bool *ret_found, struct error *err);

/* All, by session and stream, until ${each} returns false. It must not use the catalogue. */
bool catalogue_sources(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_source *source), void *self, struct error *err);

/* ---- sessions -------------------------------------------------------------------------------- */

/* The state of its input, opaque, at most CATALOGUE_BLOB_MAX_BYTES; and the time (FILETIME) up to
 * which a live session has been taken. */
bool catalogue_put_state(
    struct catalogue *catalogue, struct span session, struct span state, struct error *err);
bool catalogue_put_live(
    struct catalogue *catalogue, struct span session, uint64_t live, struct error *err);

/* Append its state to ${state}, if there is any; ${ret_live} is 0 if nothing is known. */
bool catalogue_find_state(
    struct catalogue *catalogue, struct span session, struct buf *state, struct error *err);
bool catalogue_find_live(
    struct catalogue *catalogue, struct span session, uint64_t *ret_live, struct error *err);

/* ---- files that were taken whole ------------------------------------------------------------- */

struct catalogue_done {
    struct span session;
    uint8_t file_id[16];
    uint64_t sequence; /* of the session, at the file's end */
};

bool catalogue_put_done(
    struct catalogue *catalogue, const struct catalogue_done *done, struct error *err);

/* ${ret_found} false: it was not taken, and ${ret_sequence} untouched. */
bool catalogue_find_done(struct catalogue *catalogue, struct span session,
    const uint8_t file_id[16], uint64_t *ret_sequence, bool *ret_found, struct error *err);

/* All, by session and age, until ${each} returns false. It must not use the catalogue. */
bool catalogue_dones(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_done *done), void *self, struct error *err);

/* ---- gaps that were not reported yet --------------------------------------------------------- */

struct catalogue_gap {
    struct span session; /* empty: none */
    struct span output;  /* the same */
    struct span stage;   /* these three as users see them */
    struct span reason;
    struct span unit;
    uint64_t count;
    bool exact;
    uint64_t from; /* FILETIME; 0: unknown */
    uint64_t to;
};

/* Set the gap of this session, output, stage, reason and unit. */
bool catalogue_put_gap(
    struct catalogue *catalogue, const struct catalogue_gap *gap, struct error *err);

/* Forget it: it is in a batch of this transaction. One that is not there is fine. */
bool catalogue_remove_gap(
    struct catalogue *catalogue, const struct catalogue_gap *gap, struct error *err);

/* All, until ${each} returns false. It must not use the catalogue. */
bool catalogue_gaps(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_gap *gap), void *self, struct error *err);

#endif
