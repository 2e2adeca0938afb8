#ifndef ETWSHIP_STATUS_METRIC_ORDER_H
#define ETWSHIP_STATUS_METRIC_ORDER_H

#include "status/metric_set.h"

/* The samples of a set by their metric: a set is in the order of objects, and formats for metrics are in that of the
 * table. */
struct metric_order {
    size_t first[METRIC_COUNT]; /* sample; SIZE_MAX: there is none */
    size_t last[METRIC_COUNT];
    size_t *next; /* by sample: that of the same metric behind it; SIZE_MAX: none */
};

/* False: the set has failed, or there is no memory, and nothing is to be freed. */
bool metric_order_init(struct metric_order *order, const struct metric_set *set);
void metric_order_fini(struct metric_order *order);

#endif
