#include <stdio.h>
#include <stdlib.h>

#include "app/config/app_memory.h"
#include "app/config/app_rules.h"
#include "app/plan/app_budgets.h"
#include "app/plan/app_dead_letters.h"
#include "app/run/agent_own.h"
#include "app/run/agent_push.h"
#include "pipeline/assembly/budget.h"
#include "platform/plat_clock.h"

/*
 * The order of things. Making: data folder, positions, inputs, pipeline. Start: the pipeline's
 * threads, the sessions' threads, and the one that waits for their end. End: inputs end or are
 * stopped, the pipeline drains, positions are stored a last time, and everything is freed in the
 * reverse order.
 *
 * Threads: `drain` waits for the sessions, then for the drain, so that the thread of agent_run is
 * free for a reload; agent_sessions.c runs inputs; the process's control thread keeps time.
 */

/* ---- what the pipeline asks ------------------------------------------------------------------ */

/* Live events were written on this machine, whose manifests describe them; where they rank follows
 * from the order of `schema`. Files may be from anywhere: TDH only on request, and last. */
static enum schema_tdh use_of_tdh(const struct app_config *config, bool is_live)
{
    for (size_t i = 0; i < config->schema_count; i++) {
        if (config->schemas[i].type == APP_SCHEMA_TDH) {
            return is_live && i == 0 ? SCHEMA_TDH_FIRST : SCHEMA_TDH_LAST;
        }
    }
    return is_live ? SCHEMA_TDH_LAST : SCHEMA_TDH_OFF;
}

static struct schema_cache *make_cache(void *self, size_t session, size_t worker, struct error *err)
{
    const struct agent *agent = self;
    const struct app_agent *config = &agent->config->agent;
    const struct input_ops *ops = agent->plan->session_configs[session]->ops;
    size_t caches = agent->plan->session_count * (size_t)config->decode_workers;
    (void)worker;
    struct schema_cache_settings settings = {.shared = agent->setup->schemas,
        .max_bytes = budget_learned_bytes((size_t)config->memory_bytes, caches),
        .no_builtin = !agent->config->agent.builtin_layouts,
        .tdh = use_of_tdh(agent->config, ops->needs_etw || ops->needs_eventlog)};
    return schema_cache_create(&settings, err);
}

/* On threads of workers. The first is logged at once, further ones once a minute (log.h). */
static void warn_definitions(void *self, size_t session, const struct schema_losses *losses)
{
    struct agent *agent = self;
    const char *name = agent_plan_session_name(agent->plan, session);
    char kind[128];
    char text[SCHEMA_LOSSES_TEXT_BYTES];
    snprintf(kind, sizeof(kind), "definitions %s", name);
    schema_losses_describe(losses, text);
    log_write_as(agent->log, LOG_CAUSE_DEFINITIONS, LOG_LEVEL_WARNING, kind,
        "session %s: %s. what cannot be decoded is shipped with payload and payload_schema", name,
        text);
}

/* On threads of workers. Each provider is logged once, however many sessions and workers have its
 * records. */
static void note_silent(void *self, size_t session, struct span provider)
{
    enum { SHOWN_BYTES = 200 };
    struct agent *agent = self;
    plat_mutex_lock(&agent->silent_mutex);
    bool is_new = schema_log_silent_add(&agent->silent, provider);
    plat_mutex_unlock(&agent->silent_mutex);
    if (is_new) {
        log_write_as(agent->log, LOG_CAUSE_DEFINITIONS, LOG_LEVEL_INFO, NULL,
            "session %s: events of provider %.*s have no message: no definition has one. name the "
            "provider's program files under schema",
            agent_plan_session_name(agent->plan, session),
            SPAN_ARG(span_first(provider, SHOWN_BYTES)));
    }
}

static struct event_observer observe(void *self, size_t worker)
{
    return summary_observer(((struct agent *)self)->summaries[worker]);
}

