#include <stdlib.h>

#include "app/agent_import.h"
#include "app/agent_spool.h"
#include "pipeline/grow.h"

/*
 * Between the pipeline, which knows how far each output is, and positions.h, which keeps it. A spool that
 * keeps knows that by itself, and remembers sources and not outputs: agent_spool.c.
 *
 * A save takes the state of every output (its positions and the checkpoint that belongs to them) and
 * writes it. The store's mutex is held from one to the other, so saves do not overtake each other;
 * nothing that delivers events ever waits for it but an output that asked for the save itself.
 *
 * A file is done when it was given whole and every output that takes its session has acked up to its
 * last event.
 */

static size_t row(const struct agent *agent)
{
    return agent->plan->session_count + 1;
}

static bool takes(const struct agent *agent, size_t session, size_t output)
{
    return agent->plan->takes[session * agent->plan->output_count + output];
}

static const char *session_name(const struct agent *agent, size_t session)
{
    return agent->plan->session_configs[session]->name;
}

/* ---- start ------------------------------------------------------------------------------------ */

static void find_positions(struct agent *agent)
{
    const struct agent_plan *plan = agent->plan;
    for (size_t o = 0; o < plan->output_count; o++) {
        for (size_t s = 0; s < plan->session_count; s++) {
            struct position position;
            if (!plan->sessions[s].replayable || !takes(agent, s, o) ||
                !positions_find(agent->positions, session_name(agent, s),
                    plan->output_configs[o]->name, &position)) {
                continue;
            }
            agent->restarted = true;
            agent->resume[s * plan->output_count + o] = position.sequence;
            agent->stored[o * row(agent) + s] = position.sequence;
            if (position.sequence) {
                log_write(agent->log, LOG_LEVEL_INFO, NULL,
                    "output %s goes on behind event %llu of session %s%s%s",
                    plan->output_configs[o]->name, (unsigned long long)position.sequence,
                    session_name(agent, s), agent->data_dir ? ", as the state says in " : "",
                    agent->data_dir ? agent->data_dir : "");
            }
        }
    }
}

/* Outputs that take nothing that is read again store no checkpoints: one of an earlier run would have the
 * next one take back what this one delivers. */
static bool forget_checkpoints(struct agent *agent, struct error *err)
{
    const struct agent_plan *plan = agent->plan;
    bool ok = true;
    for (size_t o = 0; ok && o < plan->output_count; o++) {
        size_t s = 0;
        while (s < plan->session_count && !(plan->sessions[s].replayable && takes(agent, s, o))) {
            s++;
        }
        ok = s < plan->session_count ||
             positions_forget_checkpoint(agent->positions, plan->output_configs[o]->name, err);
    }
    return ok;
}

/* They stay open from one agent to the next: what the one knew last, the other knows, on the disk or not. */
static bool open_positions(struct agent *agent, struct error *err)
{
    struct agent_process *process = agent->process;
    if (!process->positions) {
        process->positions = agent->data_dir ? positions_open_held(agent->data_dir, err)
                                             : positions_create(err);
        if (process->positions && positions_notice(process->positions)) {
            log_write_as(agent->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, NULL, "%s",
                positions_notice(process->positions));
        }
    }
    agent->positions = process->positions;
    return agent->positions != NULL;
}

/* The spool on the disk takes over what they say (agent_import.h). */
static void close_positions(struct agent_process *process)
{
    positions_close(process->positions);
    process->positions = NULL;
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
    if (agent->config->spool.mode == APP_SPOOL_DURABLE) {
        close_positions(agent->process);
        return agent_spool_open(agent, err) && agent_live_open(agent, err);
    }
    if (!agent->data_dir && !agent->settings->source) { /* nobody comes after this agent */
        return agent_import_from_spool(agent, err);
    }
    bool are_open = agent->process->positions != NULL;
    if (!open_positions(agent, err) || !forget_checkpoints(agent, err) ||
        (!are_open && !agent_import_from_spool(agent, err))) {
        return false;
    }
    find_positions(agent);
    return agent_live_open(agent, err);
}

bool agent_store_keeps(const struct agent *agent)
{
    return agent->positions || agent->spool;
}

struct span agent_store_checkpoint(const struct agent *agent, size_t output)
{
    const char *name = agent->plan->output_configs[output]->name;
    return agent->spool       ? agent_spool_checkpoint(agent, name)
           : agent->positions ? positions_checkpoint(agent->positions, name)
                              : span_make(NULL, 0);
}

static bool input_state(void *self, struct buf *out, struct error *err)
{
    struct agent_session *session = self;
    const struct input_ops *ops = session->agent->plan->session_configs[session->index]->ops;
    return ops->state(session->input, out, err);
}

