#ifndef ETWSHIP_BASE_ORDER_H
#define ETWSHIP_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* What functions for qsort() consist of: below 0, 0 or above 0, as ${a} is less than, equal to or
 * greater than ${b}. `order ? order : …` goes on to the next key. Texts have span_compare, GUIDs
 * guid_compare. */
static inline int order_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* For qsort(): ascending numbers, each a uint64_t. */
static inline int order_numbers(const void *a, const void *b)
{
    return order_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Index of the first of ${count} items whose number is not below ${number}; ${count}: there is
 * none. Each item begins with its number, a uint64_t, and they ascend. */
static inline size_t order_place(
    const void *items, size_t count, size_t item_bytes, uint64_t number)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (*(const uint64_t *)(const void *)((const char *)items + middle * item_bytes) < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

#endif
