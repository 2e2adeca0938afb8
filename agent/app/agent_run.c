#include <stdio.h>
#include <stdlib.h>

#include "app/agent_spool.h"
#include "app/app_dead_letters.h"
#include "app/app_memory.h"
#include "app/app_trust.h"
#include "app/letters_import.h"
#include "platform/plat_system.h"

/*
 * The order of things. Start: signals, log, plan, positions, inputs, pipeline; then the pipeline's
 * threads, the control thread, the sessions' threads. End: inputs end or are stopped, the pipeline
 * drains, positions are stored a last time, and everything is freed in the reverse order.
 *
 * Threads: this one waits for the sessions and the drain; agent_control.c keeps time;
 * agent_session.c runs inputs; the platform's signal thread calls stop_current.
 */
/* For the signal thread, which lives longer than an agent. */
static struct {
    struct plat_mutex mutex;
    struct agent *agent;
    bool asked;  /* to stop, maybe before there was an agent */
    bool reopen; /* the same for log files */
    bool made;
} current;

void agent_run_stop(void)
{
    plat_mutex_lock(&current.mutex);
    current.asked = true;
    if (current.agent) {
        agent_stop(current.agent, true);
    }
    plat_mutex_unlock(&current.mutex);
}

static void stop_current(void *self)
{
    (void)self;
    agent_run_stop();
}

static void reopen_current(void *self)
{
    (void)self;
    plat_mutex_lock(&current.mutex);
    current.reopen = true;
    if (current.agent) {
        log_reopen(current.agent->log);
    }
    plat_mutex_unlock(&current.mutex);
}

static void set_current(struct agent *agent)
{
    if (!current.made) {
        plat_mutex_init(&current.mutex);
        current.made = true;
    }
    plat_mutex_lock(&current.mutex);
    current.agent = agent;
    if (agent && current.reopen) {
        log_reopen(agent->log);
    }
    if (agent && current.asked) {
        agent_stop(agent, true);
    }
    plat_mutex_unlock(&current.mutex);
}

/* ---- what the pipeline asks ------------------------------------------------------------------- */

static void warn_schema(void *self, const char *text)
{
    log_write(((struct agent *)self)->log, LOG_LEVEL_WARNING, NULL, "%s", text);
}

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
    (void)worker;
    struct schema_cache_settings settings = {.shared = agent->schema_shared,
        .tdh = use_of_tdh(
            agent->settings->config, agent->plan.session_configs[session]->ops->needs_etw)};
    return schema_cache_create(&settings, err);
}

static struct flow_consumer observe(void *self, size_t worker)
{
    return summary_consumer(((struct agent *)self)->summaries[worker]);
}

static bool save(void *self, struct error *err)
{
    return agent_store_save(self, err);
}

static void warn_output(void *self, const char *output, const char *what, const char *text)
{
    struct log *log = ((struct agent *)self)->log;
    char kind[128];
    snprintf(kind, sizeof(kind), "%s %s", what, output ? output : "");
    if (output) {
        log_write(log, LOG_LEVEL_WARNING, kind, "output %s: %s", output, text);
    } else {
        log_write(log, LOG_LEVEL_WARNING, kind, "spool: %s", text);
    }
}

static bool all_ended(const struct agent *agent, size_t session)
{
    const struct agent_plan *plan = &agent->plan;
    for (size_t o = 0; o < plan->output_count; o++) {
        if (plan->takes[session * plan->output_count + o] && !agent->ended[o]) {
            return false;
        }
    }
    return true;
}

/* An output has ended: sessions that none is left for need not go on. */
static void output_ended(void *self, size_t output, bool closed)
{
    struct agent *agent = self;
    const struct agent_plan *plan = &agent->plan;
    const char *name = plan->output_configs[output]->name;
    log_write(agent->log, closed ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, NULL,
        closed ? "output %s: its reader has gone" : "output %s has ended: it takes nothing more",
        name);
    bool any_left = false;
    plat_mutex_lock(&agent->mutex);
    agent->ended[output] = true;
    for (size_t i = 0; i < plan->output_count; i++) {
        any_left |= !agent->ended[i];
    }
    for (size_t s = 0; s < plan->session_count; s++) {
        if (all_ended(agent, s)) {
            plan->session_configs[s]->ops->stop(agent->sessions[s].input);
        }
    }
    plat_mutex_unlock(&agent->mutex);
    if (!any_left) {
        agent_stop(agent, false);
    }
}

