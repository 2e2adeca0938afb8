#ifndef ETWSHIP_STATUS_METRIC_OTLP_OWN_H
#define ETWSHIP_STATUS_METRIC_OTLP_OWN_H

#include "status/metric_order.h"
#include "status/metric_otlp.h"

/* Shared by the two encodings. */
struct metric_otlp {
    const struct metric_set *set;
    const struct metric_otlp_origin *origin;
    struct metric_order order;
    /* when the agent read its configuration, which resets counters; nanoseconds since 1970 */
    uint64_t loaded;
};

enum { METRIC_OTLP_CUMULATIVE = 2 }; /* AggregationTemporality */

/* Attribute ${index} of the resource; false: there is none.
 * Encodings leave out attributes without a value. */
bool metric_otlp_resource(const struct metric_otlp_origin *origin, size_t index,
    const char **ret_key, struct span *ret_value);

/* Is ${id} a numeric metric with samples? */
bool metric_otlp_has(const struct metric_otlp *self, enum metric_id id);

/* Start of the samples of ${id}, in nanoseconds since 1970; 0 for gauges. */
uint64_t metric_otlp_start(const struct metric_otlp *self, enum metric_id id);

/* Unit of ${metric} in UCUM; empty: none. */
const char *metric_otlp_unit(const struct metric *metric);

void metric_otlp_proto(const struct metric_otlp *self, struct buf *out);
void metric_otlp_json(const struct metric_otlp *self, struct buf *out);

#endif
