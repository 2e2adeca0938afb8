#ifndef ETWSHIP_APP_APP_READS_H
#define ETWSHIP_APP_APP_READS_H

#include "app/config/app_config.h"

/* Report, at its place in the configuration, each file that an enabled output reads (certificates,
 * keys) and that is missing or unreadable. A Windows path on another system goes to ${refusals}: it
 * cannot be checked here. */
void app_reads_check(
    const struct app_config *config, struct config_report *report, struct config_report *refusals);

#endif
