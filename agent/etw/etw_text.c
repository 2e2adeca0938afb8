#include "etw/etw_text.h"

#include "base/text/fold.h"
#include "base/utf.h"

bool etw_text_encode(struct span utf8, etw_char *ret_text, size_t capacity, size_t *ret_units)
{
    size_t units = 0;
    for (size_t at = 0; at < utf8.size;) {
        uint32_t c = utf8_next(utf8, &at);
        if (c == 0) {
            return false;
        }
        units += c >= 0x10000 ? 2 : 1;
    }
    if (units >= capacity) {
        return false;
    }
    etw_char *p = ret_text;
    for (size_t at = 0; at < utf8.size;) {
        uint32_t c = utf8_next(utf8, &at);
        if (c >= 0x10000) {
            *p++ = (etw_char)(0xd800 + ((c - 0x10000) >> 10));
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }
        *p++ = (etw_char)c;
    }
    *p = 0;
    if (ret_units) {
        *ret_units = units;
    }
    return true;
}

static bool is_surrogate(etw_char unit, uint32_t first)
{
    return (unit & 0xfc00) == first;
}

size_t etw_text_decode(const etw_char *text, size_t max_units, char *ret_utf8, size_t capacity)
{
    size_t size = 0;
    for (size_t i = 0; i < max_units && text[i]; i++) {
        uint32_t c = text[i]; /* utf8_put replaces an unpaired surrogate */
        if (is_surrogate(text[i], 0xd800) && i + 1 < max_units &&
            is_surrogate(text[i + 1], 0xdc00)) {
            c = 0x10000 + ((c - 0xd800) << 10) + (text[++i] - UINT32_C(0xdc00));
        }
        uint8_t bytes[4];
        size_t more = utf8_put(c, bytes);
        if (size + more >= capacity) {
            break;
        }
        memcpy(ret_utf8 + size, bytes, more);
        size += more;
    }
    ret_utf8[size] = '\0';
    return size;
}

bool etw_text_same_name(const char *a, const char *b)
{
    struct span x = span_text(a);
    struct span y = span_text(b);
    size_t i = 0;
    size_t j = 0;
    while (i < x.size && j < y.size) {
        if (fold_character(utf8_next(x, &i)) != fold_character(utf8_next(y, &j))) {
            return false;
        }
    }
    return i == x.size && j == y.size;
}
