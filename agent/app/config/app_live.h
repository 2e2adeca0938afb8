#ifndef ETWSHIP_APP_APP_LIVE_H
#define ETWSHIP_APP_APP_LIVE_H

#include "app/config/app_config.h"

/*
 * Errors of an ETW session that its input cannot find in its settings alone: names of kernel
 * events, which the definitions of this build have on every system, and settings that do not go
 * with its providers (call app_providers_check first). Added to ${report}, each at its place.
 */
void app_live_check(
    const struct config *memory, const struct app_session *session, struct config_report *report);

#endif