/* ---- start ------------------------------------------------------------------------------------ */

static bool open_log(struct agent *agent, struct error *err)
{
    const struct app_log *config = &agent->settings->config->agent.log;
    const struct agent_keeper *keeper = agent->settings->keeper;
    bool is_auto = strcmp(config->file, "auto") == 0 || strcmp(config->file, "stderr") == 0;
    const char *path = is_auto ? (keeper ? keeper->log_path : NULL) : config->file;
    struct log_settings settings = {.level = (enum log_level)config->level,
        .format = (enum log_format)config->format,
        .path = path,
        .rotate_size = config->rotate.size_bytes,
        .rotate_keep = (unsigned)config->rotate.keep,
        .also = keeper ? keeper->hear : NULL,
        .also_self = keeper ? keeper->self : NULL};
    agent->logs_to_file = path != NULL;
    agent->log = log_create(&settings, err);
    return agent->log != NULL;
}

/* A service believes what lies there, and nobody would see a warning. */
static bool make_folder(struct agent *agent, struct error *err)
{
    return !agent->settings->keeper || !agent->data_dir ||
           app_trust_make_private(agent->data_dir, err);
}

static bool make_identity(struct agent *agent, struct error *err)
{
    const struct app_agent *config = &agent->settings->config->agent;
    if (!agent_identity_init(
            &agent->identity, agent->data_dir, &config->labels, &config->tags, err)) {
        return false;
    }
    event_tail_render(&agent->identity.agent, &agent->tail);
    return !agent->tail.failed || error_set(err, ERR_MEMORY, "out of memory");
}

static bool make_summaries(struct agent *agent, struct error *err)
{
    size_t count = (size_t)agent->settings->config->agent.decode_workers;
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
    if (!app_memory_check(agent->settings->config, &why)) {
        log_write(agent->log, LOG_LEVEL_WARNING, NULL, "%s", why.text);
    }
}

static bool read_schemas(struct agent *agent, struct error *err)
{
    const struct app_config *config = agent->settings->config;
    size_t count;
    const char **paths = app_config_schema_paths(config, &count);
    if (!paths) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    struct schema_source_settings settings = {.paths = paths,
        .path_count = count,
        .pack = agent->settings->schema_pack,
        .warn = warn_schema,
        .warn_self = agent};
    agent->schema_shared = schema_shared_create(&settings, err);
    free(paths);
    return agent->schema_shared != NULL;
}

static void warn_evicted(void *self, uint64_t count)
{
    log_write(((struct agent *)self)->log, LOG_LEVEL_WARNING, "dead letters",
        "dead letters: no room is left, the oldest %llu were removed. look at them with etwship "
        "deadletter list",
        (unsigned long long)count);
}

static bool open_dead_letters(struct agent *agent, struct error *err)
{
    const struct app_config *config = agent->settings->config;
    uint64_t taken = 0;
    if (!agent->data_dir) {
        return true;
    }
    if (agent->spool && !letters_import(agent->data_dir, &taken, err)) {
        log_write(agent->log, LOG_LEVEL_WARNING, NULL,
            "dead letters of earlier runs stay in %s/dead_letters, the next start tries again: %s",
            agent->data_dir, err->text);
    } else if (taken) {
        log_write(agent->log, LOG_LEVEL_INFO, NULL,
            "%llu dead letters of earlier runs with spool.mode: memory are in the spool now",
            (unsigned long long)taken);
    }
    agent->dead_letters = app_dead_letters_open(config, warn_evicted, agent, err);
    return agent->dead_letters != NULL;
}

