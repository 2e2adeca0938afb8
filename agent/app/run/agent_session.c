#include <stdio.h>
#include <stdlib.h>

#include "app/plan/app_budgets.h"
#include "app/run/agent_own.h"
#include "input/windows/etw_orphans.h"
#include "platform/plat_system.h"
#include "schema/events/kernel_names.h"

/*
 * A thread per session runs its input, whose records go to the session's source in the pipeline; the
 * source is finished on the same thread. Inputs live until everything is delivered: records refer to
 * what they own.
 */

void agent_session_step(void *self, uint32_t index, const struct provider_change *change)
{
    const struct agent *agent = self;
    struct buf text;
    buf_init(&text, 1024);
    app_budgets_write_change(change, &text);
    log_write_as(agent->log, LOG_CAUSE_BUDGET,
        change->to > change->from ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, NULL, "session %s: %.*s",
        agent->plan->session_configs[index]->name, SPAN_ARG(buf_span(&text)));
    buf_fini(&text);
}

void agent_session_damage(
    void *self, uint32_t index, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct agent *agent = self;
    agent->sessions[index].damaged++;
    if (offset == INPUT_WHOLE_FILE) {
        log_write_as(agent->log, LOG_CAUSE_TRACE, LOG_LEVEL_WARNING, NULL, "%.*s: %s",
            SPAN_ARG(span_first(trace->path, 400)), what);
        return;
    }
    log_write_as(agent->log, LOG_CAUSE_TRACE, LOG_LEVEL_WARNING, NULL,
        "%.*s: damaged at byte %llu: %s", SPAN_ARG(span_first(trace->path, 400)),
        (unsigned long long)offset, what);
}

static void note(void *self, enum input_note level, const char *text)
{
    const struct agent_session *session = self;
    const struct agent *agent = session->agent;
    log_write_as(agent->log, LOG_CAUSE_SESSION,
        level == INPUT_NOTE_WARNING ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, NULL, "session %s: %s",
        agent->plan->session_configs[session->index]->name, text);
}

static void note_trouble(void *self, const char *why)
{
    struct agent_session *session = self;
    plat_mutex_lock(&session->agent->mutex);
    snprintf(session->trouble, sizeof(session->trouble), "%s", why ? why : "");
    plat_mutex_unlock(&session->agent->mutex);
}

static void run(void *self)
{
    struct agent_session *session = self;
    struct agent *agent = session->agent;
    const struct input_ops *ops = agent->plan->session_configs[session->index]->ops;
    struct input_sink sink;
    pipeline_sink(agent->pipeline, session->index, &sink);
    session->end = ops->run(session->input, &sink, &session->error);
    if (session->end == INPUT_FAILED) {
        atomic_store(&session->failed, true);
        log_write_as(agent->log, LOG_CAUSE_SESSION_FAILED, LOG_LEVEL_ERROR, NULL, "session %s: %s",
            agent->plan->session_configs[session->index]->name, session->error.text);
    }
    pipeline_finish_source(agent->pipeline, session->index, session->end == INPUT_STOPPED);
}

bool agent_sessions_create(struct agent *agent, struct error *err)
{
    size_t count = agent->plan->session_count;
    agent->sessions = calloc(count + 1, sizeof(*agent->sessions));
    if (!agent->sessions) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        const struct app_session *config = agent->plan->session_configs[i];
        agent->sessions[i].agent = agent;
        agent->sessions[i].index = i;
        struct input_env env = {.name = config->name,
            .providers = agent->plan->providers[i],
            .provider_count = config->providers.count,
            .scope = agent->plan->evt_scopes[i],
            .kernel_event = kernel_names_find,
            .last_time = positions_last_time(agent->positions, i),
            .takeover = agent_takeover_find(&agent->runner->takeover, config->name, config->ops),
            .language = agent->config->agent.language,
            .data_dir = agent->data_dir,
            .once = agent->settings->once,
            .note = note,
            .trouble = note_trouble,
            .self = &agent->sessions[i]};
        agent->sessions[i].input = config->ops->create(config->settings, &env, err);
        if (!agent->sessions[i].input) {
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        positions_restore(agent->positions, i, agent->sessions[i].input);
    }
    return true;
}

