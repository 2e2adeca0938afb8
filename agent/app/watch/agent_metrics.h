#ifndef ETWSHIP_APP_AGENT_METRICS_H
#define ETWSHIP_APP_AGENT_METRICS_H

#include "app/watch/agent_status.h"
#include "status/metric_set.h"

struct summary;

/* Sources of the metrics. Nothing of them changes during the call. */
struct agent_metrics_inputs {
    const struct agent_status *status; /* looked at just now */
    const struct agent_plan *plan;
    struct pipeline *pipeline;
    struct summary *const *summaries; /* of the agent's workers */
    size_t worker_count;
    const struct agent_loads *loads;
    uint64_t uptime_ns; /* of the process */
};

/* Add every value but those of the status server. Any thread. */
void agent_metrics_collect(const struct agent_metrics_inputs *inputs, struct metric_set *set);

/* Add what is of the process alone; agent_metrics_collect has it, too. */
void agent_metrics_process(uint64_t uptime_ns, struct metric_set *set);

/* By how many events the equations of pipeline/record/ledger.h do not hold,
 * over all sessions and outputs. */
uint64_t agent_metrics_error(const struct agent_status *status, const struct agent_plan *plan);

#endif
