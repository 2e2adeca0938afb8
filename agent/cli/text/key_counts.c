#include "cli/text/key_counts.h"

#include <stdlib.h>

#include "base/span_compare.h"

void key_counts_init(struct key_counts *counts)
{
    arena_init(&counts->arena, KEY_COUNTS_MAX_BYTES);
    map_init(&counts->map, KEY_COUNTS_MAX_KEYS);
    counts->beyond = 0;
}

void key_counts_fini(struct key_counts *counts)
{
    map_fini(&counts->map);
    arena_fini(&counts->arena);
}

struct key_count *key_counts_add(struct key_counts *counts, struct span key)
{
    struct key_count *row = map_get(&counts->map, key);
    if (!row) {
        row = arena_alloc(&counts->arena, sizeof(*row));
        if (!row || !arena_copy(&counts->arena, key, &row->key) ||
            !map_put(&counts->map, row->key, row)) {
            counts->beyond++;
            return NULL;
        }
    }
    row->count++;
    return row;
}

static int compare(const void *a, const void *b)
{
    const struct key_count *x = *(struct key_count *const *)a;
    const struct key_count *y = *(struct key_count *const *)b;
    return span_compare(x->key, y->key);
}

struct key_count **key_counts_sorted(const struct key_counts *counts, size_t *ret_count)
{
    struct key_count **rows = counts->map.count ? malloc(counts->map.count * sizeof(*rows)) : NULL;
    size_t count = 0;
    size_t cursor = 0;
    const struct map_slot *slot;
    while (rows && (slot = map_next(&counts->map, &cursor))) {
        rows[count++] = slot->value;
    }
    if (count > 1) {
        qsort(rows, count, sizeof(*rows), compare);
    }
    *ret_count = count;
    return rows;
}
