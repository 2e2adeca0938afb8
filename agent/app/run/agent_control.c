#include <xxhash.h>

#include "app/run/agent_own.h"
#include "app/run/agent_view.h"
#include "app/watch/agent_metrics.h"
#include "platform/plat_system.h"
#include "status/metric_json.h"

/*
 * Periodic work: log counters, store positions a moment after they move, and end the shutdown when
 * its time is over. It takes the agent's locks and reads the ledger, so its thread's heartbeat
 * (agent_runner.c) shows that no other thread holds these locks permanently.
 */
enum { MAX_LINE_BYTES = 64 * 1024 };

static const uint64_t save_every_ns = UINT64_C(200000000);
static const uint64_t health_every_ns = UINT64_C(4000000000);

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The counters as JSON, for `etwship/status`. */
static void write_counters(struct agent *agent, const struct agent_loads *loads, struct buf *out)
{
    struct metric_set set;
    metric_set_init(&set);
    agent_view_collect(agent, &agent->status, loads, &set);
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
 * ${always}, send it only if it has changed. */
static void tell_manager(struct agent *agent, bool always)
{
    struct agent_notify *notify = &agent->runner->notify;
    struct buf line;
    if (!notify->manager) {
        return;
    }
    buf_init(&line, 2 * MAX_LINE_BYTES);
    add_health(agent->runner, &line);
    uint64_t hash = line.size ? XXH3_64bits(line.data, line.size) : 0;
    if (always || hash != notify->told_health) {
        notify->told_health = hash;
        agent_status_line(&agent->status, agent->plan, &line);
        agent_notify_status(notify, buf_span(&line));
    }
    buf_fini(&line);
}

static void report(struct agent *agent)
{
    struct agent_runner *runner = agent->runner;
    struct buf line;
    struct buf json;
    plat_mutex_lock(&runner->mutex);
    struct agent_loads loads = runner->loads;
    plat_mutex_unlock(&runner->mutex);
    buf_init(&line, MAX_LINE_BYTES);
    buf_init(&json, 1024 * 1024);
    agent_process_tables_warn(&runner->process_tables, agent->plan, agent->tables, agent->log);
    agent_unsure_warn(agent);
    agent_status_look(&agent->status, agent->pipeline);
    agent_status_line(&agent->status, agent->plan, &line);
    write_counters(agent, &loads, &json);
    log_write_as(
        agent->log, LOG_CAUSE_STATS, LOG_LEVEL_INFO, NULL, "%.*s", SPAN_ARG(buf_span(&line)));
    tell_manager(agent, true);
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

void agent_control_begin(struct agent *agent)
{
    uint64_t stats_ns = agent->config->agent.log.stats_ns;
    agent->clock.next_stats = stats_ns ? agent->started_ns + stats_ns : UINT64_MAX;
    bool waits = positions_rest(agent->positions) == POSITIONS_REST_WAITS;
    agent->clock.next_save = waits ? UINT64_MAX : agent->started_ns + save_every_ns;
    agent->clock.next_health = agent->runner->notify.manager ? agent->started_ns + health_every_ns
                                                             : UINT64_MAX;
}

/* The outputs' time is over, or when it will be. */
static uint64_t look_at_outputs(struct agent *agent, uint64_t now)
{
    uint64_t deadline = agent_life_deadline(agent->life);
    if (now >= deadline && agent_life_change(agent->life, AGENT_STATE_CANCELLING)) {
        cancel_outputs(agent);
        return UINT64_MAX;
    }
    return deadline;
}

uint64_t agent_control_tick(struct agent *agent, uint64_t now)
{
    struct agent_clock *clock = &agent->clock;
    uint64_t stats_ns = agent->config->agent.log.stats_ns;
    uint64_t deadline = look_at_outputs(agent, now);
    if (now >= clock->next_save) {
        positions_save_or_warn(agent->positions);
        clock->next_save = plat_monotonic_ns() + save_every_ns;
    }
    if (now >= clock->next_stats) {
        report(agent);
        clock->next_stats += stats_ns * ((now - clock->next_stats) / stats_ns + 1);
    }
    if (now >= clock->next_health) {
        agent_status_look(&agent->status, agent->pipeline);
        tell_manager(agent, false);
        clock->next_health = now + health_every_ns;
    }
    uint64_t next = earlier(clock->next_stats, clock->next_save);
    return earlier(deadline, earlier(next, clock->next_health));
}
