#ifndef ETWSHIP_APP_APP_LISTEN_H
#define ETWSHIP_APP_APP_LISTEN_H

#include "app/config/app_config.h"
#include "app/config/app_fields.h"
#include "base/text/ip.h"

/* The section `status`: where the agent tells of itself. */

/* `127.0.0.1:9187`, `[::1]:9187`, `localhost:9187`, `0.0.0.0:9187`. False with ${err} set: it is something else. */
bool app_listen_parse(
    const char *text, struct ip_address *ret_address, uint16_t *ret_port, struct error *err);

/* Where a program of this machine reaches what listens at ${address}: itself, or the loopback address for that of
 * all. */
void app_listen_reach(struct ip_address *address);

/* What reaches this machine alone: the path of a socket, or the name of a pipe. NULL: there is none. */
const char *app_listen_local(const struct app_status *status);

/* Report what is wrong with the section. */
void app_listen_check(
    const struct config *memory, const struct app_root *root, struct config_report *report);

/* Report what this system cannot do. */
void app_listen_can_run(const struct app_config *config, struct config_report *report);

#endif
