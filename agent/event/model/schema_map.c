#include <stdlib.h>

#include "base/order.h"
#include "event/model/schema.h"

/* Merge the sorted halves of ${entries} by way of ${spare}; of equal values the left one first. */
static void merge_halves(
    struct schema_map_entry *entries, size_t half, size_t count, struct schema_map_entry *spare)
{
    memcpy(spare, entries, half * sizeof(*entries));
    size_t left = 0;
    size_t right = half;
    for (size_t to = 0; left < half; to++) {
        bool take_right = right < count && entries[right].value < spare[left].value;
        entries[to] = take_right ? entries[right++] : spare[left++];
    }
}

static void merge_sort(
    struct schema_map_entry *entries, size_t count, struct schema_map_entry *spare)
{
    if (count > 1) {
        size_t half = count / 2;
        merge_sort(entries, half, spare);
        merge_sort(entries + half, count - half, spare);
        merge_halves(entries, half, count, spare);
    }
}

static int compare_entries(const void *a, const void *b)
{
    const struct schema_map_entry *x = a;
    const struct schema_map_entry *y = b;
    return order_u64(x->value, y->value);
}

/* The first of several entries for one value counts, so equal values keep their order, unless
 * memory is so short that the sort has to do without. Most maps come sorted. */
void schema_map_sort(struct schema_map_entry *entries, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && entries[sorted - 1].value <= entries[sorted].value) {
        sorted++;
    }
    if (sorted >= count) {
        return;
    }
    struct schema_map_entry *spare = malloc(count / 2 * sizeof(*spare));
    if (spare) {
        merge_sort(entries, count, spare);
    } else {
        qsort(entries, count, sizeof(*entries), compare_entries);
    }
    free(spare);
}

struct span schema_map_find(const struct schema_map *map, uint64_t value)
{
    size_t low = 0;
    size_t high = map->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->entries[middle].value < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < map->entry_count && map->entries[low].value == value) {
        return map->entries[low].text;
    }
    return span_make(NULL, 0);
}
