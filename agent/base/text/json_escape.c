#include "base/text/json_escape.h"

#include "base/hex.h"
#include "base/utf.h"

enum { UNIT_BYTES = 6 }; /* \uXXXX */

/* The unit at the start of ${text}. False: there is none. */
static bool read_unit(struct span text, uint32_t *ret_unit)
{
    uint32_t unit = 0;
    if (text.size < UNIT_BYTES || text.data[0] != '\\' || text.data[1] != 'u') {
        return false;
    }
    for (size_t i = 2; i < UNIT_BYTES; i++) {
        unsigned digit = hex_digit(text.data[i]);
        if (digit == HEX_NONE) {
            return false;
        }
        unit = unit << 4 | digit;
    }
    *ret_unit = unit;
    return true;
}

uint32_t json_escape_read(struct span text, size_t *ret_size)
{
    static const char letters[] = "bfnrt";
    static const char meant[] = "\b\f\n\r\t";
    uint32_t unit;
    uint32_t low;
    uint8_t c = text.size > 1 ? text.data[1] : '\\';
    *ret_size = text.size > 1 ? 2 : 1;
    if (c == '\\' || c == '"') {
        return c; /* most are of paths */
    }
    if (!read_unit(text, &unit)) {
        const char *letter = c ? strchr(letters, c) : NULL;
        return letter ? (uint8_t)meant[letter - letters] : c;
    }
    *ret_size = UNIT_BYTES;
    if (unit < 0xd800 || unit > 0xdfff) {
        return unit;
    }
    if (unit < 0xdc00 && read_unit(span_from(text, UNIT_BYTES), &low) && low >= 0xdc00 &&
        low <= 0xdfff) {
        *ret_size = 2 * (size_t)UNIT_BYTES;
        return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    return 0xfffd;
}

size_t json_escape_undo(uint8_t *text, size_t size)
{
    size_t to = 0;
    for (size_t at = 0; at < size;) {
        const uint8_t *slash = memchr(text + at, '\\', size - at);
        size_t plain = slash ? (size_t)(slash - text) - at : size - at;
        if (to < at) {
            memmove(text + to, text + at, plain);
        }
        to += plain;
        at += plain;
        if (slash) {
            size_t escape;
            uint32_t character = json_escape_read(span_make(slash, size - at), &escape);
            to += utf8_put(character, text + to);
            at += escape;
        }
    }
    return to;
}
