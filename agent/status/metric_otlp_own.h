#ifndef ETWSHIP_STATUS_METRIC_OTLP_OWN_H
#define ETWSHIP_STATUS_METRIC_OTLP_OWN_H

#include "status/metric_order.h"
#include "status/metric_otlp.h"

/* What the two encodings have in common. */
struct metric_otlp {
    const struct metric_set *set;
    const struct metric_otlp_source *source;
    struct metric_order order;
    uint64_t
        loaded; /* nanoseconds since 1970: when the configuration was read whose counters these are */
};

enum { METRIC_OTLP_CUMULATIVE = 2 }; /* AggregationTemporality */

/* Attributes of the resource; false: there is no ${index}. What has no value is left out. */
bool metric_otlp_resource(const struct metric_otlp_source *source, size_t index,
    const char **ret_key, struct span *ret_value);

/* Is ${id} a metric, and are there samples of it? */
bool metric_otlp_has(const struct metric_otlp *self, enum metric_id id);

/* Since when its samples count; 0 for gauges. */
uint64_t metric_otlp_start(const struct metric_otlp *self, enum metric_id id);

/* In the code of units, UCUM. */
const char *metric_otlp_unit(const struct metric *metric);

void metric_otlp_proto(const struct metric_otlp *self, struct buf *out);
void metric_otlp_json(const struct metric_otlp *self, struct buf *out);

#endif
