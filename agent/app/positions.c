#include "app/positions.h"

#include <stdlib.h>

#include "app/data_folder.h"
#include "app/positions_state.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_thread.h"

/*
 * Design: changes are made to a struct state under a mutex; a save renders it to text under that
 * mutex and writes the text outside of it, so that acks never wait for a disk. `changes` counts
 * what the disk has to learn.
 *
 * The order of a save: `state.new` is made, written, forced to the disk, renamed to `state`, and
 * the folder is forced to the disk. Until the rename the old state stands, from then on the new
 * one. A left-over `state.new` is never read.
 */
struct positions {
    char *folder; /* NULL: there is none */
    struct plat_lock *lock;
    struct positions_hooks hooks;
    struct error notice; /* ERR_NONE: nothing to tell */

    struct plat_mutex mutex; /* for what follows */
    struct state state;
    uint64_t changes;
    uint64_t saved_changes;

    struct buf text; /* of the save that runs */
};

/* ---- the folder ---------------------------------------------------------------------------------- */

static bool path_in(const struct positions *p, const char *name, char path[DATA_FOLDER_PATH_BYTES],
    struct error *err)
{
    return data_folder_path(p->folder, name, path, err);
}

static bool set_aside(struct positions *p, const char *path, const char *why, struct error *err)
{
    char aside[DATA_FOLDER_PATH_BYTES];
    if (!data_folder_set_aside(path, aside, err)) {
        return false;
    }
    error_set(&p->notice, ERR_FORMAT,
        "%s was damaged (%s) and is kept as %s. all sources start again, so events may be "
        "delivered "
        "twice",
        path, why, aside);
    return true;
}

static bool load(struct positions *p, struct error *err)
{
    char path[DATA_FOLDER_PATH_BYTES];
    char *text;
    size_t size;
    struct error why;
    if (!path_in(p, "state", path, err)) {
        return false;
    }
    if (plat_path_kind(path) == PLAT_PATH_NONE) {
        return true;
    }
    if (plat_file_load(path, POSITIONS_MAX_FILE_BYTES, &text, &size, &why)) {
        bool good = state_read(span_make(text, size), &p->state, &why);
        free(text);
        if (good) {
            return true;
        }
    }
    if (why.code == ERR_FORMAT || why.code == ERR_LIMIT) {
        return set_aside(p, path, why.text, err);
    }
    if (why.code == ERR_UNSUPPORTED) {
        return error_set(err, ERR_UNSUPPORTED,
            "%s: %s. use that version, or move the file away to start again", path, why.text);
    }
    return error_set(err, why.code, "%s: %s", path, why.text);
}

struct positions *positions_create(struct error *err)
{
    struct positions *p = calloc(1, sizeof(*p));
    if (!p) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    plat_mutex_init(&p->mutex);
    buf_init(&p->text, POSITIONS_MAX_FILE_BYTES);
    return p;
}

static struct positions *open_folder(
    const char *data_dir, const struct positions_hooks *hooks, bool is_held, struct error *err)
{
    struct positions *p = positions_create(err);
    size_t size = strlen(data_dir) + 1;
    char *folder = malloc(size);
    if (!p || !folder) {
        error_set(err, ERR_MEMORY, "out of memory");
        free(folder);
        positions_close(p);
        return NULL;
    }
    memcpy(folder, data_dir, size);
    p->folder = folder;
    if (hooks) {
        p->hooks = *hooks;
    }
    p->lock = is_held ? NULL : data_folder_take(folder, err);
    if ((is_held || p->lock) && load(p, err)) {
        return p;
    }
    positions_close(p);
    return NULL;
}

struct positions *positions_open(
    const char *data_dir, const struct positions_hooks *hooks, struct error *err)
{
    return open_folder(data_dir, hooks, false, err);
}

struct positions *positions_open_held(const char *data_dir, struct error *err)
{
    return open_folder(data_dir, NULL, true, err);
}

void positions_close(struct positions *p)
{
    if (p) {
        state_fini(&p->state);
        buf_fini(&p->text);
        plat_mutex_fini(&p->mutex);
        plat_lock_drop(p->lock);
        free(p->folder);
        free(p);
    }
}

