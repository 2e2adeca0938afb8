#include "base/span.h"

#include <stdlib.h>

bool span_equal_nocase(struct span a, struct span b)
{
    if (a.size != b.size) {
        return false;
    }
    for (size_t i = 0; i < a.size; i++) {
        if (span_lower(a.data[i]) != span_lower(b.data[i])) {
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

bool span_is_ascii(struct span s)
{
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] >= 0x80) {
            return false;
        }
    }
    return true;
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

char *span_copy(struct span s)
{
    char *copy = malloc(s.size + 1);
    if (copy) {
        if (s.size) {
            memcpy(copy, s.data, s.size);
        }
        copy[s.size] = '\0';
    }
    return copy;
}
