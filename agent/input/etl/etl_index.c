#include "input/etl/etl_index.h"

#include <stdlib.h>

#include "base/grow.h"

void etl_index_fini(struct etl_index *index)
{
    free(index->entries);
    *index = (struct etl_index){0};
}

bool etl_index_add(
    struct etl_index *index, uint64_t offset, uint16_t chain, size_t epoch, uint64_t sequence)
{
    /* doubling is cheap: large blocks are moved by page tables, and untouched pages take no
     * memory */
    if (!grow_list(&index->entries, index->count, &index->capacity, sizeof(*index->entries))) {
        return false;
    }
    index->entries[index->count++] = (struct etl_index_entry){
        .place = offset << 16 | chain,
        .order = (uint64_t)epoch << 56 | (sequence & (UINT64_MAX >> 8)),
    };
    return true;
}

static bool is_before(const struct etl_index_entry *a, const struct etl_index_entry *b)
{
    if (etl_index_chain(a) != etl_index_chain(b)) {
        return etl_index_chain(a) < etl_index_chain(b);
    }
    return a->order != b->order ? a->order < b->order : a->place < b->place;
}

static void sift_down(struct etl_index_entry *entries, size_t at, size_t count)
{
    struct etl_index_entry moving = entries[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && is_before(&entries[child], &entries[child + 1])) {
            child++;
        }
        if (!is_before(&moving, &entries[child])) {
            break;
        }
        entries[at] = entries[child];
        at = child;
    }
    entries[at] = moving;
}

/* Heap sort: in place, while qsort may need as much memory again, and never quadratic. The order is
 * total because offsets differ, so stability does not matter. */
void etl_index_sort(struct etl_index *index)
{
    struct etl_index_entry *entries = index->entries;
    for (size_t i = index->count / 2; i-- > 0;) {
        sift_down(entries, i, index->count);
    }
    for (size_t i = index->count; i-- > 1;) {
        struct etl_index_entry last = entries[0];
        entries[0] = entries[i];
        entries[i] = last;
        sift_down(entries, 0, i);
    }
    if (index->count && grow_array(&index->entries, index->count, sizeof(*index->entries))) {
        index->capacity = index->count;
    }
}
