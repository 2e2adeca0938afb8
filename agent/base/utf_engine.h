#ifndef ETWSHIP_BASE_UTF_ENGINE_H
#define ETWSHIP_BASE_UTF_ENGINE_H

#include "base/bytes.h"
#include "base/utf.h"

/*
 * Shared by the files utf_*.c; internal. An engine is one implementation of the hot loops of utf.h.
 * All engines give equal results; the scalar one is the reference.
 */
struct utf_engine {
    const char *name;
    bool (*supported)(void); /* NULL: everywhere */
    /* utf16_to_json, or with ${json} false utf16_to_utf8: compiled for each. */
    size_t (*write_utf16)(struct span utf16, uint8_t *out, bool json);
    size_t (*utf16_until_nul)(struct span utf16);
    /* Copy bytes up to the first one that is not plain (see utf_is_plain); returns their number.
     * May write up to 16 bytes beyond the last. */
    size_t (*copy_plain)(struct span text, uint8_t *out);
};

extern const struct utf_engine utf_scalar;
#if defined(__GNUC__) && defined(__x86_64__)
#define UTF_HAVE_X86 1
extern const struct utf_engine utf_sse2;
extern const struct utf_engine utf_ssse3;
/* Shared by both, because they gain nothing from more than SSE2. */
size_t utf_sse2_until_nul(struct span utf16);
size_t utf_sse2_copy_plain(struct span text, uint8_t *out);
#elif defined(__GNUC__) && defined(__aarch64__) && !defined(__AARCH64EB__)
#define UTF_HAVE_NEON 1
extern const struct utf_engine utf_neon;
#endif

#if defined(__GNUC__)
#define UTF_INLINE static inline __attribute__((always_inline))
#else
#define UTF_INLINE static inline
#endif

/*
 * Byte shuffles that close the gaps in a register of encoded characters.
 * pairs[m]: eight units as 16 bytes, two per unit; unit i keeps both bytes where bit i of ${m} is
 * set, else only its second.
 * quads[m]: four units as 16 bytes, four per unit {first of three, unused, second, third}. Bits i
 * and 4 + i of ${m} are the low and the high bit of how many bytes unit i keeps, 0 to 3, from its
 * right end. At most 12 bytes are kept; byte 15 is their number.
 */
struct utf_shuffles {
    _Alignas(16) uint8_t pairs[256][16];
    _Alignas(16) uint8_t quads[256][16];
};

/* Filled by utf_shuffles_make; constant from then on. Any thread, any number of times. */
extern struct utf_shuffles utf_shuffles;
void utf_shuffles_make(void);

/* True if the unit stands for itself in a JSON string: ASCII except controls, DEL, `"` and `\`. */
static inline bool utf_is_plain(uint32_t unit)
{
    return unit >= 0x20 && unit < 0x7f && unit != '"' && unit != '\\';
}

/* Encode a character that is a Unicode scalar value. */
static inline uint8_t *utf_put_scalar(uint8_t *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (uint8_t)c;
    } else if (c < 0x800) {
        *out++ = (uint8_t)(0xc0 | c >> 6);
        *out++ = (uint8_t)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (uint8_t)(0xe0 | c >> 12);
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c & 0x3f));
    } else {
        *out++ = (uint8_t)(0xf0 | c >> 18);
        *out++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c & 0x3f));
    }
    return out;
}

/* copy_plain of the current engine. */
size_t utf_copy_plain(struct span text, uint8_t *out);

/* Write a character that is `"`, `\` or invisible into a JSON string. */
uint8_t *utf_put_json_escape(uint8_t *out, uint32_t c);

/* True if vector code must leave the unit ${c} to scalar code in JSON: all invisible characters,
 * and their neighbours in the block of general punctuation. */
static inline bool utf_is_left(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c & 0xff80) == 0x2000 || c == 0x061c ||
           c == 0xfeff;
}

/* Write a character that is not plain into a JSON string. */
static inline uint8_t *utf_put_json(uint8_t *out, uint32_t c)
{
    return c < 0x80 || utf_is_unseen(c) ? utf_put_json_escape(out, c) : utf_put_scalar(out, c);
}

/* Decode the character at ${*in} and advance; at least one unit must precede ${end}. */
static inline uint32_t utf16_next(const uint8_t **in, const uint8_t *end)
{
    uint32_t unit = load_le16(*in);
    *in += 2;
    if ((unit & 0xf800) != 0xd800) {
        return unit;
    }
    if (unit < 0xdc00 && end - *in >= 2) {
        uint32_t low = load_le16(*in);
        if ((low & 0xfc00) == 0xdc00) {
            *in += 2;
            return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return 0xfffd;
}

/* Positions in input and output. Passed by value: if its address were taken, it would have to be
 * kept in memory, because bytes are written through it. */
struct utf_cursor {
    const uint8_t *in;
    const uint8_t *end;
    uint8_t *out;
};

/* Convert characters until ${until} is reached, or passed by the second half of a pair. */
UTF_INLINE struct utf_cursor utf_scalar_until(
    struct utf_cursor cursor, const uint8_t *until, bool json)
{
    const uint8_t *in = cursor.in;
    uint8_t *out = cursor.out;
    while (in < until) {
        uint32_t c = utf16_next(&in, cursor.end);
        if (utf_is_plain(c)) {
            *out++ = (uint8_t)c;
        } else {
            out = json ? utf_put_json(out, c) : utf_put_scalar(out, c);
        }
    }
    cursor.in = in;
    cursor.out = out;
    return cursor;
}

/* Convert the run of characters at the cursor that vector code cannot convert: surrogates and, for
 * JSON, those of utf_is_left. At least one character. */
UTF_INLINE struct utf_cursor utf_scalar_run(struct utf_cursor cursor, bool json)
{
    uint32_t unit;
    do {
        uint32_t c = utf16_next(&cursor.in, cursor.end);
        cursor.out = json ? utf_put_json(cursor.out, c) : utf_put_scalar(cursor.out, c);
        if (cursor.in == cursor.end) {
            break;
        }
        unit = load_le16(cursor.in);
    } while ((unit & 0xf800) == 0xd800 || (json && utf_is_left(unit)));
    return cursor;
}

/* Load ${size} (1 to 15) bytes as a 16-byte little-endian number, padded with zeros, without
 * reading others. */
static inline void utf_load_short(const uint8_t *p, size_t size, uint64_t *low, uint64_t *high)
{
    *high = 0;
    if (size >= 8) {
        *low = load_le64(p);
        /* a double shift by 32 is valid where a shift by 64 is not */
        unsigned half_shift = (unsigned)(16 - size) * 4;
        *high = load_le64(p + size - 8) >> half_shift >> half_shift;
    } else if (size >= 4) {
        *low = load_le32(p) | (uint64_t)load_le32(p + size - 4) << (size - 4) * 8;
    } else {
        size_t middle = size / 2;
        *low = p[0] | (uint64_t)p[middle] << middle * 8 | (uint64_t)p[size - 1] << (size - 1) * 8;
    }
}

#endif
