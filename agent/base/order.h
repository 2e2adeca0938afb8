#ifndef ETWSHIP_BASE_ORDER_H
#define ETWSHIP_BASE_ORDER_H

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

#endif
