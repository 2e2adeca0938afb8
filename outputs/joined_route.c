#include "outputs/joined_route.h"

static const char separator[] = JOINED_ROUTE_SEPARATOR;

enum { SEPARATOR_BYTES = sizeof(separator) - 1 };

/* The part that ${rest} begins with; ${rest} loses it. False: there is no separator behind it. */
static bool next(struct span *rest, struct span *ret_part)
{
    for (size_t i = 0; i + SEPARATOR_BYTES <= rest->size; i++) {
        if (memcmp(rest->data + i, separator, SEPARATOR_BYTES) == 0) {
            *ret_part = span_first(*rest, i);
            *rest = span_from(*rest, i + SEPARATOR_BYTES);
            return true;
        }
    }
    *ret_part = *rest;
    *rest = span_make(NULL, 0);
    return false;
}

bool joined_route_split(struct span rendered, struct span *ret_parts, size_t count)
{
    size_t separators = 0;
    bool more = true;
    for (size_t i = 0; i < count; i++) {
        more = next(&rendered, &ret_parts[i]);
        separators += more;
    }
    return !more && separators + 1 == count;
}
