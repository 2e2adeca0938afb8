#ifndef ETWSHIP_APP_AGENT_UNSURE_H
#define ETWSHIP_APP_AGENT_UNSURE_H

#include "app/log/log.h"
#include "app/plan/agent_plan.h"

/* Warn of rules that could not be judged for some events, as a regular expression exceeded its
 * limits, if there are more of these events than ${told}, which is set. */
void agent_unsure_warn(const struct agent_plan *plan, struct log *log, uint64_t *told);

#endif
