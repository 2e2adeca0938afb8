#include "base/histogram.h"

const uint64_t histogram_bounds_ms[HISTOGRAM_BUCKETS - 1] = {
    5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000, 1800000};

void histogram_add(struct histogram *histogram, uint64_t ms, uint64_t count)
{
    size_t bucket = 0;
    while (bucket + 1 < HISTOGRAM_BUCKETS && ms > histogram_bounds_ms[bucket]) {
        bucket++;
    }
    histogram->counts[bucket] += count;
    histogram->sum_ms += ms * count;
}
