#ifndef ETWSHIP_BASE_HISTOGRAM_H
#define ETWSHIP_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* How long things took: counts by duration, in fixed buckets from 5 ms to 30 min. */
enum { HISTOGRAM_BUCKETS = 16 }; /* the last one has no bound */

/* Upper bounds of all buckets but the last, in milliseconds, ascending; a bound belongs to its bucket. */
extern const uint64_t histogram_bounds_ms[HISTOGRAM_BUCKETS - 1];

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS]; /* each of its bucket alone */
    uint64_t sum_ms;
};

/* Add ${count} that took ${ms} each. */
void histogram_add(struct histogram *histogram, uint64_t ms, uint64_t count);

#endif
