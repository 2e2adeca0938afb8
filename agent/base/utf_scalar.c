#include "base/utf_engine.h"

/* The plain engine: used without a vector unit, and the reference for the others. */

uint8_t *utf_put_json_escape(uint8_t *out, uint32_t c)
{
    static const char short_escapes[] = {['\b'] = 'b',
        ['\f'] = 'f',
        ['\n'] = 'n',
        ['\r'] = 'r',
        ['\t'] = 't',
        ['"'] = '"',
        ['\\'] = '\\'};
    static const char digits[] = "0123456789abcdef";
    *out++ = '\\';
    if (c < sizeof(short_escapes) && short_escapes[c]) {
        *out++ = (uint8_t)short_escapes[c];
        return out;
    }
    *out++ = 'u';
    for (unsigned shift = 16; shift > 0; shift -= 4) {
        *out++ = (uint8_t)digits[c >> (shift - 4) & 15];
    }
    return out;
}

UTF_INLINE size_t convert(struct span utf16, uint8_t *out, bool json)
{
    struct utf_cursor cursor = {
        .in = utf16.data, .end = utf16.data + (utf16.size & ~(size_t)1), .out = out};
    cursor = utf_scalar_until(cursor, cursor.end, json);
    return (size_t)(cursor.out - out);
}

static size_t write_utf16(struct span utf16, uint8_t *out, bool json)
{
    return json ? convert(utf16, out, true) : convert(utf16, out, false);
}

static size_t until_nul(struct span utf16)
{
    size_t size = utf16.size & ~(size_t)1;
    size_t at = 0;
    while (at < size && load_le16(utf16.data + at) != 0) {
        at += 2;
    }
    return at;
}

static size_t copy_plain(struct span text, uint8_t *out)
{
    size_t at = 0;
    while (at < text.size && utf_is_plain(text.data[at])) {
        out[at] = text.data[at];
        at++;
    }
    return at;
}

const struct utf_engine utf_scalar = {
    .name = "scalar",
    .write_utf16 = write_utf16,
    .utf16_until_nul = until_nul,
    .copy_plain = copy_plain,
};
