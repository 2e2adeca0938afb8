#ifndef ETWSHIP_CLI_SERVICE_HEALTH_H
#define ETWSHIP_CLI_SERVICE_HEALTH_H

#include "base/buf.h"

/* Ask the agent that runs with the configuration ${path} whether it is well, where its section
 * `status` says. Append "health   healthy" or what is wrong, a line each; nothing if the
 * configuration cannot be read or names no place. */
void service_health_add(const char *path, struct buf *out);

#endif
