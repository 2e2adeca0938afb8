#ifndef ETWSHIP_APP_AGENT_LIMITS_H
#define ETWSHIP_APP_AGENT_LIMITS_H

#include "app/config/app_config.h"
#include "app/log/log.h"

/* Replace the limits of the process, ${now}, by those in ${config}. ${log} names a limit that the
 * system refuses, and the agent runs without it. On the thread of agent_run. */
void agent_limits_apply(struct app_limits *now, const struct app_config *config, struct log *log);

#endif
