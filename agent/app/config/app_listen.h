#ifndef ETWSHIP_APP_APP_LISTEN_H
#define ETWSHIP_APP_APP_LISTEN_H

#include "app/config/app_config.h"
#include "app/config/app_fields.h"
#include "base/text/ip.h"

/* The section `status`: where the agent shows its status. */

/* Parse `127.0.0.1:9187`, `[::1]:9187`, `localhost:9187`, `0.0.0.0:9187`. False with ${err} set: it
 * is no such address. */
bool app_listen_parse(
    const char *text, struct ip_address *ret_address, uint16_t *ret_port, struct error *err);

/* The address at which a program of this machine reaches a server that listens at ${address}: the
 * address itself, or the loopback address if it is the one of all interfaces. */
void app_listen_reach(struct ip_address *address);

/* The path of a socket or the name of a pipe, which only this machine can reach.
 * NULL: there is none. */
const char *app_listen_local(const struct app_status *status);

/* Report the errors of the section. */
void app_listen_check(
    const struct config *memory, const struct app_root *root, struct config_report *report);

/* Report what this system cannot do. */
void app_listen_can_run(const struct app_config *config, struct config_report *report);

#endif
