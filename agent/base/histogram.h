#ifndef ETWSHIP_BASE_HISTOGRAM_H
#define ETWSHIP_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Durations, counted in fixed buckets from 5 ms to 30 min. */
enum { HISTOGRAM_BUCKETS = 16 }; /* the last one is unbounded */

/* Inclusive upper bounds of all buckets except the last, in milliseconds, ascending. */
extern const uint64_t histogram_bounds_ms[HISTOGRAM_BUCKETS - 1];

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS]; /* per bucket, not cumulative */
    uint64_t sum_ms;
};

/* Add ${count} durations of ${ms} each. */
void histogram_add(struct histogram *histogram, uint64_t ms, uint64_t count);

#endif
