#include <stdlib.h>

#include "app/run/agent_spool_own.h"
#include "pipeline/batch/grow.h"
#include "store/catalogue/catalogue_progress.h"

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

static size_t row(const struct agent *agent)
{
    return agent->plan->session_count + 1;
}

static bool takes(const struct agent *agent, size_t session, size_t output)
{
    return agent->plan->takes[session * agent->plan->output_count + output];
}

/* Does the output count how far it is with the session? */
static bool counts(const struct agent *agent, size_t session, size_t output)
{
    return agent->plan->sessions[session].replayable && takes(agent, session, output);
}

static const char *session_name(const struct agent *agent, size_t session)
{
    return agent->plan->session_configs[session]->name;
}

static const char *output_name(const struct agent *agent, size_t output)
{
    return agent->plan->output_configs[output]->name;
}

/* ---- start ------------------------------------------------------------------------------------ */

static void find_position(struct agent *agent, size_t output, struct span name, uint64_t sequence)
{
    size_t s = agent_plan_find_session(agent->plan, name);
    if (s == agent->plan->session_count || !counts(agent, s, output)) {
        catalogue_progress_add(&agent->progress[output].others, name, sequence);
        return;
    }
    agent->restarted = true;
    agent->resume[s * agent->plan->output_count + output] = sequence;
    agent->stored[output * row(agent) + s] = sequence;
    if (sequence) {
        log_write(agent->log, LOG_LEVEL_INFO, NULL,
            "output %s continues after event %llu of session %s%s%s", output_name(agent, output),
            (unsigned long long)sequence, session_name(agent, s),
            agent->data_dir ? ", according to the state in " : "",
            agent->data_dir ? agent->data_dir : "");
    }
}

static bool find_progress(void *self, const struct catalogue_progress *progress)
{
    struct agent *agent = self;
    struct span rest = progress->sessions;
    struct span name;
    uint64_t sequence;
    size_t o = agent_plan_find_output(agent->plan, progress->output);
    if (o < agent->plan->output_count) {
        buf_add_span(&agent->progress[o].checkpoint, progress->checkpoint);
        while (catalogue_progress_next(&rest, &name, &sequence)) {
            find_position(agent, o, name, sequence);
        }
    }
    return true;
}

/* Outputs without sessions that are read again store no checkpoints: with an old one, the next run
 * would remove what this run delivers. */
static bool clear_checkpoints(struct agent *agent, struct error *err)
{
    bool ok = true;
    for (size_t o = 0; ok && o < agent->plan->output_count; o++) {
        struct agent_progress *progress = &agent->progress[o];
        size_t s = 0;
        while (s < agent->plan->session_count && !counts(agent, s, o)) {
            s++;
        }
        if (s == agent->plan->session_count && progress->checkpoint.size) {
            buf_reset(&progress->checkpoint);
            const struct store_progress none = {
                .name = span_text(output_name(agent, o)), .sessions = buf_span(&progress->others)};
            ok = store_progress(agent->spool->store, &none, err);
        }
    }
    return ok;
}

static bool open_progress(struct agent *agent, struct error *err)
{
    struct store *store = agent->spool->store;
    struct store_committed committed;
    size_t count = agent->plan->output_count;
    agent->progress = calloc(count + 1, sizeof(*agent->progress));
    if (!agent->progress) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t o = 0; o < count; o++) {
        buf_init(&agent->progress[o].others, STORE_VALUE_MAX);
        buf_init(&agent->progress[o].checkpoint, STORE_VALUE_MAX);
    }
    /* Read what the handover has staged back from the catalogue. */
    if (!store_commit(store, &committed, err) ||
        !store_each_progress(store, find_progress, agent, err)) {
        return false;
    }
    store_tidy(store); /* files of earlier runs that are not needed any more */
    for (size_t o = 0; o < count; o++) {
        if (agent->progress[o].others.failed || agent->progress[o].checkpoint.failed) {
            return error_set(err, ERR_MEMORY, "out of memory");
        }
    }
    return clear_checkpoints(agent, err);
}

bool agent_store_open(struct agent *agent, struct error *err)
{
    const struct agent_plan *plan = agent->plan;
    size_t cells = row(agent) * (plan->output_count + 1);
    agent->resume = calloc(cells, sizeof(*agent->resume));
    agent->stored = calloc(cells, sizeof(*agent->stored));
    agent->stored_changes = calloc(plan->output_count + 1, sizeof(*agent->stored_changes));
    if (!agent->resume || !agent->stored || !agent->stored_changes) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    return agent_spool_open(agent, err) && (agent->keeps || open_progress(agent, err)) &&
           agent_live_open(agent, err);
}

struct span agent_store_checkpoint(const struct agent *agent, size_t output)
{
    return agent->keeps ? agent_spool_checkpoint(agent, output)
                        : buf_span(&agent->progress[output].checkpoint);
}

/* ---- files ------------------------------------------------------------------------------------ */