static bool save(void *self, struct error *err)
{
    return positions_save(((struct agent *)self)->positions, err);
}

static bool is_done(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence)
{
    return positions_is_done(
        ((struct agent *)self)->positions, session, file_id, ret_last_sequence);
}

static void file_end(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t last_sequence)
{
    positions_file_end(((struct agent *)self)->positions, session, file_id, last_sequence);
}

static void warn_output(void *self, const char *output, const char *what, const char *text)
{
    struct log *log = ((struct agent *)self)->log;
    char kind[128];
    snprintf(kind, sizeof(kind), "%s %s", what, output ? output : "");
    if (output) {
        log_write_as(log, LOG_CAUSE_OUTPUT, LOG_LEVEL_WARNING, kind, "output %s: %s", output, text);
    } else {
        log_write_as(log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, kind, "spool: %s", text);
    }
}

/* Each worker of the output says the same. */
static void note_output(void *self, const char *output, const char *text)
{
    log_write(((struct agent *)self)->log, LOG_LEVEL_INFO, text, "output %s: %s", output, text);
}

static void output_ended(void *self, size_t output, bool closed)
{
    struct agent *agent = self;
    const char *name = agent_plan_output_name(agent->plan, output);
    log_write_as(agent->log, LOG_CAUSE_OUTPUT_ENDED, closed ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR,
        NULL,
        closed ? "output %s: its reader has closed it"
               : "output %s has ended: it accepts no more events",
        name);
    if (!agent_sessions_end_output(agent->sessions, output)) {
        agent_stop(agent);
    }
}

static void step(void *self, uint32_t session, const struct provider_change *change)
{
    const struct agent *agent = self;
    struct buf text;
    buf_init(&text, 1024);
    app_budgets_write_change(change, &text);
    log_write_as(agent->log, LOG_CAUSE_BUDGET,
        change->to > change->from ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, NULL, "session %s: %.*s",
        agent_plan_session_name(agent->plan, session), SPAN_ARG(buf_span(&text)));
    buf_fini(&text);
}

static void damage(
    void *self, uint32_t session, const struct trace_info *trace, uint64_t offset, const char *what)
{
    agent_sessions_damage(((struct agent *)self)->sessions, session, trace, offset, what);
}

/* ---- start ----------------------------------------------------------------------------------- */

static bool make_identity(struct agent *agent, struct error *err)
{
    const struct app_agent *config = &agent->config->agent;
    if (!agent_identity_init(
            &agent->identity, agent->data_dir, &config->labels, &config->tags, err)) {
        return false;
    }
    agent_identity_keep(&agent->identity, agent->common->ephemeral_id);
    event_tail_render(&agent->identity.agent, &agent->tail);
    return !agent->tail.failed || error_set(err, ERR_MEMORY, "out of memory");
}

static bool make_summaries(struct agent *agent, struct error *err)
{
    size_t count = (size_t)agent->config->agent.decode_workers;
    agent->summaries = calloc(count, sizeof(struct summary *));
    for (size_t i = 0; agent->summaries && i < count; i++) {
        agent->summaries[i] = summary_create();
        if (!agent->summaries[i]) {
            return error_set(err, ERR_MEMORY, "out of memory");
        }
    }
    return agent->summaries || error_set(err, ERR_MEMORY, "out of memory");
}

static void warn_of_memory(const struct agent *agent)
{
    struct error why;
    if (!app_memory_check(agent->config, &why)) {
        log_write_as(agent->log, LOG_CAUSE_MEMORY, LOG_LEVEL_WARNING, NULL, "%s", why.text);
    }
}

void agent_tell_evicted(const struct agent *agent, uint64_t total)
{
    log_write_as(agent->log, LOG_CAUSE_DEAD_LETTERS, LOG_LEVEL_WARNING, NULL,
        "dead letters: there is no room for more, so the oldest are removed: %llu events are lost "
        "so far. etwship deadletter list shows those that are left. correct what the destination "
        "refuses",
        (unsigned long long)total);
}

