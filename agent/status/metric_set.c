#include "status/metric_set.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/put.h"

/* 64 outputs, 1024 sessions and their rules need a part of it. */
enum { MAX_TEXT_BYTES = 32 * 1024 * 1024, MAX_SAMPLES = 1 << 20 };

void metric_set_init(struct metric_set *set)
{
    *set = (struct metric_set){.count = 0};
    arena_init(&set->memory, MAX_TEXT_BYTES);
}

void metric_set_fini(struct metric_set *set)
{
    free(set->samples);
    arena_fini(&set->memory);
    *set = (struct metric_set){.count = 0};
}

void metric_set_reset(struct metric_set *set)
{
    set->count = 0;
    set->failed = false;
    memset(set->labels, 0, sizeof(set->labels));
    arena_reset(&set->memory);
}

void metric_set_label(struct metric_set *set, size_t index, struct span value)
{
    struct span copy = {.size = 0};
    set->failed = set->failed || !arena_copy(&set->memory, value, &copy);
    set->labels[index] = copy;
    for (size_t i = index + 1; i < METRIC_MAX_LABELS; i++) {
        set->labels[i] = span_make("", 0);
    }
}

void metric_set_label_number(struct metric_set *set, size_t index, uint64_t value)
{
    uint8_t text[PUT_MAX];
    metric_set_label(set, index, span_make(text, (size_t)(put_u64(text, value) - text)));
}

static struct metric_sample *add(struct metric_set *set, enum metric_id id)
{
    if (set->count == MAX_SAMPLES ||
        !grow_list(&set->samples, set->count, &set->capacity, sizeof(*set->samples))) {
        set->failed = true;
        return NULL;
    }
    struct metric_sample *sample = &set->samples[set->count++];
    *sample = (struct metric_sample){.id = id};
    memcpy(sample->labels, set->labels, sizeof(sample->labels));
    return sample;
}

void metric_set_number(struct metric_set *set, enum metric_id id, uint64_t value)
{
    struct metric_sample *sample = add(set, id);
    if (sample) {
        sample->number = value;
    }
}

void metric_set_text(struct metric_set *set, enum metric_id id, struct span value)
{
    struct metric_sample *sample = add(set, id);
    if (sample && !arena_copy(&set->memory, value, &sample->text)) {
        set->failed = true;
    }
}

void metric_set_list(struct metric_set *set, enum metric_id id)
{
    add(set, id);
}

void metric_set_histogram(
    struct metric_set *set, enum metric_id id, const struct histogram *histogram)
{
    struct metric_sample *sample = add(set, id);
    struct histogram *copy = arena_alloc(&set->memory, sizeof(*copy));
    if (!sample || !copy) {
        set->failed = true;
        return;
    }
    *copy = *histogram;
    sample->histogram = copy;
}
