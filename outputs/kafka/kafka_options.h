#ifndef ETWSHIP_OUTPUTS_KAFKA_OPTIONS_H
#define ETWSHIP_OUTPUTS_KAFKA_OPTIONS_H

#include "config/config_check.h"

/* Check options that have librdkafka's own names. Unknown options, wrong values, and options that
 * have another key in the configuration are faults at their places. A build without librdkafka
 * reports none. */
void kafka_options_check(struct config_check *check, const struct config_map *options);

#endif
