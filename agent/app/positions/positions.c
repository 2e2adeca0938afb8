#include <stdlib.h>

#include "app/positions/positions_own.h"
#include "base/grow.h"
#include "store/catalogue/catalogue_progress.h"
#include "store/catalogue/catalogue_sources.h"

/*
 * If batches wait in memory, the pipeline has the position of each output, and this file writes it
 * to the store. A store that keeps batches has these positions itself; then only positions of
 * sources are written.
 *
 * A save takes the state of every output (its positions and the matching checkpoint), of live
 * sessions and files, and then of the inputs, so that the stored state of an input is at least as
 * new as the acks of outputs. All of it is one commit. The store's mutex is held from one to the
 * other, so saves do not overtake each other; no delivery waits for it, except of an output that
 * requested the save itself.
 *
 * A file is done when it was read completely and every output of its session has acked its last
 * event.
 */

static size_t row(const struct positions *p)
{
    return p->plan->session_count + 1;
}

/* Does the output count how far it is with the session? */
static bool counts(const struct positions *p, size_t session, size_t output)
{
    return p->plan->sessions[session].replayable && agent_plan_takes(p->plan, session, output);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void find_position(struct positions *p, size_t output, struct span name, uint64_t sequence)
{
    size_t s = agent_plan_find_session(p->plan, name);
    if (s == p->plan->session_count || !counts(p, s, output)) {
        catalogue_progress_add(&p->outputs[output].others, name, sequence);
        return;
    }
    p->restarted = true;
    p->resume[s * p->plan->output_count + output] = sequence;
    p->stored[output * row(p) + s] = sequence;
    if (sequence) {
        log_write(p->log, LOG_LEVEL_INFO, NULL,
            "output %s continues after event %llu of session %s%s%s",
            agent_plan_output_name(p->plan, output), (unsigned long long)sequence,
            agent_plan_session_name(p->plan, s), p->data_dir ? ", according to the state in " : "",
            p->data_dir ? p->data_dir : "");
    }
}

static bool find_progress(void *self, const struct catalogue_progress *progress)
{
    struct positions *p = self;
    struct span rest = progress->sessions;
    struct span name;
    uint64_t sequence;
    size_t o = agent_plan_find_output(p->plan, progress->output);
    if (o < p->plan->output_count) {
        buf_add_span(&p->outputs[o].checkpoint, progress->checkpoint);
        while (catalogue_progress_next(&rest, &name, &sequence)) {
            find_position(p, o, name, sequence);
        }
    }
    return true;
}

/* Outputs without sessions that are read again store no checkpoints: with an old one, the next run
 * would remove what this run delivers. */
static bool clear_checkpoints(struct positions *p, struct error *err)
{
    bool ok = true;
    for (size_t o = 0; ok && o < p->plan->output_count; o++) {
        struct positions_output *progress = &p->outputs[o];
        size_t s = 0;
        while (s < p->plan->session_count && !counts(p, s, o)) {
            s++;
        }
        if (s == p->plan->session_count && progress->checkpoint.size) {
            buf_reset(&progress->checkpoint);
            const struct store_progress none = {
                .name = span_text(agent_plan_output_name(p->plan, o)),
                .sessions = buf_span(&progress->others)};
            ok = store_progress(p->store, &none, err);
        }
    }
    return ok;
}

static bool find_outputs(struct positions *p, struct error *err)
{
    struct store *store = p->store;
    struct store_committed committed;
    size_t count = p->plan->output_count;
    p->outputs = calloc(count + 1, sizeof(*p->outputs));
    if (!p->outputs) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t o = 0; o < count; o++) {
        buf_init(&p->outputs[o].others, STORE_VALUE_MAX);
        buf_init(&p->outputs[o].checkpoint, STORE_VALUE_MAX);
    }
    /* Read what the handover has staged back from the catalogue. */
    struct catalogue *catalogue = store_commit(store, &committed, err) ? store_catalogue(store, err)
                                                                       : NULL;
    if (!catalogue || !catalogue_progresses(catalogue, find_progress, p, err)) {
        return false;
    }
    store_tidy(store); /* files of earlier runs that are not needed any more */
    for (size_t o = 0; o < count; o++) {
        if (p->outputs[o].others.failed || p->outputs[o].checkpoint.failed) {
            return error_set(err, ERR_MEMORY, "out of memory");
        }
    }
    return clear_checkpoints(p, err);
}

