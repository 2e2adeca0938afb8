#ifndef ETWSHIP_APP_APP_MEMORY_H
#define ETWSHIP_APP_APP_MEMORY_H

#include "app/config/app_config.h"

/* The smallest `agent.memory` that is enough for everything that is enabled, in whole MB; 0 if
 * there is no memory to find out. */
uint64_t app_memory_needed(const struct app_config *config);

/* The share of `agent.memory` for definitions of files; 0 if there is no memory to find out. */
uint64_t app_memory_definitions(const struct app_config *config);

/* False if `agent.memory` is less than the minimum: ${err} gives it, as "what. what to do". */
bool app_memory_check(const struct app_config *config, struct error *err);

#endif
