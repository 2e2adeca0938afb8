#ifndef ETWSHIP_APP_AGENT_SERVER_H
#define ETWSHIP_APP_AGENT_SERVER_H

#include "app/config/app_config.h"

/*
 * The pages of the running agent (status/status_server.h): /, /metrics, /health, /ready, /status,
 * /tap. All functions on the thread of agent_run.
 */
struct agent_runner;
struct agent_server;
struct tap_hub;

/* It does not listen yet. NULL: out of memory. */
struct agent_server *agent_server_create(struct agent_runner *runner, struct tap_hub *taps);

/* Listen where ${config} says, and nowhere else. If that fails, the log says so, and
 * the agent runs on without it. */
void agent_server_apply(struct agent_server *server, const struct app_config *config);

/* Answer no request any more. NULL is fine. */
void agent_server_destroy(struct agent_server *server);

#endif
