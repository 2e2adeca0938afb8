#include "app/run/agent_view.h"

#include <stdlib.h>

#include "app/run/agent_own.h"
#include "app/watch/agent_metrics.h"
#include "platform/plat_clock.h"

/*
 * The agent is borrowed for as long as its ledger is copied and its spool is asked, and no longer.
 * No lock is held over another one.
 */
struct view {
    struct agent_status status;
    struct agent_session_state *sessions;
    bool *ended_outputs;
};

static bool init(struct view *view, const struct agent_plan *plan)
{
    *view = (struct view){.sessions = NULL};
    view->sessions = calloc(plan->session_count + 1, sizeof(*view->sessions));
    view->ended_outputs = calloc(plan->output_count + 1, sizeof(bool));
    return agent_status_init(&view->status, plan, NULL) && view->sessions && view->ended_outputs;
}

static void fini(struct view *view)
{
    agent_status_fini(&view->status);
    free(view->sessions);
    free(view->ended_outputs);
}

static void look_at_health(struct view *view, struct agent *agent, const struct agent_loads *loads,
    struct agent_health *ret_health)
{
    struct spool *spool = pipeline_spool(agent->pipeline);
    struct agent_health_inputs inputs = {.status = &view->status,
        .plan = agent->plan,
        .loads = loads,
        .sessions = view->sessions,
        .ended_outputs = view->ended_outputs,
        .spool_keeps = spool->keeps,
        .positions_fail = positions_failed(agent->positions),
        .letters_evicted = atomic_load(&agent->letters_evicted),
        .error = agent_metrics_error(&view->status, agent->plan),
        .now_ns = plat_monotonic_ns()};
    spool->ops->usage(spool, &inputs.spool);
    agent_health_look(&inputs, ret_health);
}

static bool keep_name(const char **name, struct arena *names)
{
    struct span copy;
    if (*name && !arena_copy(names, span_text(*name), &copy)) {
        return false;
    }
    *name = *name ? (const char *)copy.data : NULL;
    return true;
}

static bool keep_names(struct agent_health *health, struct arena *names)
{
    bool ok = true;
    for (size_t i = 0; i < health->count && ok; i++) {
        ok = keep_name(&health->findings[i].session, names) &&
             keep_name(&health->findings[i].output, names);
    }
    return ok;
}

void agent_view_collect(struct agent *agent, const struct agent_status *status,
    const struct agent_runner_view *process, struct metric_set *set)
{
    const struct agent_metrics_inputs inputs = {.status = status,
        .plan = agent->plan,
        .pipeline = agent->pipeline,
        .summaries = agent->summaries,
        .worker_count = (size_t)agent->config->agent.decode_workers,
        .loads = &process->loads,
        .uptime_ns = process->uptime_ns};
    agent_metrics_collect(&inputs, set);
}

static bool look(struct agent *agent, const struct agent_runner_view *process,
    struct metric_set *set, struct agent_health *ret_health)
{
    struct view view;
    bool ok = init(&view, agent->plan);
    if (ok) {
        agent_status_look(&view.status, agent->pipeline);
        agent_sessions_look(agent->sessions, view.sessions, view.ended_outputs);
        look_at_health(&view, agent, &process->loads, ret_health);
    }
    if (ok && set) {
        agent_view_collect(agent, &view.status, process, set);
    }
    fini(&view);
    return ok;
}

bool agent_view_take(struct agent_runner *runner, struct metric_set *set,
    struct agent_health *ret_health, struct arena *names)
{
    struct agent_runner_view process;
    agent_runner_look(runner, &process);
    struct agent *agent = agent_runner_borrow(runner);
    bool ok = !agent || (look(agent, &process, set, ret_health) && keep_names(ret_health, names));
    if (!ok) {
        ret_health->count = 0; /* findings may still point to names of the agent */
    }
    if (agent) {
        agent_runner_give_back(runner);
    } else if (set) {
        agent_metrics_process(process.uptime_ns, set);
    }
    if (process.stops) {
        agent_health_set(ret_health, AGENT_CAUSE_STOPPING, "the agent stops");
    } else if (!process.has_run) {
        agent_health_set(ret_health, AGENT_CAUSE_STARTING, "the agent starts");
    } else if (!agent) {
        agent_health_set(ret_health, AGENT_CAUSE_RELOADING, "a configuration is loaded");
    }
    if (set) {
        metric_set_number(set, METRIC_HEALTHY, ret_health->healthy);
        metric_set_number(set, METRIC_READY, ret_health->ready);
    }
    return ok && !(set && set->failed);
}
