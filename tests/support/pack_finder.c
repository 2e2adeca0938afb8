#include "support/pack_finder.h"

#include <stdlib.h>

enum {
    HASH_BITS = 14,
    MAX_TRIES = 32,
};

bool pack_finder_init(struct pack_finder *finder, struct span in, size_t max_distance)
{
    *finder = (struct pack_finder){.in = in, .max_distance = max_distance};
    finder->latest = calloc((size_t)1 << HASH_BITS, sizeof(*finder->latest));
    finder->before = calloc(in.size ? in.size : 1, sizeof(*finder->before));
    return finder->latest && finder->before;
}

void pack_finder_fini(struct pack_finder *finder)
{
    free(finder->latest);
    free(finder->before);
}

static size_t hash3(const uint8_t *p)
{
    uint32_t v = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
    return (v * 2654435761u) >> (32 - HASH_BITS);
}

static void add_until(struct pack_finder *finder, size_t at)
{
    for (; finder->added < at; finder->added++) {
        if (finder->in.size - finder->added >= PACK_MIN_MATCH) {
            size_t *latest = &finder->latest[hash3(finder->in.data + finder->added)];
            finder->before[finder->added] = *latest;
            *latest = finder->added + 1;
        }
    }
}

struct pack_match pack_finder_find(struct pack_finder *finder, size_t at, size_t end, size_t lowest)
{
    struct pack_match best = {0, 0};
    add_until(finder, at);
    if (end - at < PACK_MIN_MATCH) {
        return best;
    }
    const uint8_t *data = finder->in.data;
    size_t next = finder->latest[hash3(data + at)];
    for (int tries = 0; next > lowest && tries < MAX_TRIES; tries++) {
        size_t from = next - 1;
        if (at - from > finder->max_distance) {
            break;
        }
        size_t length = 0;
        while (at + length < end && data[from + length] == data[at + length]) {
            length++;
        }
        if (length >= PACK_MIN_MATCH && length > best.length) {
            best = (struct pack_match){length, at - from};
        }
        next = finder->before[from];
    }
    return best;
}
