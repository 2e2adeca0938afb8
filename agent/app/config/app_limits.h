#ifndef ETWSHIP_APP_APP_LIMITS_H
#define ETWSHIP_APP_APP_LIMITS_H

#include "app/config/app_config.h"
#include "app/config/app_fields.h"
#include "base/buf.h"

/* `agent.limits`: what the system enforces, in addition to `agent.memory`, which the agent itself
 * enforces. */

/* Report a limit that the agent would reach in normal operation. */
void app_limits_check(
    struct config *memory, const struct app_root *root, struct config_report *report);

/* Warn of a limit that leaves the agent hardly able to work, or has no effect on this system. */
void app_limits_warn(const struct app_config *config, struct config_report *report);

/* The limits that are set, as in "memory 256MB, cpu 20%, priority idle"; nothing if none is. */
void app_limits_write(const struct app_limits *limits, struct buf *out);

#endif