static bool open_parts(struct positions *p, struct error *err)
{
    const struct agent_plan *plan = p->plan;
    size_t cells = row(p) * (plan->output_count + 1);
    p->inputs = calloc(plan->session_count + 1, sizeof(*p->inputs));
    p->resume = calloc(cells, sizeof(*p->resume));
    p->stored = calloc(cells, sizeof(*p->stored));
    p->stored_changes = calloc(plan->output_count + 1, sizeof(*p->stored_changes));
    if (!p->inputs || !p->resume || !p->stored || !p->stored_changes) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    return positions_store_open(p, err) && (p->keeps || find_outputs(p, err)) &&
           positions_live_open(p, err);
}

struct positions *positions_open(const struct positions_settings *settings, struct error *err)
{
    struct positions *p = calloc(1, sizeof(*p));
    if (!p) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    p->config = settings->config;
    p->plan = settings->plan;
    p->log = settings->log;
    p->memory = settings->memory;
    p->data_dir = app_config_data_dir(p->config);
    p->is_durable = p->config->spool.mode == APP_SPOOL_DURABLE;
    plat_mutex_init(&p->mutex);
    plat_mutex_init(&p->reader_mutex);
    if (!open_parts(p, err)) {
        positions_close(p);
        return NULL;
    }
    return p;
}

void positions_close(struct positions *p)
{
    if (!p) {
        return;
    }
    positions_store_close(p);
    for (size_t o = 0; p->outputs && o < p->plan->output_count; o++) {
        buf_fini(&p->outputs[o].others);
        buf_fini(&p->outputs[o].checkpoint);
    }
    plat_mutex_fini(&p->reader_mutex);
    plat_mutex_fini(&p->mutex);
    free(p->outputs);
    free(p->inputs);
    free(p->live);
    free(p->resume);
    free(p->stored);
    free(p->stored_changes);
    free(p->files);
    free(p);
}

void positions_restore(struct positions *p, size_t session, void *input)
{
    const struct input_ops *ops = p->plan->session_configs[session]->ops;
    p->inputs[session] = input;
    if (ops->restore) {
        ops->restore(input, buf_span(&p->states[session]));
    }
}

void positions_set(struct positions *p, struct pipeline_settings *settings)
{
    settings->resume = p->resume;
    settings->restarted = p->restarted;
    settings->store = positions_store_settings(p);
    if (!p->data_dir) {
        settings->save = NULL;
    }
    for (size_t o = 0; o < p->plan->output_count; o++) {
        p->plan->outputs[o].checkpoint = buf_span(
            p->keeps ? &p->handover.checkpoints[o] : &p->outputs[o].checkpoint);
    }
}

bool positions_begin(struct positions *p, struct pipeline *pipeline, struct error *err)
{
    p->pipeline = pipeline;
    return !p->keeps || handover_done(p->plan, p->log, p->store, &p->handover, err);
}

/* ---- what others ask ------------------------------------------------------------------------- */

enum positions_rest positions_rest(const struct positions *p)
{
    return p->keeps        ? POSITIONS_REST_WAITS
           : p->is_durable ? POSITIONS_REST_REPLAYS
                           : POSITIONS_REST_LOST;
}

uint64_t positions_last_time(const struct positions *p, size_t session)
{
    return p->last_times[session];
}

bool positions_failed(const struct positions *p)
{
    return atomic_load(&p->fails);
}

