#ifndef ETWSHIP_STATUS_METRIC_SET_H
#define ETWSHIP_STATUS_METRIC_SET_H

#include "base/arena.h"
#include "base/histogram.h"
#include "status/metric.h"

/*
 * The values at one moment, in the order of the JSON. Texts are copied. Out of memory, or beyond a
 * limit, `failed` is set and the set must not be used. One thread at a time.
 */
struct metric_sample {
    enum metric_id id;
    struct span labels[METRIC_MAX_LABELS];
    uint64_t number;
    struct span text;
    const struct histogram *histogram;
};

struct metric_set {
    struct metric_sample *samples;
    size_t count;
    size_t capacity;
    struct arena memory;
    struct span labels[METRIC_MAX_LABELS]; /* of the next sample */
    bool failed;
};

void metric_set_init(struct metric_set *set);
void metric_set_fini(struct metric_set *set); /* zeroed is fine */
void metric_set_reset(struct metric_set *set);

/* Set label ${index} of the following samples; later labels are unset. */
void metric_set_label(struct metric_set *set, size_t index, struct span value);
void metric_set_label_number(struct metric_set *set, size_t index, uint64_t value);

void metric_set_number(struct metric_set *set, enum metric_id id, uint64_t value);
void metric_set_text(struct metric_set *set, enum metric_id id, struct span value);
void metric_set_list(struct metric_set *set, enum metric_id id);
void metric_set_histogram(
    struct metric_set *set, enum metric_id id, const struct histogram *histogram);

#endif
