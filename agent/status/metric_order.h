#ifndef ETWSHIP_STATUS_METRIC_ORDER_H
#define ETWSHIP_STATUS_METRIC_ORDER_H

#include "status/metric_set.h"

/* The samples of a set, grouped by metric. A set is in the order of objects; formats for metrics
 * need the order of the table of metrics. */
struct metric_order {
    size_t first[METRIC_COUNT]; /* index of the first sample; SIZE_MAX: none */
    size_t last[METRIC_COUNT];
    size_t *next; /* by sample: the next one of the same metric; SIZE_MAX: none */
};

/* False: the set has failed, or there is no memory;
 * then the caller must not call metric_order_fini. */
bool metric_order_init(struct metric_order *order, const struct metric_set *set);
void metric_order_fini(struct metric_order *order);

#endif
