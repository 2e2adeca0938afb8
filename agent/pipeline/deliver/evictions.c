#include "pipeline/deliver/evictions.h"

#include <string.h>

#include "base/grow.h"

enum { NAME_MAX_BYTES = 512 };

struct eviction_row {
    char name[NAME_MAX_BYTES];
    struct eviction sum; /* without the name, as rows may move */
    size_t size;
};

static struct eviction *find(struct evictions *evictions, struct span output)
{
    struct span name = span_first(output, NAME_MAX_BYTES);
    for (size_t i = evictions->count; i > 0; i--) {
        struct eviction_row *row = &evictions->rows[i - 1];
        if (span_equal(span_make(row->name, row->size), name)) {
            return &row->sum;
        }
    }
    if (!grow_list(
            &evictions->rows, evictions->count, &evictions->capacity, sizeof(*evictions->rows))) {
        return &evictions->unnamed;
    }
    struct eviction_row *row = &evictions->rows[evictions->count++];
    *row = (struct eviction_row){.size = name.size};
    if (name.size) {
        memcpy(row->name, name.data, name.size);
    }
    return &row->sum;
}

void evictions_add(struct evictions *evictions, struct span output, uint64_t time)
{
    struct eviction *sum = find(evictions, output);
    sum->count++;
    time_range_add(&sum->times, (struct time_range){.from = time, .to = time});
}

void evictions_reset(struct evictions *evictions)
{
    evictions->count = 0;
    evictions->unnamed = (struct eviction){.count = 0};
}

uint64_t evictions_total(const struct evictions *evictions)
{
    uint64_t total = evictions->unnamed.count;
    for (size_t i = 0; i < evictions->count; i++) {
        total += evictions->rows[i].sum.count;
    }
    return total;
}

void evictions_tell(const struct evictions *evictions,
    void (*tell)(void *self, const struct eviction *eviction), void *self)
{
    for (size_t i = 0; tell && i < evictions->count; i++) {
        const struct eviction_row *row = &evictions->rows[i];
        struct eviction sum = row->sum;
        sum.output = span_make(row->name, row->size);
        tell(self, &sum);
    }
    if (tell && evictions->unnamed.count) {
        tell(self, &evictions->unnamed);
    }
}

void evictions_fini(struct evictions *evictions)
{
    free(evictions->rows);
    *evictions = (struct evictions){.count = 0};
}