/* Told with the first one, and whenever they are ten times as many; in the end all of them. */
static void on_evicted(void *self, const struct eviction *eviction)
{
    struct agent *agent = self;
    uint64_t before = atomic_fetch_add(&agent->letters_evicted, eviction->count);
    uint64_t total = before + eviction->count;
    uint64_t step = 1;
    while (step <= before && step <= UINT64_MAX / 10) {
        step *= 10;
    }
    if (total >= step) {
        agent_tell_evicted(agent, total);
    }
    losses_add_stranger(pipeline_losses(agent->pipeline), eviction->output, OUTPUT_LETTER_EVICTED,
        eviction->count, eviction->times);
}

static bool open_dead_letters(struct agent *agent, struct error *err)
{
    if (!agent->data_dir) {
        return true;
    }
    agent->dead_letters = app_dead_letters_open(agent->config, on_evicted, agent, err);
    return agent->dead_letters != NULL;
}

static bool make_pipeline(struct agent *agent, struct error *err)
{
    struct agent_plan *plan = agent->plan;
    const struct app_agent *config = &agent->config->agent;
    agent->tables = calloc(plan->session_count + 1, sizeof(struct process_table *));
    if (!agent->tables) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (!agent_process_tables_plan(&agent->common->process_tables, plan,
            (size_t)config->memory_bytes, agent->tables, err)) {
        return false;
    }
    struct pipeline_settings settings = {.sessions = plan->sessions,
        .session_count = plan->session_count,
        .streams = plan->streams,
        .stream_count = plan->stream_count,
        .outputs = plan->outputs,
        .output_count = plan->output_count,
        .left = &agent->common->losses,
        .dead_letters = agent->dead_letters,
        .output_folder = *agent->output_folder ? agent->output_folder : NULL,
        .worker_count = (size_t)config->decode_workers,
        .memory_bytes = (size_t)config->memory_bytes,
        .process_tables = agent_process_tables_count(plan),
        .definition_bytes = schema_shared_bytes(agent->setup->schemas),
        .rolls_up = app_rules_roll_up(agent->config),
        .limiter_tables = app_rules_bucket_tables(agent->config),
        .tail = buf_span(&agent->tail),
        .agent = &agent->identity.agent,
        .make_cache = make_cache,
        .definitions = warn_definitions,
        .silent = note_silent,
        .taps = agent->common->taps,
        .observe = observe,
        .observed = agent->observed,
        .hooks = {.step = step,
            .damage = damage,
            .file_end = file_end,
            .is_done = is_done,
            .self = agent},
        .save = save,
        .ended = output_ended,
        .warn = warn_output,
        .note = note_output,
        .self = agent};
    positions_set(agent->positions, &settings);
    warn_of_memory(agent);
    agent->pipeline = pipeline_create(&settings, err);
    return agent->pipeline != NULL;
}

/* Only for sessions that are read again: the sequence of a live one starts again. */
static bool find_observed(struct agent *agent, struct error *err)
{
    const struct agent_plan *plan = agent->plan;
    agent->observed = calloc(plan->session_count + 1, sizeof(*agent->observed));
    for (size_t i = 0; agent->observed && i < plan->session_count; i++) {
        if (plan->sessions[i].replayable) {
            agent->observed[i] = agent_observed_find(
                &agent->common->observed, agent_plan_session_name(plan, i));
        }
    }
    return agent->observed || error_set(err, ERR_MEMORY, "out of memory");
}

static bool open_positions(struct agent *agent, struct error *err)
{
    const struct positions_settings settings = {.config = agent->config,
        .plan = agent->plan,
        .log = agent->log,
        .memory = &agent->common->store};
    agent->positions = positions_open(&settings, err);
    return agent->positions != NULL;
}

