#ifndef ETWSHIP_APP_AGENT_SERVER_H
#define ETWSHIP_APP_AGENT_SERVER_H

#include "app/config/app_config.h"

/*
 * The pages of the running agent (status/status_server.h): /, /metrics, /health, /ready, /status, /tap. All functions
 * on the thread of agent_run.
 */
struct agent_process;

/* Listen where ${config} says, and nowhere else. A place that cannot be had is an error in the log, and keeps nobody
 * from running. */
void agent_server_apply(struct agent_process *process, const struct app_config *config);

/* Answer nobody any more. */
void agent_server_stop(struct agent_process *process);

#endif