static bool make_pipeline(struct agent *agent, struct error *err)
{
    struct agent_plan *plan = &agent->plan;
    const struct app_agent *config = &agent->settings->config->agent;
    for (size_t i = 0; i < plan->output_count; i++) {
        plan->outputs[i].checkpoint = agent_store_checkpoint(agent, i);
    }
    bool keeps = agent_store_keeps(agent);
    struct pipeline_settings settings = {.sessions = plan->sessions,
        .session_count = plan->session_count,
        .streams = plan->streams,
        .stream_count = plan->stream_count,
        .outputs = plan->outputs,
        .output_count = plan->output_count,
        .resume = agent->resume,
        .restarted = agent->restarted,
        .store = agent_spool_store(agent),
        .dead_letters = agent->dead_letters,
        .worker_count = (size_t)config->decode_workers,
        .memory_bytes = (size_t)config->memory_bytes,
        .tail = buf_span(&agent->tail),
        .agent = &agent->identity.agent,
        .make_cache = make_cache,
        .observe = observe,
        .step = agent_session_step,
        .damage = agent_session_damage,
        .file_end = keeps ? agent_store_file_end : NULL,
        .is_done = keeps ? agent_store_is_done : NULL,
        .save = keeps ? save : NULL,
        .ended = output_ended,
        .warn = warn_output,
        .self = agent};
    warn_of_memory(agent);
    agent->pipeline = pipeline_create(&settings, err);
    return agent->pipeline != NULL;
}

static bool make_agent(struct agent *agent, struct error *err)
{
    struct agent_plan_settings plan = {.config = agent->settings->config,
        .max_events = agent->settings->max_events,
        .colors = agent->settings->colors};
    plat_mutex_init(&agent->mutex);
    plat_mutex_init(&agent->store_mutex);
    plat_cond_init(&agent->changed);
    buf_init(&agent->tail, 1024 * 1024);
    agent->started_ns = plat_monotonic_ns();
    agent_notify_init(&agent->notify, agent->settings->config->agent.shutdown_ns);
    agent->data_dir = app_config_data_dir(agent->settings->config);
    agent->ended = calloc(agent->settings->config->output_count + 1, sizeof(*agent->ended));
    return (agent->ended || error_set(err, ERR_MEMORY, "out of memory")) && open_log(agent, err) &&
           make_folder(agent, err) && agent_plan_init(&agent->plan, &plan, err) &&
           agent_store_open(agent, err) && make_identity(agent, err) &&
           make_summaries(agent, err) && agent_status_init(&agent->status, &agent->plan, err) &&
           agent_sessions_create(agent, err) && agent_store_restore(agent, err) &&
           read_schemas(agent, err) && open_dead_letters(agent, err) && make_pipeline(agent, err) &&
           agent_spool_begin(agent, err);
}

static void free_agent(struct agent *agent)
{
    agent_store_unwatch(agent);
    pipeline_destroy(agent->pipeline);
    dead_letters_destroy(agent->dead_letters);
    schema_shared_destroy(agent->schema_shared);
    agent_sessions_destroy(agent);
    agent_store_close(agent);
    size_t workers = (size_t)agent->settings->config->agent.decode_workers;
    for (size_t i = 0; agent->summaries && i < workers; i++) {
        summary_destroy(agent->summaries[i]);
    }
    free(agent->summaries);
    agent_status_fini(&agent->status);
    agent_notify_fini(&agent->notify);
    agent_identity_fini(&agent->identity);
    buf_fini(&agent->tail);
    agent_plan_fini(&agent->plan);
    log_destroy(agent->log);
    free(agent->ended);
    plat_cond_fini(&agent->changed);
    plat_mutex_fini(&agent->store_mutex);
    plat_mutex_fini(&agent->mutex);
    free(agent);
}

/* ---- end -------------------------------------------------------------------------------------- */

