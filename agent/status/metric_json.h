#ifndef ETWSHIP_STATUS_METRIC_JSON_H
#define ETWSHIP_STATUS_METRIC_JSON_H

#include "base/buf.h"
#include "status/metric_set.h"

/* Append the set as a JSON object, by the paths of the table. Members of one object must be
 * adjacent in the set, as in metrics.def. */
void metric_json_write(const struct metric_set *set, struct buf *out);

/* Append the members without braces. */
void metric_json_members(const struct metric_set *set, struct buf *out);

/* Append ${text} as a JSON string. */
void metric_json_string(struct span text, struct buf *out);

#endif
