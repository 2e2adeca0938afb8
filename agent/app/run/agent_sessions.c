#include "app/run/agent_sessions.h"

#include <stdio.h>
#include <stdlib.h>

#include "input/windows/etw_orphans.h"
#include "platform/plat_thread.h"
#include "schema/events/kernel_names.h"

/*
 * A thread per session runs its input, whose records go to the session's source in the pipeline;
 * the source is finished on the same thread.
 */
struct agent_session {
    struct agent_sessions *all;
    size_t index; /* of the plan */
    const struct app_session *config;
    void *input;
    struct plat_thread *thread;
    bool is_taken_over; /* the next agent continues what it runs; set before it is stopped */
    uint64_t damaged;   /* places in the source; the session's thread */

    /* Guarded by the mutex. */
    enum input_end end;                /* INPUT_DONE as long as it runs */
    char trouble[AGENT_TROUBLE_BYTES]; /* why it is not read now */
};

struct agent_sessions {
    const struct agent_plan *plan; /* of the setup */
    struct log *log;
    const char *data_dir;
    struct pipeline *pipeline; /* once they are started */
    struct agent_session *sessions;
    size_t started;

    struct plat_mutex mutex;
    bool *ended_outputs; /* guarded by it */
};

void agent_sessions_damage(struct agent_sessions *all, uint32_t index,
    const struct trace_info *trace, uint64_t offset, const char *what)
{
    all->sessions[index].damaged++;
    if (offset == INPUT_WHOLE_FILE) {
        log_write_as(all->log, LOG_CAUSE_TRACE, LOG_LEVEL_WARNING, NULL, "%.*s: %s",
            SPAN_ARG(span_first(trace->path, 400)), what);
        return;
    }
    log_write_as(all->log, LOG_CAUSE_TRACE, LOG_LEVEL_WARNING, NULL,
        "%.*s: damaged at byte %llu: %s", SPAN_ARG(span_first(trace->path, 400)),
        (unsigned long long)offset, what);
}

static void note(void *self, enum input_note level, const char *text)
{
    const struct agent_session *session = self;
    log_write_as(session->all->log, LOG_CAUSE_SESSION,
        level == INPUT_NOTE_WARNING ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, NULL, "session %s: %s",
        session->config->name, text);
}

static void note_trouble(void *self, const char *why)
{
    struct agent_session *session = self;
    plat_mutex_lock(&session->all->mutex);
    snprintf(session->trouble, sizeof(session->trouble), "%s", why ? why : "");
    plat_mutex_unlock(&session->all->mutex);
}

static void run(void *self)
{
    struct agent_session *session = self;
    struct agent_sessions *all = session->all;
    struct input_sink sink;
    struct error err;
    pipeline_sink(all->pipeline, session->index, &sink);
    enum input_end end = session->config->ops->run(session->input, &sink, &err);
    plat_mutex_lock(&all->mutex);
    session->end = end;
    plat_mutex_unlock(&all->mutex);
    if (end == INPUT_FAILED) {
        log_write_as(all->log, LOG_CAUSE_SESSION_FAILED, LOG_LEVEL_ERROR, NULL, "session %s: %s",
            session->config->name, err.text);
    }
    pipeline_finish_source(all->pipeline, session->index, end == INPUT_STOPPED);
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool make_input(struct agent_session *session,
    const struct agent_sessions_settings *settings, struct error *err)
{
    const struct agent_sessions *all = session->all;
    const struct app_session *config = session->config;
    struct input_env env = {.name = config->name,
        .providers = all->plan->providers[session->index],
        .provider_count = config->providers.count,
        .scope = all->plan->evt_scopes[session->index],
        .kernel_event = kernel_names_find,
        .last_time = positions_last_time(settings->positions, session->index),
        .takeover = agent_takeover_find(settings->takeover, config->name, config->ops),
        .language = settings->setup->config.agent.language,
        .data_dir = all->data_dir,
        .once = settings->once,
        .note = note,
        .trouble = note_trouble,
        .self = session};
    session->input = config->ops->create(config->settings, &env, err);
    return session->input != NULL;
}

static bool make_inputs(
    struct agent_sessions *all, const struct agent_sessions_settings *settings, struct error *err)
{
    size_t count = all->plan->session_count;
    all->sessions = calloc(count + 1, sizeof(*all->sessions));
    all->ended_outputs = calloc(all->plan->output_count + 1, sizeof(*all->ended_outputs));
    if (!all->sessions || !all->ended_outputs) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        struct agent_session *session = &all->sessions[i];
        *session = (struct agent_session){
            .all = all, .index = i, .config = all->plan->session_configs[i]};
        if (!make_input(session, settings, err)) {
            return false;
        }
        positions_restore(settings->positions, i, session->input);
    }
    return true;
}

struct agent_sessions *agent_sessions_create(
    const struct agent_sessions_settings *settings, struct error *err)
{
    struct agent_sessions *all = calloc(1, sizeof(*all));
    if (!all) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    all->plan = &settings->setup->plan;
    all->log = settings->log;
    all->data_dir = app_config_data_dir(&settings->setup->config);
    plat_mutex_init(&all->mutex);
    if (!make_inputs(all, settings, err)) {
        agent_sessions_destroy(all);
        return NULL;
    }
    return all;
}

