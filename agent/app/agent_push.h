#ifndef ETWSHIP_APP_AGENT_PUSH_H
#define ETWSHIP_APP_AGENT_PUSH_H

#include "app/app_config.h"

/*
 * The agent's own metrics to outputs that want them (output_ops.metrics), on a thread that holds nobody up. All
 * functions on the thread of agent_run.
 */
struct agent_process;

/* Send them as ${config} says from now on. What cannot be is an error in the log, and keeps nobody from running. */
void agent_push_apply(struct agent_process *process, const struct app_config *config);

/* Send them once more before the agent that runs is gone, with what it has come to. Waits for two seconds at most. */
void agent_push_last(struct agent_process *process);

/* Send no more. */
void agent_push_stop(struct agent_process *process);

#endif
