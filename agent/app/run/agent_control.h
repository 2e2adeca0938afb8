#ifndef ETWSHIP_APP_AGENT_CONTROL_H
#define ETWSHIP_APP_AGENT_CONTROL_H

#include "app/watch/agent_status.h"

/* What the thread that keeps time does for the agent that runs, and the agent's last counters. */
struct agent;
struct agent_control;

/* ${agent} was made, and began at ${started_ns}. NULL with ${err} set. */
struct agent_control *agent_control_create(
    struct agent *agent, uint64_t started_ns, struct error *err);
void agent_control_destroy(struct agent_control *control); /* NULL is fine */

/* Do what is due; returns when something is next. */
uint64_t agent_control_tick(struct agent *agent, uint64_t now_ns);

/* The agent has come to its end: its last counters, which stay until it is destroyed. */
const struct agent_status *agent_control_end(struct agent_control *control);

#endif
