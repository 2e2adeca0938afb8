#ifndef ETWSHIP_APP_AGENT_NO_MATCH_H
#define ETWSHIP_APP_AGENT_NO_MATCH_H

#include "app/run/agent_sessions.h"

/* Warn of providers and filters that matched nothing in recorded traces that were read to their
 * end; how many. The agent has come to its end with ${status}. On the thread of agent_run. */
uint64_t agent_no_match(const struct agent_setup *setup, const struct agent_sessions *sessions,
    const struct agent_status *status, struct log *log);

#endif
