#ifndef ETWSHIP_BASE_GROW_H
#define ETWSHIP_BASE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Arrays that grow: a pointer, a count and a capacity, which the caller keeps and zero-initialises,
 * and which free() releases. Every function takes the address of the pointer, whatever it points
 * to, and the ${size} of an element. False: there is no memory, or the array would have more bytes
 * than a size_t counts; pointer, capacity and elements are as they were. New elements are not
 * initialised. A limit of the count is the caller's to check.
 */

/* Give the array exactly ${count} elements, at least one. For what keeps its capacity otherwise:
 * several arrays with one capacity, or a list that gives memory back. */
static inline bool grow_array(void *list, size_t count, size_t size)
{
    void *elements; /* copied, as a pointer of another type must not be read as a void pointer */
    memcpy(&elements, list, sizeof(elements));
    elements = count <= SIZE_MAX / size ? realloc(elements, count * size) : NULL;
    if (elements) {
        memcpy(list, &elements, sizeof(elements));
    }
    return elements != NULL;
}

/* Make room for ${count} elements, and no more: for arrays that a batch sizes. Of arrays that share
 * a capacity, all but the last get the address of a copy of it. */
static inline bool grow_to(void *list, size_t count, size_t *capacity, size_t size)
{
    if (count <= *capacity) {
        return true;
    }
    bool is_grown = grow_array(list, count, size);
    *capacity = is_grown ? count : *capacity;
    return is_grown;
}

/* Make room for one element after ${count}, which is at most the capacity: a full array becomes
 * twice as long. */
static inline bool grow_list(void *list, size_t count, size_t *capacity, size_t size)
{
    enum { FIRST_CAPACITY = 64 };
    if (count < *capacity) {
        return true;
    }
    size_t more = *capacity ? *capacity : FIRST_CAPACITY;
    return more <= SIZE_MAX - *capacity && grow_to(list, *capacity + more, capacity, size);
}

#endif
