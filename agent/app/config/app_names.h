#ifndef ETWSHIP_APP_APP_NAMES_H
#define ETWSHIP_APP_APP_NAMES_H

#include "app/config/app_fields.h"

/* Give a name to each session and output without one, and check the names that were given: valid,
 * unique, and a session for each name that an output lists. Errors are added to ${report}; false if
 * there is no memory. */
bool app_names_check(
    struct config *memory, const struct app_root *root, struct config_report *report);

#endif
