#include "base/visible.h"

#include <stdio.h>

#include "base/utf.h"

enum { SHOWN_SIZE = 7 }; /* \uXXXX and a NUL */

/* Write the JSON escape of a character; returns its size. */
static size_t spell(uint32_t c, char shown[SHOWN_SIZE])
{
    static const char letters[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    if (c < sizeof(letters) && letters[c]) {
        shown[0] = '\\';
        shown[1] = letters[c];
        return 2;
    }
    return (size_t)snprintf(shown, SHOWN_SIZE, "\\u%04x", (unsigned)(c & 0xffff));
}

/* Read the character at ${*at} and how it is shown. Returns the size of that, which is never
 * smaller than the input: an invalid sequence has at most the 3 bytes of U+FFFD. */
static size_t show(struct span text, size_t *at, bool one_line, char shown[SHOWN_SIZE])
{
    uint32_t c = utf8_next(text, at);
    if (utf_is_unseen(c) && (c != '\n' || one_line)) {
        return spell(c, shown);
    }
    return utf8_put(c, (uint8_t *)shown);
}

static size_t size_of_shown(struct span text, bool one_line)
{
    size_t size = 0;
    char shown[SHOWN_SIZE];
    for (size_t at = 0; at < text.size;) {
        size += show(text, &at, one_line, shown);
    }
    return size;
}

static void make(struct buf *text, size_t start, bool one_line)
{
    struct span behind = span_from(buf_span(text), start);
    if (behind.size == 0) {
        return;
    }
    size_t growth = size_of_shown(behind, one_line) - behind.size;
    if (!buf_reserve(text, growth)) {
        text->size = start;
        return;
    }
    /* moves the text back to make room before it; at its end the room is used up */
    memmove(text->data + start + growth, text->data + start, text->size - start);
    text->size += growth;
    const struct span all = buf_span(text);
    size_t to = start;
    char shown[SHOWN_SIZE];
    for (size_t from = start + growth; from < all.size;) {
        size_t size = show(all, &from, one_line, shown);
        memcpy(text->data + to, shown, size);
        to += size;
    }
}

void visible_make(struct buf *text, size_t start)
{
    make(text, start, false);
}

void visible_make_line(struct buf *out, size_t start)
{
    make(out, start, true);
}

void visible_add(struct buf *out, struct span name)
{
    size_t start = out->size;
    buf_add_span(out, name);
    make(out, start, true);
}

void visible_fit(char *text, size_t room)
{
    struct span all = span_text(text);
    struct buf out;
    size_t at = 0;
    while (at < all.size && !utf_is_unseen(all.data[at]) && all.data[at] < 0x80) {
        at++;
    }
    if (at == all.size) {
        return; /* the usual case */
    }
    buf_init(&out, room - 1);
    char shown[SHOWN_SIZE];
    for (at = 0; at < all.size;) {
        size_t size = show(all, &at, true, shown);
        if (size > room - 1 - out.size) {
            break;
        }
        buf_add(&out, shown, size);
    }
    if (!out.failed) {
        memcpy(text, out.size ? out.data : (const uint8_t *)"", out.size);
    }
    text[out.failed ? 0 : out.size] = 0;
    buf_fini(&out);
}
