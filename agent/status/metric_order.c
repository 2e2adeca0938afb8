#include "status/metric_order.h"

#include <stdlib.h>

bool metric_order_init(struct metric_order *order, const struct metric_set *set)
{
    order->next = set->failed ? NULL : calloc(set->count + 1, sizeof(*order->next));
    if (!order->next) {
        return false;
    }
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        order->first[i] = SIZE_MAX;
    }
    for (size_t i = 0; i < set->count; i++) {
        enum metric_id id = set->samples[i].id;
        order->next[i] = SIZE_MAX;
        if (order->first[id] == SIZE_MAX) {
            order->first[id] = i;
        } else {
            order->next[order->last[id]] = i;
        }
        order->last[id] = i;
    }
    return true;
}

void metric_order_fini(struct metric_order *order)
{
    free(order->next);
}
