#include "base/utf_engine.h"

/*
 * Windows code page 1252 (Microsoft's bestfit1252.txt): Latin-1 except 0x80 to 0x9f. The five
 * undefined bytes map to the C1 controls of the same value, as in that file.
 */
#define ROW(n)                                                                                \
    n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, n + 11, n + 12, \
        n + 13, n + 14, n + 15

// clang-format off
const struct codepage codepage_1252 = {
    .id = 1252,
    .is_ascii = true,
    .single = {
        ROW(0x00), ROW(0x10), ROW(0x20), ROW(0x30), ROW(0x40), ROW(0x50), ROW(0x60), ROW(0x70),
        0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
        0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d, 0x017d, 0x008f,
        0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
        0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
        ROW(0xa0), ROW(0xb0), ROW(0xc0), ROW(0xd0), ROW(0xe0), ROW(0xf0),
    },
};
// clang-format on

/*
 * Decode the next character. A lead byte with an undefined pair gives U+FFFD; the second byte is
 * skipped, too, unless it is ASCII, which stands for itself.
 */
static uint32_t next_character(const struct codepage *page, struct span text, size_t *at)
{
    uint8_t lead = text.data[(*at)++];
    uint16_t unit = page->single[lead];
    if (unit != CODEPAGE_LEAD) {
        return unit;
    }
    if (*at == text.size || !page->pairs) {
        return 0xfffd;
    }
    uint8_t trail = text.data[*at];
    unit = page->pairs[(size_t)lead * 256 + trail];
    if (unit != 0xfffd || trail >= 0x80) {
        *at += 1;
    }
    return unit;
}

static uint32_t scalar_value(uint32_t unit)
{
    return (unit & 0xf800) == 0xd800 ? 0xfffd : unit;
}

size_t codepage_to_json(const struct codepage *page, struct span text, uint8_t *out)
{
    if (page->id == CODEPAGE_UTF8) {
        return utf8_to_json(text, out);
    }
    uint8_t *start = out;
    size_t at = 0;
    while (at < text.size) {
        if (page->is_ascii && utf_is_plain(text.data[at])) {
            size_t plain = utf_copy_plain(span_from(text, at), out);
            at += plain;
            out += plain;
        } else {
            uint32_t c = scalar_value(next_character(page, text, &at));
            out = utf_is_plain(c) ? utf_put_scalar(out, c) : utf_put_json(out, c);
        }
    }
    return (size_t)(out - start);
}

size_t codepage_to_utf8(const struct codepage *page, struct span text, uint8_t *out)
{
    uint8_t *start = out;
    size_t at = 0;
    while (at < text.size) {
        uint32_t c = page->id == CODEPAGE_UTF8 ? utf8_next(text, &at)
                                               : scalar_value(next_character(page, text, &at));
        out = utf_put_scalar(out, c);
    }
    return (size_t)(out - start);
}