void agent_store_file_end(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t last_sequence)
{
    struct agent *agent = self;
    plat_mutex_lock(&agent->store_mutex);
    struct agent_file *files = grow_list(
        agent->files, agent->file_count, &agent->file_capacity, sizeof(*files));
    if (files) { /* else the next run delivers the file again, and no output takes it */
        agent->files = files;
        struct agent_file *file = &files[agent->file_count++];
        *file = (struct agent_file){.session = session, .last_sequence = last_sequence};
        memcpy(file->id, file_id, sizeof(file->id));
    }
    plat_mutex_unlock(&agent->store_mutex);
}

/* Have all outputs that take the file's session acked all of it, or is it in a spool that keeps? */
static bool is_settled(const struct agent *agent, const struct agent_file *file)
{
    uint64_t acked = UINT64_MAX; /* no output takes the session */
    agent_live_acked(agent, file->session, &acked);
    return acked >= file->last_sequence;
}

bool agent_store_finish_files(struct agent *agent, struct error *err)
{
    for (size_t i = 0; i < agent->file_count;) {
        struct agent_file *file = &agent->files[i];
        if (!is_settled(agent, file)) {
            i++;
            continue;
        }
        const struct agent_session *session = &agent->sessions[file->session];
        const struct input_ops *ops = agent->plan->session_configs[file->session]->ops;
        if (!store_done(agent->spool->store, span_text(session_name(agent, file->session)),
                file->id, file->last_sequence, err)) {
            return false;
        }
        if (ops->settle_file) {
            ops->settle_file(session->input, file->id);
        }
        *file = agent->files[--agent->file_count];
    }
    return true;
}

/* ---- saving ------------------------------------------------------------------------------------ */

/* Stage how far ${output} is: its sequences, by session, and the checkpoint that belongs to them. */
static bool stage_progress(struct agent *agent, size_t output, const uint64_t *sequences,
    struct span checkpoint, struct error *err)
{
    struct buf sessions;
    buf_init(&sessions, STORE_VALUE_MAX);
    buf_add_span(&sessions, buf_span(&agent->progress[output].others));
    for (size_t s = 0; s < agent->plan->session_count; s++) {
        if (counts(agent, s, output)) {
            catalogue_progress_add(&sessions, span_text(session_name(agent, s)), sequences[s]);
        }
    }
    const struct store_progress progress = {.name = span_text(output_name(agent, output)),
        .sessions = buf_span(&sessions),
        .checkpoint = &checkpoint};
    bool ok = (!sessions.failed || error_set(err, ERR_MEMORY, "out of memory")) &&
              store_progress(agent->spool->store, &progress, err);
    buf_fini(&sessions);
    return ok;
}

static bool take_output(struct agent *agent, size_t output, struct error *err)
{
    uint64_t *sequences = agent->stored + output * row(agent);
    bool any = false;
    struct buf checkpoint;
    buf_init(&checkpoint, OUTPUT_CHECKPOINT_MAX_BYTES);
    uint64_t change = outlet_progress(pipeline_outlet(agent->pipeline, output),
        agent->stored_changes[output], sequences, &checkpoint);
    for (size_t s = 0; s < agent->plan->session_count; s++) {
        any = any || counts(agent, s, output);
    }
    bool is_news = any && change != agent->stored_changes[output];
    bool ok = (!checkpoint.failed || error_set(err, ERR_MEMORY, "out of memory")) &&
              (!is_news || stage_progress(agent, output, sequences, buf_span(&checkpoint), err));
    if (ok) {
        agent->stored_changes[output] = change;
    }
    buf_fini(&checkpoint);
    return ok;
}

static bool stage_all(struct agent *agent, struct error *err)
{
    bool ok = true;
    for (size_t o = 0; ok && o < agent->plan->output_count; o++) {
        ok = take_output(agent, o, err);
    }
    ok = ok && agent_live_save(agent, err) && agent_store_finish_files(agent, err);
    for (size_t s = 0; ok && s < agent->plan->session_count; s++) {
        ok = agent_spool_stage_state(agent, agent->spool->store, s, err);
    }
    return ok;
}

bool agent_store_save(struct agent *agent, struct error *err)
{
    struct store_committed committed;
    if (agent->keeps || !agent->spool) {
        return true;
    }
    if (!agent->pipeline) {
        return error_set(err, ERR_STOPPED, "the agent has not started");
    }
    plat_mutex_lock(&agent->store_mutex);
    bool ok = stage_all(agent, err) && store_commit(agent->spool->store, &committed, err);
    plat_mutex_unlock(&agent->store_mutex);
    return ok;
}

void agent_store_close(struct agent *agent)
{
    agent_spool_close(agent);
    agent_live_close(agent);
    for (size_t o = 0; agent->progress && o < agent->plan->output_count; o++) {
        buf_fini(&agent->progress[o].others);
        buf_fini(&agent->progress[o].checkpoint);
    }
    free(agent->progress);
    free(agent->resume);
    free(agent->stored);
    free(agent->stored_changes);
    free(agent->files);
}
