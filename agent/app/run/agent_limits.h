#ifndef ETWSHIP_APP_AGENT_LIMITS_H
#define ETWSHIP_APP_AGENT_LIMITS_H

#include "app/config/app_config.h"

struct agent_runner;

/* Replace the limits of the process by those in ${config}. The log names a limit that the system
 * refuses, and the agent runs without it. On the thread of agent_run. */
void agent_limits_apply(struct agent_runner *runner, const struct app_config *config);

#endif
