#ifndef ETWSHIP_APP_APP_TARGETS_H
#define ETWSHIP_APP_APP_TARGETS_H

#include "app/config/app_config.h"
#include "app/config/app_fields.h"

/* Finds outputs that would write into each other's files, or into the log's. */

/* Report the enabled output ${index} if its path may give a file that an earlier output may write
 * to, a file that one of them is rotated to, or the log. */
void app_targets_check(
    struct config *memory, const struct app_root *root, size_t index, struct config_report *report);

/* Warn of such outputs if they conflict only where names that differ in case are one name,
 * as on Windows. */
void app_targets_warn(const struct app_config *config, size_t index, struct config_report *report);

#endif
