#ifndef ETWSHIP_PIPELINE_EVICTIONS_H
#define ETWSHIP_PIPELINE_EVICTIONS_H

#include <stddef.h>

#include "base/span.h"
#include "pipeline/batch/time_range.h"

/* Dead letters of one output that made room for others: each one is an event. */
struct eviction {
    struct span output; /* its name; empty: not known */
    uint64_t count;
    struct time_range times; /* when they had become dead letters */
};

/* Counts by output what one change evicts. Zeroed is empty. One thread at a time. */
struct evictions {
    struct eviction_row *rows;
    size_t count;
    size_t capacity;
    struct eviction unnamed; /* those for whose name there was no memory */
};

void evictions_add(struct evictions *evictions, struct span output, uint64_t time);

/* Forget all, and keep the memory. */
void evictions_reset(struct evictions *evictions);

uint64_t evictions_total(const struct evictions *evictions);

/* Call ${tell} for each output of which something was evicted. NULL is fine. */
void evictions_tell(const struct evictions *evictions,
    void (*tell)(void *self, const struct eviction *eviction), void *self);

void evictions_fini(struct evictions *evictions);

#endif
