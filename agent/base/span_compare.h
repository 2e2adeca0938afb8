#ifndef ETWSHIP_BASE_SPAN_COMPARE_H
#define ETWSHIP_BASE_SPAN_COMPARE_H

#include "base/span.h"

/* Byte order, a prefix before a longer span: negative, zero or positive like memcmp. */
static inline int span_compare(struct span a, struct span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.data, b.data, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

#endif
