#ifndef ETWSHIP_TESTS_BENCH_BENCH_RIG_H
#define ETWSHIP_TESTS_BENCH_BENCH_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "pipeline/record/record_copy.h"
#include "schema/cache/schema_cache.h"
#include "support/etl_mix.h"

/* Shared by benchmarks of formats: events of a made trace, and the median of rounds. */

static inline void rig_die(const char *what)
{
    fprintf(stderr, "benchmark: %s\n", what);
    exit(1);
}

/* The trace of the events. */
static inline struct trace_info rig_trace(void)
{
    return (struct trace_info){.host_name = span_text("PC-0042"),
        .clock = {.type = TRACE_CLOCK_QPC,
            .start_time = UINT64_C(134397270000000000),
            .frequency = 10000000},
        .pointer_size = 8};
}

/* ${cache} learns the definitions of the made trace; returns the trace's generator. */
static inline struct etl_mix *rig_mix(struct schema_cache *cache, struct trace_info *trace)
{
    struct etl_mix_options options = {
        .seed = 1, .processors = 4, .clock = trace->clock, .trace = trace};
    struct etl_mix *mix = etl_mix_create(&options, NULL);
    const struct etl_mix_event *event;
    while (mix && (event = etl_mix_metadata(mix))) {
        schema_cache_learn(cache, event->record);
    }
    return mix;
}

/* The next event of ${kind}, which the caller frees. */
static inline struct event_record *rig_record(struct etl_mix *mix, enum etl_mix_kind kind)
{
    const struct etl_mix_event *event = mix ? etl_mix_make(mix, kind) : NULL;
    void *memory = event ? malloc(record_copy_size(event->record)) : NULL;
    if (!memory) {
        rig_die("out of memory");
    }
    return record_copy_make(event->record, memory);
}

static inline int rig_compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double rig_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), rig_compare);
    return values[count / 2];
}

#endif
