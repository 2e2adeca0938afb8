#ifndef ETWSHIP_APP_APP_PROVIDERS_H
#define ETWSHIP_APP_APP_PROVIDERS_H

#include "app/app_config.h"

/* Complete and check the providers of a session. What is wrong is added to ${report}; false if there
 * is no memory. */
bool app_providers_check(
    struct config *memory, struct app_session *session, struct config_report *report);

#endif