const char *positions_notice(const struct positions *p)
{
    return p->notice.code == ERR_NONE ? NULL : p->notice.text;
}

/* ---- reading --------------------------------------------------------------------------------------- */

bool positions_find(const struct positions *p, const char *session, const char *output,
    struct position *ret_position)
{
    const struct state_session *s = state_find_session(&p->state, span_text(session));
    const struct state_blob *o = state_find_output(&p->state, span_text(output));
    const struct state_at *at = s && o ? state_find_at(s, (size_t)(o - p->state.outputs)) : NULL;
    if (at) {
        *ret_position = at->position;
    }
    return at != NULL;
}

struct span positions_checkpoint(const struct positions *p, const char *output)
{
    const struct state_blob *o = state_find_output(&p->state, span_text(output));
    return o ? buf_span(&o->bytes) : span_make(NULL, 0);
}

struct span positions_source(const struct positions *p, const char *session)
{
    const struct state_session *s = state_find_session(&p->state, span_text(session));
    return s ? buf_span(&s->source.bytes) : span_make(NULL, 0);
}

bool positions_dones(const struct positions *p, const char *session,
    bool (*each)(void *self, const uint8_t file_id[16], uint64_t sequence), void *self)
{
    const struct state_session *s = state_find_session(&p->state, span_text(session));
    bool more = true;
    for (size_t i = 0; s && more && i < s->done_count; i++) {
        more = each(self, s->done[i].file_id, s->done[i].sequence);
    }
    return more;
}

/* ---- changes --------------------------------------------------------------------------------------- */

/* ${done}: the change was made. */
static bool end_change(struct positions *p, bool done, struct error *err)
{
    p->changes += done;
    plat_mutex_unlock(&p->mutex);
    return done || error_set(err, ERR_MEMORY,
                       "what is delivered cannot be noted: out of memory, or more than %d bytes",
                       (int)POSITIONS_MAX_BLOB_BYTES);
}

bool positions_ack(struct positions *p, const char *session, const char *output,
    const struct position *position, struct span checkpoint, struct error *err)
{
    plat_mutex_lock(&p->mutex);
    struct state_session *s = state_session(&p->state, span_text(session));
    struct state_blob *o = state_output(&p->state, span_text(output));
    struct state_at *at = s && o ? state_at(s, (size_t)(o - p->state.outputs)) : NULL;
    bool done = at && state_set_blob(o, checkpoint);
    if (done) {
        at->position = *position;
    }
    return end_change(p, done, err);
}

bool positions_put_source(
    struct positions *p, const char *session, struct span state, struct error *err)
{
    plat_mutex_lock(&p->mutex);
    struct state_session *s = state_session(&p->state, span_text(session));
    return end_change(p, s && state_set_blob(&s->source, state), err);
}

bool positions_reach(struct positions *p, const char *session, const char *output,
    const struct position *position, struct error *err)
{
    plat_mutex_lock(&p->mutex);
    struct state_session *s = state_session(&p->state, span_text(session));
    struct state_blob *o = state_output(&p->state, span_text(output));
    struct state_at *at = s && o ? state_at(s, (size_t)(o - p->state.outputs)) : NULL;
    if (at) {
        at->position = *position;
    }
    return end_change(p, at != NULL, err);
}

bool positions_forget_checkpoint(struct positions *p, const char *output, struct error *err)
{
    if (positions_checkpoint(p, output).size == 0) {
        return true;
    }
    plat_mutex_lock(&p->mutex);
    struct state_blob *o = state_output(&p->state, span_text(output));
    return end_change(p, o && state_set_blob(o, span_make(NULL, 0)), err);
}

bool positions_finish(struct positions *p, const char *session, const uint8_t file_id[16],
    uint64_t sequence, struct error *err)
{
    struct state_done done = {.sequence = sequence};
    memcpy(done.file_id, file_id, sizeof(done.file_id));
    plat_mutex_lock(&p->mutex);
    struct state_session *s = state_session(&p->state, span_text(session));
    return end_change(p, s && (state_find_done(s, file_id) || state_add_done(s, &done)), err);
}

