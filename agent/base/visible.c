#include "base/visible.h"

#include <stdio.h>

enum { SHOWN_BYTES = 6 }; /* \u00xx */

/* The control character at ${at}, and its bytes; 0 bytes: there is none. */
static size_t control_at(struct span text, size_t at, unsigned *ret_character)
{
    const uint8_t *c = text.data + at;
    size_t left = text.size - at;
    if ((*c < 0x20 && *c != '\n') || *c == 0x7f) {
        *ret_character = *c;
        return 1;
    }
    if (*c == 0xc2 && left >= 2 && c[1] >= 0x80 && c[1] < 0xa0) {
        *ret_character = c[1];
        return 2;
    }
    if (*c == 0xe2 && left >= 3 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9)) {
        *ret_character = 0x2000u + (c[2] & 0x3fu);
        return 3;
    }
    return 0;
}

static size_t growth_of(struct span text)
{
    size_t growth = 0;
    unsigned character;
    for (size_t at = 0; at < text.size;) {
        size_t size = control_at(text, at, &character);
        growth += size ? SHOWN_BYTES - size : 0;
        at += size ? size : 1;
    }
    return growth;
}

void visible_make(struct buf *text, size_t start)
{
    size_t growth = growth_of(span_from(buf_span(text), start));
    if (growth == 0) {
        return;
    }
    if (!buf_reserve(text, growth)) {
        text->size = start;
        return;
    }
    /* The text makes room in front of itself, which it has used up when it is at its end. */
    memmove(text->data + start + growth, text->data + start, text->size - start);
    text->size += growth;
    const struct span all = buf_span(text);
    size_t to = start;
    unsigned character;
    for (size_t from = start + growth; from < all.size;) {
        size_t size = control_at(all, from, &character);
        if (size) {
            char shown[SHOWN_BYTES + 1];
            snprintf(shown, sizeof(shown), "\\u%04x", character & 0xffffu);
            memcpy(text->data + to, shown, SHOWN_BYTES);
            to += SHOWN_BYTES;
            from += size;
        } else {
            text->data[to++] = text->data[from++];
        }
    }
}
