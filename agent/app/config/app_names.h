#ifndef ETWSHIP_APP_APP_NAMES_H
#define ETWSHIP_APP_APP_NAMES_H

#include "app/config/app_fields.h"

/* Give each session and output without a name one, and check those that were given: fit, unique,
 * and for every name that an output lists there is a session. What is wrong is added to ${report};
 * false if there is no memory. */
bool app_names_check(
    struct config *memory, const struct app_root *root, struct config_report *report);

#endif
