#ifndef ETWSHIP_APP_AGENT_STATUS_H
#define ETWSHIP_APP_AGENT_STATUS_H

#include "app/agent_plan.h"

/* What the agent knows of itself at one moment. */
struct agent_status {
    struct session_counts *sessions; /* with the agent itself behind them */
    struct output_counts *outputs;
};

bool agent_status_init(
    struct agent_status *status, const struct agent_plan *plan, struct error *err);
void agent_status_fini(struct agent_status *status); /* zeroed is fine */

/* Of the process: what it has loaded so far. */
struct agent_loads {
    uint64_t loaded; /* FILETIME: when the configuration was read that runs */
    uint64_t reloads;
    uint64_t failed_reloads;
};

/* Take a new look. */
void agent_status_look(struct agent_status *status, struct pipeline *pipeline);

/* The counters as a JSON object, for `etwship/status`: sessions, outputs, filters, memory,
 * dead letters, and the configuration. ${uptime_ns}: since the process has started. */
void agent_status_json(const struct agent_status *status, const struct agent_plan *plan,
    struct pipeline *pipeline, const struct agent_loads *loads, uint64_t uptime_ns,
    struct buf *out);

/* The same in a line for people. */
void agent_status_line(
    const struct agent_status *status, const struct agent_plan *plan, struct buf *out);

#endif
