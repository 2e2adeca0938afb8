#include "app/agent_internal.h"
#include "platform/plat_system.h"

/*
 * One thread that keeps time: counters at intervals, positions a moment after they move, the end of
 * --duration, the end of the patience with outputs once the agent stops, and what the service
 * manager hears. It sleeps until the next of these, or until somebody wakes it. It takes the agent's
 * locks and looks at the books, so its signs of life say that nobody holds these for ever.
 */
static const uint64_t save_every_ns = UINT64_C(200000000);

struct clock {
    uint64_t next_stats;
    uint64_t next_save;
    uint64_t end; /* of --duration */
};

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void save(struct agent *agent)
{
    struct error err;
    if (!agent_store_save(agent, &err)) {
        log_write(agent->log, LOG_LEVEL_WARNING, "positions",
            "positions are not stored: %s; events may come twice after a crash", err.text);
    }
}

static void report(struct agent *agent)
{
    struct buf line;
    struct buf json;
    buf_init(&line, 64 * 1024);
    buf_init(&json, 1024 * 1024);
    agent_status_look(&agent->status, agent->pipeline);
    agent_status_line(&agent->status, &agent->plan, &line);
    agent_status_json(&agent->status, &agent->plan, agent->pipeline, &json);
    log_write(agent->log, LOG_LEVEL_INFO, NULL, "%.*s", SPAN_ARG(buf_span(&line)));
    agent_notify_status(&agent->notify, buf_span(&line));
    log_tick(agent->log);
    if (!json.failed) {
        struct status status = {.counters = buf_span(&json), .message = buf_span(&line)};
        pipeline_report(agent->pipeline, &status, plat_now_filetime());
    }
    buf_fini(&line);
    buf_fini(&json);
}

/* What is due now; without the mutex. */
static void tick(struct agent *agent, struct clock *clock, uint64_t now)
{
    uint64_t stats_ns = agent->settings->config->agent.log.stats_ns;
    if (now >= clock->next_save) {
        save(agent);
        clock->next_save = plat_monotonic_ns() + save_every_ns;
    }
    if (now >= clock->next_stats) {
        report(agent);
        clock->next_stats += stats_ns * ((now - clock->next_stats) / stats_ns + 1);
    }
    if (now >= clock->end) {
        agent_stop(agent, false);
        clock->end = UINT64_MAX;
    }
}

static void give_up(struct agent *agent)
{
    if (agent->spool) {
        log_write(agent->log, LOG_LEVEL_INFO, NULL,
            "stopping: not everything was delivered in time. it waits in the spool");
    } else {
        log_write(agent->log, LOG_LEVEL_WARNING, NULL,
            "stopping: not everything was delivered in time. raise agent.shutdown for more");
    }
    pipeline_give_up(agent->pipeline);
}

/* As the service manager sees it; under the mutex. A start that fails is told by the exit code alone. */
static enum agent_phase phase_of(const struct agent *agent)
{
    if (!agent->running) {
        return AGENT_STARTING;
    }
    return agent->stopping || agent->over ? AGENT_STOPPING : AGENT_RUNNING;
}

static void run(void *self)
{
    struct agent *agent = self;
    uint64_t stats_ns = agent->settings->config->agent.log.stats_ns;
    uint64_t duration_ns = agent->settings->duration_ns;
    struct clock clock = {.next_stats = stats_ns ? agent->started_ns + stats_ns : UINT64_MAX,
        .next_save = agent->positions ? agent->started_ns + save_every_ns : UINT64_MAX,
        .end = duration_ns ? agent->started_ns + duration_ns : UINT64_MAX};
    plat_mutex_lock(&agent->mutex);
    while (!agent->over) {
        uint64_t now = plat_monotonic_ns();
        bool late = agent->stopping && !agent->gave_up && now >= agent->deadline_ns;
        agent->gave_up = agent->gave_up || late;
        enum agent_phase phase = phase_of(agent);
        plat_mutex_unlock(&agent->mutex);
        if (late) {
            give_up(agent);
        }
        uint64_t next = agent_notify_tick(&agent->notify, phase, now);
        tick(agent, &clock, now);
        plat_mutex_lock(&agent->mutex);
        next = earlier(next, earlier(clock.next_stats, earlier(clock.next_save, clock.end)));
        if (agent->stopping && !agent->gave_up) {
            next = earlier(next, agent->deadline_ns);
        }
        if (agent->over || phase_of(agent) != phase) {
            continue;
        }
        if (next == UINT64_MAX) {
            plat_cond_wait(&agent->changed, &agent->mutex);
        } else {
            plat_cond_wait_until(&agent->changed, &agent->mutex, next);
        }
    }
    enum agent_phase phase = phase_of(agent);
    plat_mutex_unlock(&agent->mutex);
    agent_notify_tick(&agent->notify, phase, plat_monotonic_ns());
    save(agent);
}

bool agent_control_start(struct agent *agent, struct error *err)
{
    agent->control = plat_thread_start("control", run, agent, err);
    return agent->control != NULL;
}

void agent_control_ready(struct agent *agent)
{
    plat_mutex_lock(&agent->mutex);
    agent->running = true;
    plat_cond_broadcast(&agent->changed);
    plat_mutex_unlock(&agent->mutex);
}

void agent_control_end(struct agent *agent)
{
    plat_mutex_lock(&agent->mutex);
    agent->over = true;
    plat_cond_broadcast(&agent->changed);
    plat_mutex_unlock(&agent->mutex);
    plat_thread_join(agent->control);
    agent->control = NULL;
}

void agent_stop(struct agent *agent, bool signalled)
{
    plat_mutex_lock(&agent->mutex);
    agent->signalled = agent->signalled || signalled;
    bool first = !agent->stopping;
    if (first) {
        agent->stopping = true;
        agent->deadline_ns = plat_monotonic_ns() + agent->settings->config->agent.shutdown_ns;
    }
    plat_cond_broadcast(&agent->changed);
    plat_mutex_unlock(&agent->mutex);
    if (first) {
        log_write(agent->log, LOG_LEVEL_INFO, NULL,
            "stopping: sessions end, outputs get agent.shutdown to take what is left");
        pipeline_hurry(agent->pipeline);
    }
    for (size_t i = 0; first && i < agent->plan.session_count; i++) {
        agent->plan.session_configs[i]->ops->stop(agent->sessions[i].input);
    }
}
