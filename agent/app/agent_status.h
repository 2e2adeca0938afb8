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

/* Take a new look. */
void agent_status_look(struct agent_status *status, struct pipeline *pipeline);

/* The counters as a JSON object, for `etwship/status`: sessions, outputs, filters, memory,
 * dead letters. */
void agent_status_json(const struct agent_status *status, const struct agent_plan *plan,
    struct pipeline *pipeline, struct buf *out);

/* The same in a line for people. */
void agent_status_line(
    const struct agent_status *status, const struct agent_plan *plan, struct buf *out);

#endif
