#ifndef ETWSHIP_APP_AGENT_PUSH_H
#define ETWSHIP_APP_AGENT_PUSH_H

#include "app/config/app_config.h"

/*
 * Sends the agent's own metrics to outputs that take them (output_ops.metrics), on a thread of its
 * own. All functions on the thread of agent_run.
 */
struct agent_push;
struct agent_runner;

/* Send them as ${config} says, as those of the process ${instance} that started at ${started}
 * (FILETIME). NULL: no output takes them; or a failure, which is an error in the log. */
struct agent_push *agent_push_start(struct agent_runner *runner, const char *instance,
    uint64_t started, const struct app_config *config);

/* Send the final counts while the agent is still there. Waits for two seconds at most. NULL is
 * fine. */
void agent_push_last(struct agent_push *push);

/* Send no more, and free it. NULL is fine. */
void agent_push_stop(struct agent_push *push);

#endif