static bool make_sessions(struct agent *agent, struct error *err)
{
    const struct agent_sessions_settings settings = {.setup = agent->setup,
        .log = agent->log,
        .positions = agent->positions,
        .takeover = &agent->common->takeover,
        .once = agent->common->settings->once};
    agent->sessions = agent_sessions_create(&settings, err);
    return agent->sessions != NULL;
}

static bool make(struct agent *agent, struct error *err)
{
    return open_positions(agent, err) && make_identity(agent, err) && make_summaries(agent, err) &&
           make_sessions(agent, err) && open_dead_letters(agent, err) &&
           find_observed(agent, err) && make_pipeline(agent, err) &&
           positions_begin(agent->positions, agent->pipeline, err);
}

struct agent *agent_create(struct agent_runner *runner, struct agent_common *common,
    struct agent_setup *setup, struct error *err)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    if (!agent) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    agent->runner = runner;
    agent->common = common;
    agent->log = common->log;
    agent->setup = setup;
    agent->config = &setup->config;
    agent->plan = &setup->plan;
    agent->data_dir = app_config_data_dir(&setup->config);
    if (agent->data_dir &&
        !data_folder_path(agent->data_dir, DATA_FOLDER_OUTPUTS, agent->output_folder, NULL)) {
        *agent->output_folder = '\0'; /* too long: other parts of the agent say so */
    }
    uint64_t started_ns = plat_monotonic_ns();
    agent_life_init(&agent->life, agent->log, agent->config->agent.shutdown_ns);
    plat_mutex_init(&agent->silent_mutex);
    plat_mutex_init(&agent->drain_mutex);
    plat_cond_init(&agent->drain_changed);
    schema_log_silent_init(&agent->silent);
    buf_init(&agent->tail, 1024 * 1024);
    agent->control = make(agent, err) ? agent_control_create(agent, started_ns, err) : NULL;
    if (!agent->control) {
        agent_destroy(agent);
        return NULL;
    }
    return agent;
}

void agent_destroy(struct agent *agent)
{
    if (agent->pipeline) {
        agent_process_tables_warn(
            &agent->common->process_tables, agent->plan, agent->tables, agent->log);
    }
    pipeline_destroy(agent->pipeline);
    for (size_t i = 0; agent->tables && i < agent->plan->session_count; i++) {
        process_table_destroy(agent->tables[i]);
    }
    free(agent->tables);
    dead_letters_destroy(agent->dead_letters);
    agent_sessions_destroy(agent->sessions);
    positions_close(agent->positions);
    size_t workers = (size_t)agent->config->agent.decode_workers;
    for (size_t i = 0; agent->summaries && i < workers; i++) {
        summary_destroy(agent->summaries[i]);
    }
    free(agent->summaries);
    free(agent->observed);
    agent_control_destroy(agent->control);
    agent_identity_fini(&agent->identity);
    buf_fini(&agent->tail);
    schema_log_silent_fini(&agent->silent);
    agent_life_fini(&agent->life);
    plat_cond_fini(&agent->drain_changed);
    plat_mutex_fini(&agent->drain_mutex);
    plat_mutex_fini(&agent->silent_mutex);
    free(agent);
}

/* ---- running --------------------------------------------------------------------------------- */

static void set_drained(struct agent *agent, enum agent_drain drained)
{
    plat_mutex_lock(&agent->drain_mutex);
    agent->drained = drained;
    plat_cond_broadcast(&agent->drain_changed);
    plat_mutex_unlock(&agent->drain_mutex);
    agent_runner_wake(agent->runner);
}

static void drain_pipeline(struct agent *agent)
{
    bool whole = pipeline_drain(agent->pipeline);
    set_drained(agent, whole ? AGENT_DRAIN_DONE : AGENT_DRAIN_STUCK);
}

static void drain(void *self)
{
    struct agent *agent = self;
    agent_sessions_join(agent->sessions);
    set_drained(agent, AGENT_DRAIN_OUTPUTS);
    drain_pipeline(agent);
}

