#ifndef ETWSHIP_APP_APP_READS_H
#define ETWSHIP_APP_APP_READS_H

#include "app/config/app_config.h"

/* Report each file that an enabled output reads (certificates, keys) and that is not there, or cannot be read,
 * at its place. What has a path of Windows elsewhere goes to ${refusals}: it cannot be looked for here. */
void app_reads_check(
    const struct app_config *config, struct config_report *report, struct config_report *refusals);

#endif
