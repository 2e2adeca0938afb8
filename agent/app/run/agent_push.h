#ifndef ETWSHIP_APP_AGENT_PUSH_H
#define ETWSHIP_APP_AGENT_PUSH_H

#include "app/config/app_config.h"

/*
 * Sends the agent's own metrics to outputs that take them (output_ops.metrics), on a thread of its
 * own. All functions on the thread of agent_run.
 */
struct agent_runner;

/* Send them as ${config} says from now on. A failure is an error in the log;
 * the agent runs all the same. */
void agent_push_apply(struct agent_runner *runner, const struct app_config *config);

/* Send the final counts while the agent is still there. Waits for two seconds at most. */
void agent_push_last(struct agent_runner *runner);

/* Send no more. */
void agent_push_stop(struct agent_runner *runner);

#endif
