#ifndef ETWSHIP_TESTS_SUPPORT_PAYLOAD_H
#define ETWSHIP_TESTS_SUPPORT_PAYLOAD_H

#include <stdlib.h>
#include <string.h>

#include "base/span.h"

/*
 * Payloads as tests write them: hex digits in pairs, 'text' for its bytes, L'text' for UTF-16 of
 * ASCII; blanks between. `2a00 L'Name' 0000`. The result is a heap block of exactly that size, so
 * that a sanitizer sees every read after it; payload_free gives it back.
 */
static inline unsigned payload_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static inline struct span payload_make(const char *text)
{
    uint8_t *bytes = malloc(strlen(text) * 2 + 1);
    size_t size = 0;
    while (bytes && *text) {
        size_t width = *text == 'L' ? 2 : 1;
        text += width - 1;
        if (*text == ' ') {
            text++;
        } else if (*text == '\'') {
            for (text++; *text != '\''; text++) {
                bytes[size] = (uint8_t)*text;
                bytes[size + width - 1] = width == 2 ? 0 : (uint8_t)*text;
                size += width;
            }
            text++;
        } else {
            bytes[size++] = (uint8_t)(payload_digit(text[0]) << 4 | payload_digit(text[1]));
            text += 2;
        }
    }
    uint8_t *exact = malloc(size ? size : 1);
    if (exact && bytes) {
        memcpy(exact, bytes, size);
    }
    free(bytes);
    return span_make(exact, exact ? size : 0);
}

static inline void payload_free(struct span payload)
{
    free((void *)(uintptr_t)payload.data);
}

#endif
