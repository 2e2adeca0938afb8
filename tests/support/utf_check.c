#include "support/utf_check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/utf.h"

const char *const utf_check_engines[] = {"sse2", "ssse3", "neon"};
const size_t utf_check_engine_count = sizeof(utf_check_engines) / sizeof(utf_check_engines[0]);

enum { UNITS = 40, MAX_BYTES = 256, GUARD_BYTES = 32, GUARD = 0xa5 };
enum { OUT_BYTES = MAX_BYTES * 6 + UTF_SLACK + GUARD_BYTES };

typedef size_t convert_fn(struct span text, uint8_t *out);

static const struct conversion {
    const char *name;
    convert_fn *convert;
    bool utf16;
} conversions[] = {
    {"utf16_to_json", utf16_to_json, true},
    {"utf16_to_utf8", utf16_to_utf8, true},
    {"utf8_to_json", utf8_to_json, false},
};

static uint64_t next_random(uint64_t *state)
{
    /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool guard_is_whole(const uint8_t *out, size_t bound)
{
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (out[bound + i] != GUARD) {
            return false;
        }
    }
    return true;
}

static bool differs(
    const char *engine, const char *what, struct span in, char *text, size_t text_size)
{
    int used = snprintf(text, text_size, "%s: %s differs for %zu bytes:", engine, what, in.size);
    for (size_t i = 0; i < in.size && used > 0 && (size_t)used + 4 < text_size; i++) {
        used += snprintf(text + used, text_size - (size_t)used, " %02x", in.data[i]);
    }
    return false;
}

static bool check(const char *engine, const struct conversion *conversion, struct span in,
    char *text, size_t text_size)
{
    uint8_t expected[OUT_BYTES];
    uint8_t out[OUT_BYTES];
    size_t bound = conversion->utf16 ? utf16_json_bound(in.size) : utf8_json_bound(in.size);
    memset(out + bound, GUARD, GUARD_BYTES);
    utf_set_engine("scalar");
    size_t expected_size = conversion->convert(in, expected);
    utf_set_engine(engine);
    size_t size = conversion->convert(in, out);
    bool same = size == expected_size && memcmp(out, expected, size) == 0 &&
                guard_is_whole(out, bound);
    return same || differs(engine, conversion->name, in, text, text_size);
}

static bool check_until_nul(const char *engine, struct span in, char *text, size_t text_size)
{
    utf_set_engine("scalar");
    size_t expected = utf16_until_nul(in);
    utf_set_engine(engine);
    return utf16_until_nul(in) == expected ||
           differs(engine, "utf16_until_nul", in, text, text_size);
}

bool utf_check_every_unit(const char *engine, char *text, size_t text_size)
{
    bool good = true;
    for (unsigned alignment = 0; good && alignment < 16; alignment++) {
        /* Of its own size, so that a sanitizer sees a read beyond either end. */
        size_t size = alignment + UNITS * 2;
        uint8_t *block = malloc(size);
        if (!block) {
            snprintf(text, text_size, "out of memory");
            return false;
        }
        uint8_t *string = block + alignment;
        for (size_t i = 0; i < UNITS; i++) {
            store_le16(string + i * 2, (uint16_t)('A' + i));
        }
        store_le16(string + (size_t)('\\' - 'A') * 2, '_');
        struct span in = span_make(string, size - alignment);
        for (uint32_t unit = alignment; good && unit <= 0xffff; unit += 16) {
            for (size_t at = 0; good && at < UNITS; at++) {
                uint16_t old = load_le16(string + at * 2);
                store_le16(string + at * 2, (uint16_t)unit);
                good = check(engine, &conversions[0], in, text, text_size) &&
                       check(engine, &conversions[1], in, text, text_size) &&
                       check_until_nul(engine, in, text, text_size);
                store_le16(string + at * 2, old);
            }
        }
        free(block);
    }
    return good;
}

/* A unit, or with ${*ret_low} the second half of a pair, of class ${kind}. */
static uint16_t random_unit(uint64_t *state, unsigned kind, uint16_t *ret_low)
{
    static const uint16_t odd[] = {0, 0x1f, 0x20, '"', '\\', '/', 0x7e, 0x7f, 0x80, 0xff, 0x100,
        0x7ff, 0x800, 0x7fff, 0x8000, 0xd7ff, 0xe000, 0xfffd, 0xfffe, 0xffff};
    uint64_t r = next_random(state);
    switch (kind) {
    case 0:
    case 1:
        return (uint16_t)(0x20 + r % 0x5f);
    case 2:
        return r & 1 ? '\\' : '"';
    case 3:
        return (uint16_t)(r % 0x20);
    case 4:
        return (uint16_t)(0x80 + r % 0x780);
    case 5:
        return (uint16_t)(0x4e00 + r % 0x5000);
    case 6:
        *ret_low = (uint16_t)(0xdc00 + (r >> 16) % 0x400);
        return (uint16_t)(0xd800 + r % 0x400);
    case 7:
        return (uint16_t)(0xd800 + r % 0x800);
    default:
        return odd[r % (sizeof(odd) / sizeof(odd[0]))];
    }
}

static size_t make_utf16(uint64_t *state, uint8_t *string)
{
    size_t units = next_random(state) % 101;
    unsigned kinds = (unsigned)next_random(state); /* which of the nine classes take part */
    unsigned often = (unsigned)(next_random(state) % 9);
    for (size_t i = 0; i < units; i++) {
        unsigned kind = (unsigned)(next_random(state) % 9);
        if (!(kinds >> kind & 1)) {
            kind = often;
        }
        uint16_t low = 0;
        store_le16(string + i * 2, random_unit(state, kind, &low));
        if (low && i + 1 < units) {
            i++;
            store_le16(string + i * 2, low);
        }
    }
    size_t odd_byte = next_random(state) & 1;
    string[units * 2] = 'x';
    return units * 2 + odd_byte;
}

static size_t make_utf8(uint64_t *state, uint8_t *string)
{
    size_t size = next_random(state) % 101;
    unsigned plain_of_8 = (unsigned)(next_random(state) % 9);
    for (size_t i = 0; i < size; i++) {
        uint64_t r = next_random(state);
        string[i] = (uint8_t)(r >> 32 & 7) < plain_of_8 ? (uint8_t)(0x20 + r % 0x5f) : (uint8_t)r;
    }
    return size;
}

bool utf_check_random(const char *engine, size_t strings, char *text, size_t text_size)
{
    uint64_t state = 20240229;
    bool good = true;
    for (size_t i = 0; good && i < strings; i++) {
        uint8_t made[MAX_BYTES];
        bool utf16 = i % 4 != 0;
        size_t size = utf16 ? make_utf16(&state, made) : make_utf8(&state, made);
        size_t alignment = next_random(&state) % 16;
        uint8_t *block = malloc(alignment + size + 1);
        if (!block) {
            snprintf(text, text_size, "out of memory");
            return false;
        }
        /* Ends where the block ends. */
        uint8_t *string = block + alignment + 1;
        memcpy(string, made, size);
        struct span in = span_make(string, size);
        if (utf16) {
            good = check(engine, &conversions[0], in, text, text_size) &&
                   check(engine, &conversions[1], in, text, text_size) &&
                   check_until_nul(engine, in, text, text_size);
        } else {
            good = check(engine, &conversions[2], in, text, text_size);
        }
        free(block);
    }
    return good;
}
