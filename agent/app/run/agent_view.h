#ifndef ETWSHIP_APP_AGENT_VIEW_H
#define ETWSHIP_APP_AGENT_VIEW_H

#include "app/watch/agent_health.h"
#include "status/metric_set.h"

/* A snapshot of the process and the agent that runs in it, for pages and commands. Any thread. */
struct agent;
struct agent_runner;
struct agent_runner_view;
struct agent_status;

/* Fill both with values of one moment. While no agent runs, ${set} has only the metrics of the
 * process. ${set} may be NULL. Names in ${ret_health} are copied into ${names}, which is empty and
 * initialised, and outlive the agent. False: out of memory. */
bool agent_view_take(struct agent_runner *runner, struct metric_set *set,
    struct agent_health *ret_health, struct arena *names);

/* Add the metrics of ${agent}, of which ${status} was looked at just now, as its process. */
void agent_view_collect(struct agent *agent, const struct agent_status *status,
    const struct agent_runner_view *process, struct metric_set *set);

#endif
