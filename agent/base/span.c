#include "base/span.h"

static uint8_t lower(uint8_t c)
{
    return (uint8_t)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool span_equal_nocase(struct span a, struct span b)
{
    if (a.size != b.size) {
        return false;
    }
    for (size_t i = 0; i < a.size; i++) {
        if (lower(a.data[i]) != lower(b.data[i])) {
            return false;
        }
    }
    return true;
}

size_t span_find(struct span s, const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i + size <= s.size; i++) {
        if (memcmp(s.data + i, text, size) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t span_run(struct span s, bool (*is)(uint8_t c))
{
    size_t size = 0;
    while (size < s.size && is(s.data[size])) {
        size++;
    }
    return size;
}

bool span_ends_nocase(struct span s, const char *end)
{
    struct span ending = span_text(end);
    return s.size >= ending.size && span_equal_nocase(span_from(s, s.size - ending.size), ending);
}

struct span span_trim(struct span s)
{
    while (s.size && span_is_blank(s.data[0])) {
        s = span_from(s, 1);
    }
    while (s.size && span_is_blank(s.data[s.size - 1])) {
        s.size--;
    }
    return s;
}