bool positions_is_done(
    struct positions *p, const char *session, const uint8_t file_id[16], uint64_t *ret_sequence)
{
    plat_mutex_lock(&p->mutex);
    const struct state_session *s = state_find_session(&p->state, span_text(session));
    const struct state_done *done = s ? state_find_done(s, file_id) : NULL;
    if (done) {
        *ret_sequence = done->sequence;
    }
    plat_mutex_unlock(&p->mutex);
    return done != NULL;
}

/* Take the input's state. */
static bool take_source(struct state_session *s, struct error *err)
{
    struct buf bytes;
    buf_init(&bytes, POSITIONS_MAX_BLOB_BYTES);
    bool good = s->watch(s->watch_self, &bytes, err) &&
                (state_set_blob(&s->source, buf_span(&bytes)) ||
                    error_set(err, ERR_MEMORY, "out of memory"));
    buf_fini(&bytes);
    return good;
}

bool positions_watch_source(struct positions *p, const char *session, positions_state_fn *state,
    void *self, struct error *err)
{
    plat_mutex_lock(&p->mutex);
    struct state_session *s = state_session(&p->state, span_text(session));
    bool good = s != NULL;
    if (!s) {
        error_set(err, ERR_MEMORY, "out of memory");
    } else {
        if (s->watch) {
            good = take_source(s, err);
            p->changes++;
        }
        s->watch = state;
        s->watch_self = self;
    }
    plat_mutex_unlock(&p->mutex);
    return good;
}

/* ---- saving ---------------------------------------------------------------------------------------- */

static bool step(struct positions *p, enum positions_step step, struct error *err)
{
    return !p->hooks.step || p->hooks.step(p->hooks.self, step) ||
           error_set(err, ERR_STOPPED, "stopped between two steps");
}

static bool write_text(
    struct positions *p, struct plat_file *file, struct span text, struct error *err)
{
    return step(p, POSITIONS_STEP_WRITE, err) && plat_file_write(file, text, err) &&
           step(p, POSITIONS_STEP_SYNC, err) && plat_file_sync(file, err);
}

static bool replace_state(struct positions *p, struct span text, struct error *err)
{
    char path[DATA_FOLDER_PATH_BYTES];
    char made[DATA_FOLDER_PATH_BYTES];
    if (!path_in(p, "state", path, err) || !path_in(p, "state.new", made, err) ||
        !step(p, POSITIONS_STEP_CREATE, err)) {
        return false;
    }
    /* What a run before left under that name, or somebody else put there, is not written into. */
    struct plat_file *file = plat_path_remove(made, err)
                                 ? plat_file_open(made, PLAT_FILE_CREATE_NEW, err)
                                 : NULL;
    if (!file) {
        return false;
    }
    bool good = write_text(p, file, text, err);
    plat_file_close(file);
    return good && step(p, POSITIONS_STEP_RENAME, err) && plat_path_rename(made, path, err) &&
           step(p, POSITIONS_STEP_SYNC_FOLDER, err) && plat_path_sync_folder(p->folder, err) &&
           step(p, POSITIONS_STEP_DONE, err);
}

/* The state of this moment as text. */
static bool render(struct positions *p, struct error *err)
{
    bool good = true;
    for (size_t i = 0; good && i < p->state.session_count; i++) {
        struct state_session *s = &p->state.sessions[i];
        good = !s->watch || take_source(s, err);
    }
    buf_reset(&p->text);
    if (good) {
        state_write(&p->state, &p->text);
    }
    return good;
}

bool positions_save(struct positions *p, struct error *err)
{
    if (!p->folder) {
        return true;
    }
    plat_mutex_lock(&p->mutex);
    uint64_t changes = p->changes;
    bool changed = changes != p->saved_changes;
    bool good = !changed || render(p, err);
    plat_mutex_unlock(&p->mutex);
    if (!changed || !good) {
        return good;
    }
    if (p->text.failed) {
        return error_set(err, ERR_LIMIT, "%s: the state has no room in memory or in %d bytes",
            p->folder, (int)POSITIONS_MAX_FILE_BYTES);
    }
    if (!replace_state(p, buf_span(&p->text), err)) {
        return false;
    }
    p->saved_changes = changes;
    return true;
}
