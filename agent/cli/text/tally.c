#include "cli/text/tally.h"

#include <stdlib.h>

#include "base/span_compare.h"

void tally_init(struct tally *tally)
{
    arena_init(&tally->arena, TALLY_MAX_BYTES);
    map_init(&tally->map, TALLY_MAX_KEYS);
    tally->beyond = 0;
}

void tally_fini(struct tally *tally)
{
    map_fini(&tally->map);
    arena_fini(&tally->arena);
}

struct tally_row *tally_add(struct tally *tally, struct span key)
{
    struct tally_row *row = map_get(&tally->map, key);
    if (!row) {
        row = arena_alloc(&tally->arena, sizeof(*row));
        if (!row || !arena_copy(&tally->arena, key, &row->key) ||
            !map_put(&tally->map, row->key, row)) {
            tally->beyond++;
            return NULL;
        }
    }
    row->count++;
    return row;
}

static int compare(const void *a, const void *b)
{
    const struct tally_row *x = *(struct tally_row *const *)a;
    const struct tally_row *y = *(struct tally_row *const *)b;
    return span_compare(x->key, y->key);
}

struct tally_row **tally_sorted(const struct tally *tally, size_t *ret_count)
{
    struct tally_row **rows = tally->map.count ? malloc(tally->map.count * sizeof(*rows)) : NULL;
    size_t count = 0;
    size_t cursor = 0;
    const struct map_slot *slot;
    while (rows && (slot = map_next(&tally->map, &cursor))) {
        rows[count++] = slot->value;
    }
    if (count > 1) {
        qsort(rows, count, sizeof(*rows), compare);
    }
    *ret_count = count;
    return rows;
}