static void count_sessions(struct agent *agent, struct agent_run_result *result)
{
    for (size_t i = 0; i < agent->plan.session_count; i++) {
        const struct session_counts *counts = &agent->status.sessions[i];
        result->raw += counts->decode.raw;
        result->partial += counts->decode.partial;
        result->undelivered += counts->dropped[SESSION_DROP_STOPPED];
        result->damaged += agent->sessions[i].damaged;
        result->failed_sessions += agent->sessions[i].end == INPUT_FAILED;
    }
}

static void count_outputs(struct agent *agent, struct agent_run_result *result)
{
    for (size_t i = 0; i < agent->plan.output_count; i++) {
        const struct output_counts *counts = &agent->status.outputs[i];
        summary_add_output(result->summary, agent->plan.output_configs[i]->name, counts->acked,
            counts->bytes, counts->dead_lettered);
        result->rejected += counts->dropped[OUTPUT_DROP_REJECTED] +
                            counts->dropped[OUTPUT_DROP_TOO_OLD] + counts->dead_lettered;
        bool closed = outlet_closed(pipeline_outlet(agent->pipeline, i));
        if (agent->spool && counts->pending && !closed) {
            log_write(agent->log, LOG_LEVEL_INFO, NULL,
                "output %s: %llu events wait in the spool for the next run",
                agent->plan.output_configs[i]->name, (unsigned long long)counts->pending);
        }
        if (!closed) {
            /* Pending are those of an output that is stuck, or that a spool keeps. */
            result->undelivered += agent->spool ? 0 : counts->pending;
            for (size_t k = OUTPUT_DROP_ENDED; k < OUTPUT_DROP_COUNT; k++) {
                result->undelivered += counts->dropped[k];
            }
        }
    }
}

static void conclude(struct agent *agent, struct agent_run_result *result)
{
    size_t workers = (size_t)agent->settings->config->agent.decode_workers;
    agent_status_look(&agent->status, agent->pipeline);
    result->summary = agent->summaries[0];
    agent->summaries[0] = NULL;
    for (size_t i = 1; i < workers; i++) {
        summary_merge(result->summary, agent->summaries[i]);
    }
    count_sessions(agent, result);
    count_outputs(agent, result);
    result->stopped = agent->signalled;
    if (agent->logs_to_file) { /* on the terminal, the summary says it */
        struct buf line;
        buf_init(&line, 64 * 1024);
        agent_status_line(&agent->status, &agent->plan, &line);
        log_write(agent->log, LOG_LEVEL_INFO, NULL, "ended: %.*s", SPAN_ARG(buf_span(&line)));
        buf_fini(&line);
    }
}

static bool start(struct agent *agent, struct error *err)
{
    set_current(agent);
    if (!pipeline_start(agent->pipeline, err)) {
        return false;
    }
    bool ok = agent_control_start(agent, err) && agent_sessions_start(agent, err);
    if (!ok) {
        agent_stop(agent, false);
        return false;
    }
    agent_control_ready(agent);
    if (agent->settings->keeper) {
        agent->settings->keeper->started(agent->settings->keeper->self);
    }
    return true;
}

/* Wait for the end of everything that start() began, wherever it failed. */
static bool finish(struct agent *agent)
{
    agent_sessions_join(agent);
    bool whole = pipeline_drain(agent->pipeline);
    if (agent->control) {
        agent_control_end(agent);
    }
    set_current(NULL);
    return whole;
}

bool agent_run(const struct agent_run_settings *settings, struct agent_run_result *ret_result,
    struct error *err)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    if (!agent) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    agent->settings = settings;
    set_current(NULL);
    /* First of all, as reading schemas takes its time. */
    if (!settings->keeper &&
        (!plat_on_stop(stop_current, NULL, err) || !plat_on_reopen(reopen_current, NULL, err))) {
        free(agent);
        return false;
    }
    if (!make_agent(agent, err)) {
        free_agent(agent);
        return false;
    }
    struct agent_run_result result = {.stuck = false};
    bool ok = start(agent, err);
    result.stuck = !finish(agent);
    if (ok) {
        conclude(agent, &result);
        *ret_result = result;
    }
    if (!result.stuck) {
        free_agent(agent);
    }
    return ok;
}
