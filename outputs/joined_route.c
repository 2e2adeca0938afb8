#include "outputs/joined_route.h"

/* The part that ${rest} begins with; ${rest} loses it. False: there is no separator behind it. */
static bool next(struct span *rest, struct span *ret_part)
{
    size_t at = span_find(*rest, JOINED_ROUTE_SEPARATOR);
    *ret_part = span_first(*rest, at);
    *rest = at == SIZE_MAX ? span_make(NULL, 0)
                           : span_from(*rest, at + strlen(JOINED_ROUTE_SEPARATOR));
    return at != SIZE_MAX;
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

void joined_route_clean(struct span *part, size_t most, char (*letter)(char c), char *room)
{
    *part = span_first(*part, most);
    for (size_t i = 0; i < part->size; i++) {
        room[i] = letter((char)part->data[i]);
    }
    part->data = (const uint8_t *)room;
}