void agent_sessions_destroy(struct agent_sessions *all)
{
    if (!all) {
        return;
    }
    for (size_t i = 0; all->sessions && i < all->plan->session_count; i++) {
        if (all->sessions[i].input) {
            all->sessions[i].config->ops->destroy(all->sessions[i].input);
        }
    }
    plat_mutex_fini(&all->mutex);
    free(all->sessions);
    free(all->ended_outputs);
    free(all);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool runs_here(void *self, const char *name)
{
    const struct agent_sessions *all = self;
    for (size_t i = 0; i < all->plan->session_count; i++) {
        if (span_equal_nocase(span_text(all->sessions[i].config->name), span_text(name))) {
            return true;
        }
    }
    return false;
}

static void note_orphan(void *self, enum input_note level, const char *text)
{
    log_write_as(((const struct agent_sessions *)self)->log, LOG_CAUSE_SESSION,
        level == INPUT_NOTE_WARNING ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, NULL, "%s", text);
}

/* For ETW sessions. */
static void clean_orphans(struct agent_sessions *all)
{
    bool starts_any = false;
    for (size_t i = 0; i < all->plan->session_count; i++) {
        starts_any = starts_any || all->sessions[i].config->ops->needs_etw;
    }
    if (starts_any) {
        etw_orphans_clean(&(struct etw_orphans_settings){
            .data_dir = all->data_dir, .is_ours = runs_here, .note = note_orphan, .self = all});
    }
}

bool agent_sessions_start(struct agent_sessions *all, struct pipeline *pipeline, struct error *err)
{
    all->pipeline = pipeline;
    clean_orphans(all);
    for (size_t i = 0; i < all->plan->session_count; i++) {
        struct agent_session *session = &all->sessions[i];
        session->thread = plat_thread_start(session->config->name, run, session, err);
        if (!session->thread) {
            return false;
        }
        all->started++;
    }
    return true;
}

static void stop(const struct agent_session *session)
{
    session->config->ops->stop(session->input);
}

void agent_sessions_stop(struct agent_sessions *all)
{
    for (size_t i = 0; i < all->plan->session_count; i++) {
        stop(&all->sessions[i]);
    }
}

static bool is_needed(const struct agent_sessions *all, size_t session)
{
    const struct agent_plan *plan = all->plan;
    for (size_t o = 0; o < plan->output_count; o++) {
        if (agent_plan_takes(plan, session, o) && !all->ended_outputs[o]) {
            return true;
        }
    }
    return false;
}

bool agent_sessions_end_output(struct agent_sessions *all, size_t output)
{
    bool any_left = false;
    plat_mutex_lock(&all->mutex);
    all->ended_outputs[output] = true;
    for (size_t i = 0; i < all->plan->output_count; i++) {
        any_left |= !all->ended_outputs[i];
    }
    for (size_t s = 0; s < all->plan->session_count; s++) {
        if (!is_needed(all, s)) {
            stop(&all->sessions[s]);
        }
    }
    plat_mutex_unlock(&all->mutex);
    return any_left;
}

void agent_sessions_look(
    struct agent_sessions *all, struct agent_session_state *ret_sessions, bool *ret_ended_outputs)
{
    plat_mutex_lock(&all->mutex);
    for (size_t i = 0; i < all->plan->session_count; i++) {
        ret_sessions[i].failed = all->sessions[i].end == INPUT_FAILED;
        memcpy(ret_sessions[i].trouble, all->sessions[i].trouble, AGENT_TROUBLE_BYTES);
    }
    memcpy(ret_ended_outputs, all->ended_outputs, all->plan->output_count * sizeof(bool));
    plat_mutex_unlock(&all->mutex);
}

void agent_sessions_join(struct agent_sessions *all)
{
    for (size_t i = 0; i < all->started; i++) {
        plat_thread_join(all->sessions[i].thread);
    }
    all->started = 0;
}

enum input_end agent_sessions_end(const struct agent_sessions *all, size_t session)
{
    return all->sessions[session].end;
}

uint64_t agent_sessions_damaged(const struct agent_sessions *all, size_t session)
{
    return all->sessions[session].damaged;
}

/* ---- what the next agent continues ----------------------------------------------------------- */

/* The session of ${next} that is of the same name and type as ${config}; SIZE_MAX: there is
 * none. */
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

static bool is_continued(const struct agent_session *session, const struct agent_setup *next)
{
    const struct input_ops *ops = session->config->ops;
    size_t index = ops->continues ? find_next(next, session->config) : SIZE_MAX;
    void *input = index == SIZE_MAX ? NULL : agent_setup_make_input(next, index, NULL);
    bool is_continued = input && ops->continues(session->input, input);
    ops->destroy(input);
    return is_continued;
}

void agent_sessions_leave_running(struct agent_sessions *all, const struct agent_setup *next)
{
    for (size_t i = 0; i < all->plan->session_count; i++) {
        struct agent_session *session = &all->sessions[i];
        session->is_taken_over = is_continued(session, next);
        if (session->is_taken_over) {
            session->config->ops->leave_running(session->input);
        }
    }
}

void agent_sessions_note_running(const struct agent_sessions *all, struct agent_takeover *takeover)
{
    for (size_t i = 0; i < all->plan->session_count; i++) {
        const struct agent_session *session = &all->sessions[i];
        const struct app_session *config = session->config;
        if (session->is_taken_over &&
            !agent_takeover_add(takeover, config->name, config->ops, session->input)) {
            log_write_as(all->log, LOG_CAUSE_MEMORY, LOG_LEVEL_WARNING, NULL,
                "session %s: out of memory, so the session starts again instead of continuing",
                config->name);
        }
    }
}