static bool runs_here(void *self, const char *name)
{
    const struct agent *agent = self;
    for (size_t i = 0; i < agent->plan->session_count; i++) {
        if (span_equal_nocase(span_text(agent->plan->session_configs[i]->name), span_text(name))) {
            return true;
        }
    }
    return false;
}

static void note_orphan(void *self, enum input_note level, const char *text)
{
    log_write_as(((const struct agent *)self)->log, LOG_CAUSE_SESSION,
        level == INPUT_NOTE_WARNING ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, NULL, "%s", text);
}

/* For ETW sessions. */
static void clean_orphans(struct agent *agent)
{
    bool starts_any = false;
    for (size_t i = 0; i < agent->plan->session_count; i++) {
        starts_any = starts_any || agent->plan->session_configs[i]->ops->needs_etw;
    }
    if (starts_any) {
        etw_orphans_clean(&(struct etw_orphans_settings){
            .data_dir = agent->data_dir, .is_ours = runs_here, .note = note_orphan, .self = agent});
    }
}

bool agent_sessions_start(struct agent *agent, struct error *err)
{
    clean_orphans(agent);
    for (size_t i = 0; i < agent->plan->session_count; i++) {
        struct agent_session *session = &agent->sessions[i];
        session->thread = plat_thread_start(
            agent->plan->session_configs[i]->name, run, session, err);
        if (!session->thread) {
            return false;
        }
        agent->sessions_started++;
    }
    return true;
}

/* The session of ${next} that is of the same name and type as ${config}; SIZE_MAX: there is none. */
static size_t find_next(const struct agent_setup *next, const struct app_session *config)
{
    for (size_t i = 0; i < next->plan.session_count; i++) {
        const struct app_session *other = next->plan.session_configs[i];
        if (other->ops == config->ops && strcmp(other->name, config->name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static bool is_continued(const struct agent_session *session, const struct app_session *config,
    const struct agent_setup *next)
{
    size_t index = config->ops->continues ? find_next(next, config) : SIZE_MAX;
    void *input = index == SIZE_MAX ? NULL : agent_setup_make_input(next, index, NULL);
    bool is_continued = input && config->ops->continues(session->input, input);
    config->ops->destroy(input);
    return is_continued;
}

void agent_sessions_leave_running(struct agent *agent, const struct agent_setup *next)
{
    for (size_t i = 0; i < agent->plan->session_count; i++) {
        const struct app_session *config = agent->plan->session_configs[i];
        struct agent_session *session = &agent->sessions[i];
        session->is_taken_over = is_continued(session, config, next);
        if (session->is_taken_over) {
            config->ops->leave_running(session->input);
        }
    }
}

void agent_sessions_note_running(struct agent *agent)
{
    for (size_t i = 0; i < agent->plan->session_count; i++) {
        const struct app_session *config = agent->plan->session_configs[i];
        const struct agent_session *session = &agent->sessions[i];
        if (session->is_taken_over && !agent_takeover_add(&agent->runner->takeover, config->name,
                                          config->ops, session->input)) {
            log_write_as(agent->log, LOG_CAUSE_MEMORY, LOG_LEVEL_WARNING, NULL,
                "session %s: out of memory, so the session starts again instead of continuing",
                config->name);
        }
    }
}

void agent_sessions_stop(struct agent *agent)
{
    for (size_t i = 0; i < agent->plan->session_count; i++) {
        agent->plan->session_configs[i]->ops->stop(agent->sessions[i].input);
    }
}

void agent_sessions_join(struct agent *agent)
{
    for (size_t i = 0; i < agent->sessions_started; i++) {
        plat_thread_join(agent->sessions[i].thread);
    }
    agent->sessions_started = 0;
}

void agent_sessions_destroy(struct agent *agent)
{
    for (size_t i = 0; agent->sessions && i < agent->plan->session_count; i++) {
        if (agent->sessions[i].input) {
            agent->plan->session_configs[i]->ops->destroy(agent->sessions[i].input);
        }
    }
    free(agent->sessions);
}
