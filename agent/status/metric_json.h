#ifndef ETWSHIP_STATUS_METRIC_JSON_H
#define ETWSHIP_STATUS_METRIC_JSON_H

#include "base/buf.h"
#include "status/metric_set.h"

/* Append the set as a JSON object, by the paths of the table. What one object has must stand together in the set, as
 * metrics.def has it. */
void metric_json_write(const struct metric_set *set, struct buf *out);

/* The same without the braces around it, to stand among other members. */
void metric_json_members(const struct metric_set *set, struct buf *out);

/* Append ${text} as a JSON string. */
void metric_json_string(struct span text, struct buf *out);

#endif
