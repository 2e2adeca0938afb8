#ifndef ETWSHIP_APP_APP_STREAMS_H
#define ETWSHIP_APP_APP_STREAMS_H

#include "app/config/app_config.h"

/* Estimate from the configuration how many streams an output will create at its destination. Each
 * costs memory there, and an output creates no more than its limit. */

/* Append a line about it, without its end. False: ${output} makes none. */
bool app_streams_write(
    const struct app_config *config, const struct app_output *output, struct buf *out);

/* Warn where they are more than the output may make. */
void app_streams_warn(
    const struct app_config *config, const struct app_output *output, struct config_report *report);

#endif
