#include "app/run/agent_control.h"

#include <stdlib.h>
#include <xxhash.h>

#include "app/run/agent_own.h"
#include "app/run/agent_unsure.h"
#include "app/run/agent_view.h"
#include "app/watch/agent_metrics.h"
#include "platform/plat_clock.h"
#include "status/metric_json.h"

/*
 * Periodic work: log counters, store positions a moment after they move, and end the shutdown when
 * its time is over. It takes the agent's locks and reads the ledger, so its thread's heartbeat
 * (agent_runner.c) shows that no other thread holds these locks permanently.
 */
enum { MAX_LINE_BYTES = 64 * 1024 };

static const uint64_t save_every_ns = UINT64_C(200000000);
static const uint64_t health_every_ns = UINT64_C(4000000000);

struct agent_control {
    struct agent *agent;
    struct agent_status status; /* of the control thread, then of the end */

    /* Of the control thread: when what is due. */
    uint64_t next_stats;
    uint64_t next_save;
    uint64_t next_health;
};

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The counters as JSON, for `etwship/status`. */
static void write_counters(
    struct agent_control *control, const struct agent_runner_view *process, struct buf *out)
{
    struct metric_set set;
    metric_set_init(&set);
    agent_view_collect(control->agent, &control->status, process, &set);
    metric_json_write(&set, out);
    metric_set_fini(&set);
}

/* All causes in one line. */
static void add_health(struct agent_runner *runner, struct buf *line)
{
    struct agent_health health;
    struct arena names;
    arena_init(&names, MAX_LINE_BYTES);
    if (agent_view_take(runner, NULL, &health, &names) && !health.healthy) {
        buf_add_text(line, "degraded: ");
        agent_health_line(&health, line);
        buf_add_text(line, "; ");
    }
    arena_fini(&names);
}

/* Causes come first, because the service manager shows only the beginning of the line. Without
 * ${always}, send it only if they have changed, until the manager has room for it. */
static void tell_manager(struct agent_control *control, bool always)
{
    const struct agent *agent = control->agent;
    struct agent_notify *notify = &agent->common->notify;
    struct buf line;
    if (!notify->manager) {
        return;
    }
    buf_init(&line, 2 * MAX_LINE_BYTES);
    add_health(agent->runner, &line);
    uint64_t hash = line.size ? XXH3_64bits(line.data, line.size) : 0;
    if (always || hash != notify->told_health) {
        agent_status_line(&control->status, agent->plan, &line);
        if (agent_notify_status(notify, buf_span(&line))) {
            notify->told_health = hash;
        }
    }
    buf_fini(&line);
}

static void report(struct agent_control *control)
{
    struct agent *agent = control->agent;
    struct agent_runner_view process;
    struct buf line;
    struct buf json;
    agent_runner_look(agent->runner, &process);
    buf_init(&line, MAX_LINE_BYTES);
    buf_init(&json, 1024 * 1024);
    agent_process_tables_warn(
        &agent->common->process_tables, agent->plan, agent->tables, agent->log);
    agent_unsure_warn(agent->plan, agent->log, &agent->unsure_told);
    agent_status_look(&control->status, agent->pipeline);
    agent_status_line(&control->status, agent->plan, &line);
    write_counters(control, &process, &json);
    log_write_as(
        agent->log, LOG_CAUSE_STATS, LOG_LEVEL_INFO, NULL, "%.*s", SPAN_ARG(buf_span(&line)));
    tell_manager(control, true);
    log_tick(agent->log);
    if (!json.failed) {
        struct status status = {.counters = buf_span(&json), .message = buf_span(&line)};
        pipeline_report(agent->pipeline, &status, plat_now_filetime());
    }
    buf_fini(&line);
    buf_fini(&json);
}

static void cancel_outputs(struct agent *agent)
{
    switch (positions_rest(agent->positions)) {
    case POSITIONS_REST_WAITS:
        log_write(agent->log, LOG_LEVEL_INFO, NULL,
            "stopping: some events were not delivered in time. they wait in the spool");
        break;
    case POSITIONS_REST_REPLAYS:
        log_write(agent->log, LOG_LEVEL_INFO, NULL,
            "stopping: some events were not delivered in time. the next run reads them again");
        break;
    case POSITIONS_REST_LOST:
        log_write_as(agent->log, LOG_CAUSE_UNDELIVERED, LOG_LEVEL_WARNING, NULL,
            "stopping: some events were not delivered in time. raise agent.shutdown");
        break;
    }
    pipeline_cancel(agent->pipeline);
}

struct agent_control *agent_control_create(
    struct agent *agent, uint64_t started_ns, struct error *err)
{
    struct agent_control *control = calloc(1, sizeof(*control));
    uint64_t stats_ns = agent->config->agent.log.stats_ns;
    bool waits = positions_rest(agent->positions) == POSITIONS_REST_WAITS;
    bool has_manager = agent->common->notify.manager != NULL;
    if (!control) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    *control = (struct agent_control){.agent = agent,
        .next_stats = stats_ns ? started_ns + stats_ns : UINT64_MAX,
        .next_save = waits ? UINT64_MAX : started_ns + save_every_ns,
        .next_health = has_manager ? started_ns + health_every_ns : UINT64_MAX};
    if (!agent_status_init(&control->status, agent->plan, err)) {
        agent_control_destroy(control);
        return NULL;
    }
    return control;
}

void agent_control_destroy(struct agent_control *control)
{
    if (control) {
        agent_status_fini(&control->status);
        free(control);
    }
}

const struct agent_status *agent_control_end(struct agent_control *control)
{
    agent_status_look(&control->status, control->agent->pipeline);
    return &control->status;
}

/* The outputs' time is over, or when it will be. */
static uint64_t look_at_outputs(struct agent *agent, uint64_t now)
{
    uint64_t deadline = agent_life_deadline(&agent->life);
    if (now >= deadline && agent_life_change(&agent->life, AGENT_STATE_CANCELLING)) {
        cancel_outputs(agent);
        return UINT64_MAX;
    }
    return deadline;
}

uint64_t agent_control_tick(struct agent *agent, uint64_t now)
{
    struct agent_control *control = agent->control;
    uint64_t stats_ns = agent->config->agent.log.stats_ns;
    uint64_t deadline = look_at_outputs(agent, now);
    if (now >= control->next_save) {
        positions_save_or_warn(agent->positions);
        control->next_save = plat_monotonic_ns() + save_every_ns;
    }
    if (now >= control->next_stats) {
        report(control);
        control->next_stats += stats_ns * ((now - control->next_stats) / stats_ns + 1);
    }
    if (now >= control->next_health) {
        agent_status_look(&control->status, agent->pipeline);
        tell_manager(control, false);
        control->next_health = now + health_every_ns;
    }
    uint64_t next = earlier(control->next_stats, control->next_save);
    return earlier(deadline, earlier(next, control->next_health));
}
