#ifndef ETWSHIP_APP_APP_AGE_H
#define ETWSHIP_APP_APP_AGE_H

#include "app/config/app_config.h"

/* Warn where recorded traces go to an output whose destination refuses old events
 * (output_ops.refuses_old), and say which traces end too long ago: their headers are read.
 * Silent where a session has one trace alone, which is recent.
 */
void app_age_warn(
    const struct app_config *config, const struct app_output *output, struct config_report *report);

#endif