static bool start(struct agent *agent, struct error *err)
{
    agent_runner_show(agent->runner, agent);
    if (!pipeline_start(agent->pipeline, err)) {
        drain_pipeline(agent);
        agent_runner_show(agent->runner, NULL);
        return false;
    }
    bool ok = agent_sessions_start(agent->sessions, agent->pipeline, err);
    agent->drain = ok ? plat_thread_start("drain", drain, agent, err) : NULL;
    if (!agent->drain) {
        agent_stop(agent);
        drain(agent);
        agent_runner_show(agent->runner, NULL);
        return false;
    }
    agent_process_tables_look(&agent->common->process_tables);
    return true;
}

bool agent_start(struct agent *agent, bool *ret_stuck, struct error *err)
{
    bool ok = start(agent, err);
    *ret_stuck = !ok && agent->drained == AGENT_DRAIN_STUCK;
    if (!ok && !*ret_stuck) {
        agent_destroy(agent);
    }
    return ok;
}

const struct agent_setup *agent_setup_of(const struct agent *agent)
{
    return agent->setup;
}

bool agent_is_drained(struct agent *agent)
{
    plat_mutex_lock(&agent->drain_mutex);
    bool is_drained = agent->drained >= AGENT_DRAIN_DONE;
    plat_mutex_unlock(&agent->drain_mutex);
    return is_drained;
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* True if it did not stop before. */
static bool begin_stop(struct agent *agent, enum agent_state how)
{
    bool first = agent_life_change(&agent->life, how);
    agent_runner_wake(agent->runner);
    return first;
}

void agent_stop(struct agent *agent)
{
    if (begin_stop(agent, AGENT_STATE_STOPPING)) {
        log_write(agent->log, LOG_LEVEL_INFO, NULL,
            "stopping: sessions end, and outputs have agent.shutdown to deliver the rest");
        pipeline_retry_now(agent->pipeline);
        agent_sessions_stop(agent->sessions);
    }
}

void agent_make_way(struct agent *agent, const struct agent_setup *next)
{
    if (!begin_stop(agent, AGENT_STATE_MAKING_WAY)) {
        return;
    }
    agent_sessions_leave_running(agent->sessions, next);
    pipeline_expect_successor(agent->pipeline);
    if (positions_rest(agent->positions) != POSITIONS_REST_WAITS) {
        pipeline_retry_now(agent->pipeline);
    }
    agent_sessions_stop(agent->sessions);
    plat_mutex_lock(&agent->drain_mutex);
    while (agent->drained < AGENT_DRAIN_OUTPUTS) {
        plat_cond_wait(&agent->drain_changed, &agent->drain_mutex);
    }
    plat_mutex_unlock(&agent->drain_mutex);
    pipeline_hand_over(agent->pipeline);
}

/* Until the output returns, as what it uses cannot go before, or the process is to end with it. */
static void wait_for_stuck(struct agent *agent)
{
    enum { LOOK_MS = 100 };
    log_write_as(agent->log, LOG_CAUSE_OUTPUT, LOG_LEVEL_WARNING, NULL,
        "reload: an output does not return from a call. the agent reads nothing until it does");
    while (agent->drained == AGENT_DRAIN_STUCK && !agent_runner_is_stopping(agent->runner)) {
        plat_sleep_ms(LOOK_MS);
        drain_pipeline(agent);
    }
}

bool agent_finish(struct agent *agent)
{
    plat_thread_join(agent->drain);
    agent->drain = NULL;
    if (agent->drained == AGENT_DRAIN_STUCK && agent_life_has_successor(&agent->life)) {
        wait_for_stuck(agent);
    }
    agent_push_last(agent->common->push);
    agent_runner_show(agent->runner, NULL);
    agent_life_change(&agent->life, AGENT_STATE_ENDED);
    positions_end(agent->positions);
    return agent->drained == AGENT_DRAIN_DONE;
}

void agent_note_running(struct agent *agent)
{
    agent_sessions_note_running(agent->sessions, &agent->common->takeover);
}
