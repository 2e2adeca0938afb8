#ifndef ETWSHIP_CLI_AGENT_ASK_H
#define ETWSHIP_CLI_AGENT_ASK_H

#include "app/config/app_config.h"
#include "status/status_client.h"

/* Find the address of the agent that runs with ${config}: its local socket or pipe, else TCP. False
 * with ${err} set: the configuration has no section `status` (ERR_MISSING), or a wrong address. */
bool agent_ask_find(const struct app_config *config, unsigned timeout_ms,
    struct status_client *ret_client, struct error *err);

/* As agent_ask_find; an error is printed on stderr. */
bool agent_ask_init(
    const struct app_config *config, unsigned timeout_ms, struct status_client *ret_client);

/* Print to stderr why there is no answer; returns the exit code. */
int agent_ask_failed(const struct error *err);

#endif
