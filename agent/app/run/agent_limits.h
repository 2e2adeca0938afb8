#ifndef ETWSHIP_APP_AGENT_LIMITS_H
#define ETWSHIP_APP_AGENT_LIMITS_H

#include "app/config/app_config.h"

struct agent_process;

/* Put the process under the limits that ${config} asks for, in place of those that it is under. What cannot
 * be had is told in the log, and the agent runs without. On the thread of agent_run. */
void agent_limits_apply(struct agent_process *process, const struct app_config *config);

#endif
