#ifndef ETWSHIP_PIPELINE_GROW_H
#define ETWSHIP_PIPELINE_GROW_H

#include <stdlib.h>

/* ${list} with room for more than ${count} elements of ${size} bytes, doubled if need be; NULL when
 * out of memory, and then the old list stands. */
static inline void *grow_list(void *list, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return list;
    }
    size_t wanted = *capacity ? *capacity * 2 : 64;
    void *grown = realloc(list, wanted * size);
    if (grown) {
        *capacity = wanted;
    }
    return grown;
}

#endif
