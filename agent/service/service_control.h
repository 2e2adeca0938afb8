#ifndef ETWSHIP_SERVICE_SERVICE_CONTROL_H
#define ETWSHIP_SERVICE_SERVICE_CONTROL_H

#include "service/service_api.h"

/*
 * The service as others see it: installed, started, stopped and removed through the service control
 * manager. Calls wait until what was asked for is so; a service that makes progress is waited for as
 * long as it does, one that does not for as long as it said. Any thread, one at a time.
 */

/* What this Windows does not know of a plan: bit ${setting} of enum service_setting. */
typedef uint32_t service_settings_mask;

/*
 * Register ${plan} and the source of its events. What fails leaves nothing behind. ${ret_left_out}:
 * settings that this system does not know. ERR_CONFIG: it is installed already.
 */
bool service_control_install(
    const struct service_plan *plan, service_settings_mask *ret_left_out, struct error *err);

/*
 * Register ${plan} in place of what there is, which keeps its identity: command, start, account, settings,
 * the source of its events. It does not run, or is started anew afterwards. ERR_MISSING: there is none.
 * What fails may leave some of it.
 */
bool service_control_change(
    const struct service_plan *plan, service_settings_mask *ret_left_out, struct error *err);

/* Stop it, wait for its process's end, and remove what service_control_install registered. Data and
 * configuration stay. */
bool service_control_uninstall(struct error *err);

/*
 * Start it and wait until it runs, or has ended: ${ret_status} says which. ${ret_before}: it ran
 * already. False if it could not be started at all, or stands still while it starts.
 */
bool service_control_start(struct service_status *ret_status, bool *ret_before, struct error *err);

/* Stop it and wait for its process's end. ${ret_before}: it did not run. */
bool service_control_stop(bool *ret_before, struct error *err);

/* Ask it to read its configuration again, once it runs; it says itself how that went. False: it does not run, or
 * cannot be asked. */
bool service_control_reload(struct error *err);

/* ERR_MISSING: it is not installed. The texts of ${ret_config} are to be freed with
 * service_control_config_fini. */
bool service_control_query(
    struct service_status *ret_status, struct service_config *ret_config, struct error *err);
void service_control_config_fini(struct service_config *config);

#endif
