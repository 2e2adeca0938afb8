#ifndef ETWSHIP_APP_APP_ACCOUNT_H
#define ETWSHIP_APP_APP_ACCOUNT_H

#include "app/config/app_config.h"
#include "service/service_plan.h"

/*
 * Which sessions the account of a service has too few rights for. LocalSystem has them all but
 * those that Windows gives to no agent (etw_enable_protected). A virtual account is a member of
 * Performance Log Users, no administrator: it may start, control and read sessions, and enable
 * providers, but not those of the kernel (StartTrace, ControlTrace and "Configuring and Starting a
 * SystemTraceProvider Session" on learn.microsoft.com). No I/O.
 */

/* Why ${account} has too few rights for the session, as "why. what to do"; NULL: its configuration
 * shows no lack of rights. */
const char *app_account_lacks(enum service_account account, const struct app_session *session);

/* Add that to ${report} for each session that is enabled, at its place. */
void app_account_find(
    const struct app_config *config, enum service_account account, struct config_report *report);

#endif
