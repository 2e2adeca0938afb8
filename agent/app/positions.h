#ifndef ETWSHIP_APP_POSITIONS_H
#define ETWSHIP_APP_POSITIONS_H

#include "base/buf.h"
#include "event/record.h"

/*
 * How far every output has come with every session, kept over restarts in the file `state` of the
 * agent's data folder.
 *
 * How it is meant to be used: the pipeline tells each delivered batch (positions_ack) in memory,
 * one or more threads; one thread saves, once a second and at the end. At the start every source is
 * replayed in its own deterministic order and numbered as before; an output takes only what is
 * numbered above its position, and gets its checkpoint back, which belongs to exactly that
 * position. Files that all outputs have taken whole are named by identity and not read again.
 *
 * One save is one moment of all outputs and sessions: it is written to another file, forced to the
 * disk and renamed. After a crash between any two steps the state of the last or of the one before
 * is found, whole. What is acked must be as durable as it is meant to be before a save tells so.
 *
 * A folder serves one agent: the file `lock` is held while it is open.
 */
struct positions;

struct position {
    uint64_t
        sequence; /* of the session: everything up to it is acked; 0: nothing; live: FILETIME */
    struct record_position record; /* the last record acked */
};

enum {
    POSITIONS_MAX_FILE_BYTES = 64 * 1024 * 1024,
    POSITIONS_MAX_BLOB_BYTES = 1024 * 1024, /* a checkpoint, or a source's own state */
    POSITIONS_MAX_DONE = 100000,            /* files of a session; the oldest are forgotten */
};

/* For tests: called before each step of a save; false ends it there, as a crash would. */
enum positions_step {
    POSITIONS_STEP_CREATE,
    POSITIONS_STEP_WRITE,
    POSITIONS_STEP_SYNC,
    POSITIONS_STEP_RENAME,
    POSITIONS_STEP_SYNC_FOLDER,
    POSITIONS_STEP_DONE,
};

struct positions_hooks {
    bool (*step)(void *self, enum positions_step step);
    void *self;
};

/*
 * Make ${data_dir} if needed, hold it and read its state; ${hooks} is NULL but in tests. NULL if
 * another agent holds the folder (ERR_STOPPED, the text names its process), if a newer version wrote
 * the state, or if the folder cannot be used. A damaged state is set aside and told by
 * positions_notice; sources then start again, so events may be delivered twice, never lost.
 */
struct positions *positions_open(
    const char *data_dir, const struct positions_hooks *hooks, struct error *err);

/* The same where the caller holds the folder, to look at what a run with its spool in memory has left. */
struct positions *positions_open_held(const char *data_dir, struct error *err);

/* The same without a folder: what is saved is remembered as long as it is open. */
struct positions *positions_create(struct error *err);

/* Let go of the folder. Nothing is saved. NULL is fine. */
void positions_close(struct positions *positions);

/* What a person must know about the state that was found: one sentence for the log; NULL: nothing. */
const char *positions_notice(const struct positions *positions);

/* ---- reading, at the start: before the first change below ----------------------------------------- */

/* How far ${output} has come with ${session}; false, and untouched, if nothing is known. */
bool positions_find(const struct positions *positions, const char *session, const char *output,
    struct position *ret_position);

/* What the output's checkpoint() said with its last position; empty if nothing. Valid until the
 * first change. */
struct span positions_checkpoint(const struct positions *positions, const char *output);

/* What the session's input needs to replay as before (input_ops.restore); empty: nothing. */
struct span positions_source(const struct positions *positions, const char *session);

/* Call ${each} for every file that all outputs of ${session} have taken, the oldest first, until it
 * returns false, which this does then, too. */
bool positions_dones(const struct positions *positions, const char *session,
    bool (*each)(void *self, const uint8_t file_id[16], uint64_t sequence), void *self);

/* ---- changes, in memory; any thread ----------------------------------------------------------------- */

/* False only if there is no memory, or at a limit: then nothing has changed. */

/* ${output} has acked everything of ${session} up to ${position}, and with it all of its other
 * batches so far: ${checkpoint} (may be empty) is what a restart from here needs. */
bool positions_ack(struct positions *positions, const char *session, const char *output,
    const struct position *position, struct span checkpoint, struct error *err);

/* The same without a checkpoint, which stays: for live sessions, whose position is no number that
 * lasts but, in `sequence`, the FILETIME up to which ${output} has everything. */
bool positions_reach(struct positions *positions, const char *session, const char *output,
    const struct position *position, struct error *err);

/* ${output} goes on without storing checkpoints: what it had is old, and is forgotten. */
bool positions_forget_checkpoint(
    struct positions *positions, const char *output, struct error *err);

/* All outputs of ${session} have taken the whole file, which ended with event ${sequence}. */
bool positions_finish(struct positions *positions, const char *session, const uint8_t file_id[16],
    uint64_t sequence, struct error *err);

/* Have all outputs of ${session} taken the whole file of this identity? Then ${ret_sequence} is the
 * number of the last event up to its end; else untouched. Any time, any thread. */
bool positions_is_done(struct positions *positions, const char *session, const uint8_t file_id[16],
    uint64_t *ret_sequence);

/* What the session's input needs to replay as before, where nobody is watched yet. */
bool positions_put_source(
    struct positions *positions, const char *session, struct span state, struct error *err);

/*
 * Where the state of the session's input comes from (input_ops.state): ${state} is called inside
 * each positions_save that has something to write, when nothing more can be acked, so that what is
 * saved of the input is at least as new as what is acked of it. It must not call back. NULL before
 * ${self} goes: the state is taken a last time.
 */
typedef bool positions_state_fn(void *self, struct buf *out, struct error *err);
bool positions_watch_source(struct positions *positions, const char *session,
    positions_state_fn *state, void *self, struct error *err);

/* ---- saving; one thread at a time -------------------------------------------------------------------- */

/* Write what has changed; nothing if nothing has. On failure (a full disk) the state of before
 * stands and the next call tries again. */
bool positions_save(struct positions *positions, struct error *err);

#endif
