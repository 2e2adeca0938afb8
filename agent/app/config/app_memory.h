#ifndef ETWSHIP_APP_APP_MEMORY_H
#define ETWSHIP_APP_APP_MEMORY_H

#include "app/config/app_config.h"

/* The least `agent.memory` with which everything that is enabled stays within it, in whole MB; 0 if
 * there is no memory to find out. */
uint64_t app_memory_needed(const struct app_config *config);

/* What definitions of files may take of `agent.memory`; 0 if there is no memory to find out. */
uint64_t app_memory_definitions(const struct app_config *config);

/* False if `agent.memory` is less than that: ${err} says what would do, as "what. what to do". */
bool app_memory_check(const struct app_config *config, struct error *err);

#endif
