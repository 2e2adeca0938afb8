#ifndef ETWSHIP_APP_POSITIONS_STATE_H
#define ETWSHIP_APP_POSITIONS_STATE_H

#include "app/positions.h"
#include "base/map.h"

/*
 * The content of the state file, and its text. No files and no locks here.
 *
 * The text, one fact a line, tokens parted by one space, bytes in lower-case hex:
 *
 *   etwship-state 1
 *   output NAME CHECKPOINT            every output; CHECKPOINT is `-` or hex
 *   session NAME SOURCE               then what concerns it; SOURCE is `-` or hex
 *   done FILE-ID SEQUENCE
 *   at OUTPUT SEQUENCE FILE-ID BUFFER-OFFSET RECORD-OFFSET
 *   end CHECKSUM                      XXH3-64 of everything before this line
 *
 * In names, all bytes but letters, digits, `.`, `_` and `-` are written as %XX. Nothing may follow.
 */
struct state_blob {
    char *name; /* of the output or session */
    struct buf bytes;
};

struct state_at {
    size_t output; /* index in state.outputs */
    struct position position;
};

struct state_done {
    uint8_t file_id[16];
    uint64_t sequence; /* of the session, at its end */
};

struct state_session {
    struct state_blob source;
    positions_state_fn *watch; /* where `source` comes from; NULL: nowhere any more */
    void *watch_self;
    struct state_at *at;
    size_t at_count;
    size_t at_capacity;
    struct state_done *done; /* in the order in which they were finished */
    size_t done_count;
    size_t done_capacity;
    struct map done_by_id; /* file_id -> its entry in `done` */
};

struct state {
    struct state_blob *outputs;
    size_t output_count;
    size_t output_capacity;
    struct state_session *sessions;
    size_t session_count;
    size_t session_capacity;
};

/* Zero-initialised is empty. */
void state_fini(struct state *state);

/* The entry, or NULL. */
const struct state_session *state_find_session(const struct state *state, struct span name);
const struct state_blob *state_find_output(const struct state *state, struct span name);
struct state_at *state_find_at(const struct state_session *session, size_t output);
const struct state_done *state_find_done(
    const struct state_session *session, const uint8_t file_id[16]);

/* The entry, made if missing; NULL without memory. Valid until the next one of its kind is made. */
struct state_session *state_session(struct state *state, struct span name);
struct state_blob *state_output(struct state *state, struct span name);
struct state_at *state_at(struct state_session *session, size_t output);

/* Add a file that is not among them; of POSITIONS_MAX_DONE the oldest are forgotten. False without
 * memory. */
bool state_add_done(struct state_session *session, const struct state_done *done);

/* Copy ${bytes} into ${blob}; false, and unchanged, without memory or above
 * POSITIONS_MAX_BLOB_BYTES. */
bool state_set_blob(struct state_blob *blob, struct span bytes);

/* Append the text to ${out}, which fails at its maximum. */
void state_write(const struct state *state, struct buf *out);

/* Read a text. False with the reason: ERR_FORMAT damaged, ERR_UNSUPPORTED another version,
 * ERR_MEMORY; then ${ret_state} is untouched, else to be freed with state_fini. */
bool state_read(struct span text, struct state *ret_state, struct error *err);

#endif