bool agent_store_restore(struct agent *agent, struct error *err)
{
    if (agent->spool) {
        agent_spool_restore(agent);
    }
    for (size_t i = 0; agent->positions && i < agent->plan->session_count; i++) {
        const struct input_ops *ops = agent->plan->session_configs[i]->ops;
        const char *name = session_name(agent, i);
        if (ops->restore) {
            ops->restore(agent->sessions[i].input, positions_source(agent->positions, name));
        }
        if (ops->state && !positions_watch_source(
                              agent->positions, name, input_state, &agent->sessions[i], err)) {
            return false;
        }
    }
    return true;
}

void agent_store_unwatch(struct agent *agent)
{
    for (size_t i = 0; agent->positions && i < agent->plan->session_count; i++) {
        if (agent->plan->session_configs[i]->ops->state) {
            positions_watch_source(agent->positions, session_name(agent, i), NULL, NULL, NULL);
        }
    }
}

/* ---- files ------------------------------------------------------------------------------------ */

void agent_store_file_end(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t last_sequence)
{
    struct agent *agent = self;
    plat_mutex_lock(&agent->store_mutex);
    struct agent_file *files = grow_list(
        agent->files, agent->file_count, &agent->file_capacity, sizeof(*files));
    if (files) { /* else the file is given again by the next run, and nobody takes it */
        agent->files = files;
        struct agent_file *file = &files[agent->file_count++];
        *file = (struct agent_file){.session = session, .last_sequence = last_sequence};
        memcpy(file->id, file_id, sizeof(file->id));
    }
    plat_mutex_unlock(&agent->store_mutex);
}

bool agent_store_is_done(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence)
{
    struct agent *agent = self;
    if (agent->spool) {
        return agent_spool_is_done(agent, session, file_id, ret_last_sequence);
    }
    return positions_is_done(
        agent->positions, session_name(agent, session), file_id, ret_last_sequence);
}

static bool everybody_has(const struct agent *agent, const struct agent_file *file)
{
    for (size_t o = 0; o < agent->plan->output_count; o++) {
        if (takes(agent, file->session, o) &&
            agent->stored[o * row(agent) + file->session] < file->last_sequence) {
            return false;
        }
    }
    return true;
}

static bool finish_files(struct agent *agent, struct error *err)
{
    for (size_t i = 0; i < agent->file_count;) {
        struct agent_file *file = &agent->files[i];
        if (!everybody_has(agent, file)) {
            i++;
            continue;
        }
        const struct agent_session *session = &agent->sessions[file->session];
        const struct input_ops *ops = agent->plan->session_configs[file->session]->ops;
        if (!positions_finish(agent->positions, session_name(agent, file->session), file->id,
                file->last_sequence, err)) {
            return false;
        }
        if (ops->forget) {
            ops->forget(session->input, file->id);
        }
        *file = agent->files[--agent->file_count];
    }
    return true;
}

/* ---- saving ------------------------------------------------------------------------------------ */

static bool take_output(struct agent *agent, size_t output, struct error *err)
{
    const struct agent_plan *plan = agent->plan;
    uint64_t *sequences = agent->stored + output * row(agent);
    struct buf checkpoint;
    buf_init(&checkpoint, OUTPUT_CHECKPOINT_MAX_BYTES);
    uint64_t change = outlet_state(pipeline_outlet(agent->pipeline, output),
        agent->stored_changes[output], sequences, &checkpoint);
    bool ok = !checkpoint.failed || error_set(err, ERR_MEMORY, "out of memory");
    for (size_t s = 0; ok && change != agent->stored_changes[output] && s < plan->session_count;
         s++) {
        if (plan->sessions[s].replayable && takes(agent, s, output)) {
            struct position position = {.sequence = sequences[s]};
            ok = positions_ack(agent->positions, session_name(agent, s),
                plan->output_configs[output]->name, &position, buf_span(&checkpoint), err);
        }
    }
    if (ok) {
        agent->stored_changes[output] = change;
    }
    buf_fini(&checkpoint);
    return ok;
}

bool agent_store_save(struct agent *agent, struct error *err)
{
    bool ok = true;
    if (!agent->positions) {
        return true;
    }
    if (!agent->pipeline) {
        return error_set(err, ERR_STOPPED, "the agent has not started");
    }
    plat_mutex_lock(&agent->store_mutex);
    for (size_t o = 0; ok && o < agent->plan->output_count; o++) {
        ok = take_output(agent, o, err);
    }
    ok = ok && agent_live_save(agent, err) && finish_files(agent, err) &&
         positions_save(agent->positions, err);
    plat_mutex_unlock(&agent->store_mutex);
    return ok;
}

void agent_store_close(struct agent *agent)
{
    agent_spool_close(agent);
    agent_live_close(agent);
    free(agent->resume);
    free(agent->stored);
    free(agent->stored_changes);
    free(agent->files);
}
