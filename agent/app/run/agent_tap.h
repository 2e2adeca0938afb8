#ifndef ETWSHIP_APP_AGENT_TAP_H
#define ETWSHIP_APP_AGENT_TAP_H

#include "status/status_server.h"

/* /tap?of=NAME&where=EXPR&rate=N: events of a session or an output as they pass, a line each, and
 * now and then a line {"tap":{"omitted":N}}. Only for ${trusted} clients. On the status server's
 * thread. */
struct agent_runner;
struct tap_hub;

void agent_tap_answer(struct agent_runner *runner, struct tap_hub *taps,
    const struct status_request *request, bool trusted, struct status_reply *reply);

#endif
