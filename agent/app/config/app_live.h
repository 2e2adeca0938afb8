#ifndef ETWSHIP_APP_APP_LIVE_H
#define ETWSHIP_APP_APP_LIVE_H

#include "app/config/app_config.h"

/*
 * What is wrong with a session of ETW beyond what its input sees in its settings alone: names of
 * kernel events, which the definitions of this build know on every system, and settings that do not
 * go with its providers (app_providers_check comes first). Added to ${report}, each mistake at its
 * place.
 */
void app_live_check(
    const struct config *memory, const struct app_session *session, struct config_report *report);

#endif
