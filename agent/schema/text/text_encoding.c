#include "schema/text/text_encoding.h"

#include "base/utf.h"

/* The encoding of a file is detected by its byte order mark, the NULs of UTF-16, and whether it is
 * valid UTF-8. */

static bool has_mark(struct span text, const char *mark)
{
    size_t size = strlen(mark);
    return text.size >= size && memcmp(text.data, mark, size) == 0;
}

static bool is_utf8(struct span text)
{
    for (size_t at = 0; at < text.size;) {
        if (text.data[at] < 0x80) {
            at++;
            continue;
        }
        size_t start = at;
        if (utf8_next(text, &at) == 0xfffd && !has_mark(span_from(text, start), "\xef\xbf\xbd")) {
            return false;
        }
    }
    return true;
}

/* Detects UTF-16 by its mark or by the NULs in ASCII text. */
static bool is_utf16(struct span bytes, bool *ret_big, size_t *ret_mark)
{
    *ret_big = has_mark(bytes, "\xfe\xff");
    *ret_mark = *ret_big || has_mark(bytes, "\xff\xfe") ? 2 : 0;
    if (*ret_mark || bytes.size < 4) {
        return *ret_mark != 0;
    }
    *ret_big = bytes.data[0] == 0 && bytes.data[2] == 0;
    return *ret_big || (bytes.data[1] == 0 && bytes.data[3] == 0);
}

static bool utf16_to_text(struct span bytes, bool big, struct arena *arena, struct span *ret_text)
{
    uint8_t *copy = NULL;
    if (big) {
        copy = arena_alloc(arena, bytes.size);
        for (size_t i = 0; copy && i + 1 < bytes.size; i += 2) {
            copy[i] = bytes.data[i + 1];
            copy[i + 1] = bytes.data[i];
        }
        if (!copy) {
            return false;
        }
        bytes.data = copy;
    }
    uint8_t *text = arena_alloc(arena, utf16_json_bound(bytes.size));
    if (text) {
        *ret_text = span_make(text, utf16_to_utf8(bytes, text));
    }
    return text != NULL;
}

bool text_encoding_to_utf8(struct span bytes, struct arena *arena, struct span *ret_text)
{
    bool big;
    size_t mark;
    if (is_utf16(bytes, &big, &mark)) {
        return utf16_to_text(span_from(bytes, mark), big, arena, ret_text);
    }
    if (has_mark(bytes, "\xef\xbb\xbf")) {
        bytes = span_from(bytes, 3);
    }
    if (is_utf8(bytes)) {
        *ret_text = bytes;
        return true;
    }
    uint8_t *text = arena_alloc(arena, bytes.size * 3 + UTF_SLACK);
    if (text) {
        *ret_text = span_make(text, codepage_to_utf8(&codepage_1252, bytes, text));
    }
    return text != NULL;
}
