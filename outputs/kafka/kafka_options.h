#ifndef ETWSHIP_OUTPUTS_KAFKA_OPTIONS_H
#define ETWSHIP_OUTPUTS_KAFKA_OPTIONS_H

#include "config/config_check.h"

/* Options of librdkafka by its own names: what is unknown to it, wrong, or written elsewhere is a fault at its
 * place. A build without librdkafka knows none, and finds nothing. */
void kafka_options_check(struct config_check *check, const struct config_map *options);

#endif
