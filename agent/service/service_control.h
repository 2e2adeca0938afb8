#ifndef ETWSHIP_SERVICE_SERVICE_CONTROL_H
#define ETWSHIP_SERVICE_SERVICE_CONTROL_H

#include "service/service_api.h"

/*
 * Installs, starts, stops and removes the service through the service control manager. Calls wait
 * for completion: as long as the service makes progress, then for its own wait hint. Any thread,
 * one at a time.
 */

/* Settings of a plan that this Windows does not support: bit ${setting} of enum service_setting. */
typedef uint32_t service_settings_mask;

/*
 * Register ${plan} and the source of its events. A failure leaves nothing. ${ret_left_out}:
 * settings that this system does not support. ERR_CONFIG: it is installed already.
 */
bool service_control_install(
    const struct service_plan *plan, service_settings_mask *ret_left_out, struct error *err);

/*
 * Change the existing registration to ${plan}: command, start, account, settings, the source of its
 * events. The service must be stopped, or restarted afterwards. ERR_MISSING: not installed. A
 * failure may leave a part.
 */
bool service_control_change(
    const struct service_plan *plan, service_settings_mask *ret_left_out, struct error *err);

/* Stop it, wait for its process's end, and remove what service_control_install registered. Data and
 * configuration stay. */
bool service_control_uninstall(struct error *err);

/*
 * Start it and wait until it runs or has ended: see ${ret_status}. ${ret_before}: it ran already.
 * False if it could not be started, or makes no progress.
 */
bool service_control_start(struct service_status *ret_status, bool *ret_before, struct error *err);

/* Stop it and wait for its process's end. ${ret_before}: it did not run. */
bool service_control_stop(bool *ret_before, struct error *err);

/* Ask the running service to read its configuration again; it reports the result itself. False: it
 * does not run, or refuses. */
bool service_control_reload(struct error *err);

/* ERR_MISSING: it is not installed. Free the texts of ${ret_config} with
 * service_control_config_fini. */
bool service_control_query(
    struct service_status *ret_status, struct service_config *ret_config, struct error *err);
void service_control_config_fini(struct service_config *config);

#endif