uint64_t positions_letters_lost(const struct positions *p)
{
    return p->data_dir ? store_letters_lost(p->store) : 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The connection of all sources, or the store itself. */
static bool find_done(struct positions *p, struct span session, const uint8_t file_id[16],
    uint64_t *ret_last_sequence, bool *ret_found, struct error *err)
{
    bool ok;
    if (p->keeps) {
        struct catalogue *reader = positions_store_take_reader(p, err);
        ok = reader &&
             catalogue_find_done(reader, session, file_id, ret_last_sequence, ret_found, err);
        plat_mutex_unlock(&p->reader_mutex);
    } else {
        plat_mutex_lock(&p->mutex);
        struct catalogue *catalogue = store_catalogue(p->store, err);
        ok = catalogue &&
             catalogue_find_done(catalogue, session, file_id, ret_last_sequence, ret_found, err);
        plat_mutex_unlock(&p->mutex);
    }
    return ok;
}

bool positions_is_done(
    struct positions *p, uint32_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence)
{
    const struct span name = span_text(agent_plan_session_name(p->plan, session));
    struct error err;
    bool found = false;
    bool ok = find_done(p, name, file_id, ret_last_sequence, &found, &err);
    if (!ok) {
        log_write_as(p->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, "spool done",
            "spool: cannot determine whether a file was read before: %s", err.text);
    }
    return ok && found;
}

void positions_file_end(
    struct positions *p, uint32_t session, const uint8_t file_id[16], uint64_t last_sequence)
{
    plat_mutex_lock(&p->mutex);
    /* Without memory the next run delivers the file again, and no output takes it. */
    if (grow_list(&p->files, p->file_count, &p->file_capacity, sizeof(*p->files))) {
        struct positions_file *file = &p->files[p->file_count++];
        *file = (struct positions_file){.session = session, .last_sequence = last_sequence};
        memcpy(file->id, file_id, sizeof(file->id));
    }
    plat_mutex_unlock(&p->mutex);
}

/* Have all outputs that take the file's session acked all of it, or is it in a spool that keeps? */
static bool is_settled(const struct positions *p, const struct positions_file *file)
{
    uint64_t acked = UINT64_MAX; /* no output takes the session */
    positions_live_acked(p, file->session, &acked);
    return acked >= file->last_sequence;
}

bool positions_finish_files(struct positions *p, struct error *err)
{
    for (size_t i = 0; i < p->file_count;) {
        struct positions_file *file = &p->files[i];
        if (!is_settled(p, file)) {
            i++;
            continue;
        }
        const struct input_ops *ops = p->plan->session_configs[file->session]->ops;
        if (!store_done(p->store, span_text(agent_plan_session_name(p->plan, file->session)),
                file->id, file->last_sequence, err)) {
            return false;
        }
        if (ops->settle_file) {
            ops->settle_file(p->inputs[file->session], file->id);
        }
        *file = p->files[--p->file_count];
    }
    return true;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* Stage how far ${output} is: its sequences, by session, and the checkpoint that belongs to
 * them. */
static bool stage_progress(struct positions *p, size_t output, const uint64_t *sequences,
    struct span checkpoint, struct error *err)
{
    struct buf sessions;
    buf_init(&sessions, STORE_VALUE_MAX);
    buf_add_span(&sessions, buf_span(&p->outputs[output].others));
    for (size_t s = 0; s < p->plan->session_count; s++) {
        if (counts(p, s, output)) {
            catalogue_progress_add(
                &sessions, span_text(agent_plan_session_name(p->plan, s)), sequences[s]);
        }
    }
    const struct store_progress progress = {
        .name = span_text(agent_plan_output_name(p->plan, output)),
        .sessions = buf_span(&sessions),
        .checkpoint = &checkpoint};
    bool ok = (!sessions.failed || error_set(err, ERR_MEMORY, "out of memory")) &&
              store_progress(p->store, &progress, err);
    buf_fini(&sessions);
    return ok;
}

static bool take_output(struct positions *p, size_t output, struct error *err)
{
    uint64_t *sequences = p->stored + output * row(p);
    bool any = false;
    struct buf checkpoint;
    buf_init(&checkpoint, OUTPUT_CHECKPOINT_MAX_BYTES);
    uint64_t change = outlet_progress(
        pipeline_outlet(p->pipeline, output), p->stored_changes[output], sequences, &checkpoint);
    for (size_t s = 0; s < p->plan->session_count; s++) {
        any = any || counts(p, s, output);
    }
    bool is_news = any && change != p->stored_changes[output];
    bool ok = (!checkpoint.failed || error_set(err, ERR_MEMORY, "out of memory")) &&
              (!is_news || stage_progress(p, output, sequences, buf_span(&checkpoint), err));
    if (ok) {
        p->stored_changes[output] = change;
    }
    buf_fini(&checkpoint);
    return ok;
}

static bool stage_all(struct positions *p, struct error *err)
{
    bool ok = true;
    for (size_t o = 0; ok && o < p->plan->output_count; o++) {
        ok = take_output(p, o, err);
    }
    return ok && positions_live_save(p, err) && positions_finish_files(p, err) &&
           positions_store_stage_states(p, err);
}

bool positions_save(struct positions *p, struct error *err)
{
    struct store_committed committed;
    if (p->keeps) { /* the spool's thread saves */
        return true;
    }
    plat_mutex_lock(&p->mutex);
    bool ok = stage_all(p, err) && store_commit(p->store, &committed, err);
    plat_mutex_unlock(&p->mutex);
    return ok;
}

void positions_save_or_warn(struct positions *p)
{
    struct error err;
    bool stored = positions_save(p, &err);
    atomic_store(&p->fails, !stored);
    if (!stored) {
        log_write_as(p->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, "positions",
            "positions are not stored: %s; events may be delivered twice after a crash", err.text);
    }
}

void positions_end(struct positions *p)
{
    atomic_store(&p->is_over, true);
    positions_save_or_warn(p);
}
