#include "base/utf_engine.h"

#if defined(UTF_HAVE_NEON)

#include <arm_neon.h>

/*
 * The method of utf_ssse3.c (see there) with the instructions that every 64-bit ARM processor has.
 */

/* Bits of the units where ${mask} (0 or 0xffff each) is set. */
UTF_INLINE unsigned bits_of(uint16x8_t mask)
{
    static const uint16_t weights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u16(vandq_u16(mask, vld1q_u16(weights)));
}

UTF_INLINE uint16x8_t all(unsigned value)
{
    return vdupq_n_u16((uint16_t)value);
}

UTF_INLINE uint16x8_t load_units(const uint8_t *p)
{
    return vreinterpretq_u16_u8(vld1q_u8(p));
}

UTF_INLINE uint8x16_t shuffle(uint16x8_t units, const uint8_t *table)
{
    return vqtbl1q_u8(vreinterpretq_u8_u16(units), vld1q_u8(table));
}

/* Write the units of a block with three-byte characters: the units in ${keep}; those in ${wide}
 * take more than one byte, those in ${narrow} less than three. ${second_third} holds the last two
 * bytes of each. Returns the bytes written. */
UTF_INLINE size_t put_quads(uint16x8_t units, uint16x8_t second_third, unsigned keep, unsigned wide,
    unsigned narrow, uint8_t *out)
{
    uint16x8_t first = vorrq_u16(vshrq_n_u16(units, 12), all(0xe0));
    unsigned low_bits = ~(wide & narrow) & keep;
    unsigned high_bits = wide & keep;
    const uint8_t *a = utf_shuffles.quads[(low_bits & 15) | (high_bits & 15) << 4];
    const uint8_t *b = utf_shuffles.quads[low_bits >> 4 | (high_bits & 0xf0)];
    vst1q_u8(out, shuffle(vzip1q_u16(first, second_third), a));
    vst1q_u8(out + a[15], shuffle(vzip2q_u16(first, second_third), b));
    return (size_t)a[15] + b[15];
}

/* Classes of the units of a block, as masks of 0 or 0xffff each. */
struct classes {
    uint16x8_t ascii;
    uint16x8_t escaped; /* written as a backslash and the unit */
    uint16x8_t stop;    /* left to scalar code */
};

/* Controls with a two-character escape need not stop the block: insert the letter. */
UTF_INLINE uint16x8_t take_short_escapes(uint16x8_t units, struct classes *classes)
{
    static const uint8_t letters[16] = {[8] = 'b', [9] = 't', [10] = 'n', [12] = 'f', [13] = 'r'};
    /* indices from 16, such as 0xff in the high bytes, give zero */
    uint16x8_t index = vorrq_u16(units, all(0xff00));
    uint8x16_t looked_up = vqtbl1q_u8(vld1q_u8(letters), vreinterpretq_u8_u16(index));
    uint16x8_t letter = vandq_u16(vreinterpretq_u16_u8(looked_up), vcltq_u16(units, all(16)));
    uint16x8_t taken = vtstq_u16(letter, letter);
    classes->escaped = vorrq_u16(classes->escaped, taken);
    classes->stop = vbicq_u16(classes->stop, taken);
    return vbslq_u16(taken, letter, units);
}

/* Units for which utf_is_left is true. */
UTF_INLINE uint16x8_t left_of(uint16x8_t units)
{
    uint16x8_t c0 = vcltq_u16(units, all(0x20));
    uint16x8_t c1 = vcltq_u16(vsubq_u16(units, all(0x7f)), all(0xa0 - 0x7f));
    uint16x8_t general = vceqq_u16(vandq_u16(units, all(0xff80)), all(0x2000));
    uint16x8_t others = vorrq_u16(vceqq_u16(units, all(0x061c)), vceqq_u16(units, all(0xfeff)));
    return vorrq_u16(vorrq_u16(c0, c1), vorrq_u16(general, others));
}

/* Convert the first of ${count} units up to one that is left to scalar code. Advances ${*out} and
 * returns the number of units. */
UTF_INLINE unsigned put_block(uint16x8_t units, unsigned count, uint8_t **out, bool json)
{
    struct classes classes = {
        .ascii = vcltq_u16(units, all(0x80)),
        .escaped = all(0),
        .stop = vceqq_u16(vandq_u16(units, all(0xf800)), all(0xd800)),
    };
    if (json) {
        classes.stop = vorrq_u16(classes.stop, left_of(units));
        classes.escaped = vorrq_u16(vceqq_u16(units, all('"')), vceqq_u16(units, all('\\')));
    }
    unsigned keep = (1U << count) - 1;
    unsigned stop = bits_of(classes.stop) & keep;
    /* a branch, so that the next load need not wait for ${count} */
    if (__builtin_expect(stop != 0, 0)) {
        if (json) {
            units = take_short_escapes(units, &classes);
            stop = bits_of(classes.stop);
        }
        count = (unsigned)__builtin_ctz(stop | 1U << count);
        keep = (1U << count) - 1;
    }
    unsigned wide = ~bits_of(vbicq_u16(classes.ascii, classes.escaped)) & 0xff;
    if ((wide & keep) == 0) {
        vst1_u8(*out, vmovn_u16(units));
        *out += count;
        return count;
    }

    uint16x8_t below_800 = vcltq_u16(units, all(0x800));
    uint16x8_t tail = vorrq_u16(vandq_u16(units, all(0x3f)), all(0x80));
    uint16x8_t last = vshlq_n_u16(vbslq_u16(classes.ascii, units, tail), 8);
    uint16x8_t shifted = vshrq_n_u16(units, 6);
    uint16x8_t lead = vbslq_u16(classes.escaped, all('\\'), vorrq_u16(shifted, all(0xc0)));
    unsigned narrow = bits_of(below_800);
    if ((~narrow & keep) == 0) {
        vst1q_u8(*out, shuffle(vorrq_u16(lead, last), utf_shuffles.pairs[wide]));
        *out += count + (unsigned)__builtin_popcount(wide & keep);
        return count;
    }
    uint16x8_t middle = vorrq_u16(vandq_u16(shifted, all(0x3f)), all(0x80));
    uint16x8_t second_third = vorrq_u16(vbslq_u16(below_800, lead, middle), last);
    *out += put_quads(units, second_third, keep, wide, narrow, *out);
    return count;
}

/* 0xff in every byte that does not stand for itself. */
UTF_INLINE uint8x16_t not_plain(uint8x16_t bytes, bool json)
{
    if (!json) {
        return vcgeq_u8(bytes, vdupq_n_u8(0x80));
    }
    uint8x16_t outside = vcgeq_u8(vsubq_u8(bytes, vdupq_n_u8(0x20)), vdupq_n_u8(0x5f));
    uint8x16_t quote = vceqq_u8(bytes, vdupq_n_u8('"'));
    return vorrq_u8(outside, vorrq_u8(quote, vceqq_u8(bytes, vdupq_n_u8('\\'))));
}

UTF_INLINE uint8x16_t load_short(const uint8_t *p, size_t size)
{
    uint64_t low;
    uint64_t high;
    utf_load_short(p, size, &low, &high);
    return vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
}

UTF_INLINE size_t convert(struct span utf16, uint8_t *out, bool json)
{
    struct utf_cursor cursor = {
        .in = utf16.data, .end = utf16.data + (utf16.size & ~(size_t)1), .out = out};
    while (cursor.in < cursor.end) {
        size_t left = (size_t)(cursor.end - cursor.in);
        unsigned units = left < 16 ? (unsigned)left / 2 : 8;
        uint16x8_t block;
        if (left >= 32) {
            block = load_units(cursor.in);
            uint16x8_t next = load_units(cursor.in + 16);
            /* saturates: a unit above 0xff becomes 0xff, which is not plain */
            uint8x16_t packed = vcombine_u8(vqmovn_u16(block), vqmovn_u16(next));
            if (vmaxvq_u8(not_plain(packed, json)) == 0) {
                vst1q_u8(cursor.out, packed);
                cursor.in += 32;
                cursor.out += 16;
                continue;
            }
            unsigned done = put_block(block, 8, &cursor.out, json);
            cursor.in += (size_t)done * 2;
            if (done < 8) {
                cursor = utf_scalar_run(cursor, json);
                continue;
            }
            block = next;
        } else if (left >= 16) {
            block = load_units(cursor.in);
        } else {
            block = vreinterpretq_u16_u8(load_short(cursor.in, left));
        }
        unsigned done = put_block(block, units, &cursor.out, json);
        cursor.in += (size_t)done * 2;
        if (done < units) {
            cursor = utf_scalar_run(cursor, json);
        }
    }
    return (size_t)(cursor.out - out);
}

static size_t write_utf16(struct span utf16, uint8_t *out, bool json)
{
    return json ? convert(utf16, out, true) : convert(utf16, out, false);
}

static size_t until_nul(struct span utf16)
{
    size_t at = 0;
    while (utf16.size - at >= 16) {
        uint16x8_t nul = vceqzq_u16(load_units(utf16.data + at));
        unsigned bits = bits_of(nul);
        if (bits) {
            return at + (size_t)__builtin_ctz(bits) * 2;
        }
        at += 16;
    }
    return at + utf_scalar.utf16_until_nul(span_make(utf16.data + at, utf16.size - at));
}

/* Index of the first byte that is set; there must be one. */
UTF_INLINE size_t first_set(uint8x16_t mask)
{
    /* four bits of each byte, in order: the narrowing shift replaces x86's movemask */
    uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(mask), 4);
    return (size_t)__builtin_ctzll(vget_lane_u64(vreinterpret_u64_u8(nibbles), 0)) / 4;
}

static size_t copy_plain(struct span text, uint8_t *out)
{
    size_t at = 0;
    while (text.size - at >= 16) {
        uint8x16_t bytes = vld1q_u8(text.data + at);
        vst1q_u8(out + at, bytes);
        uint8x16_t stop = not_plain(bytes, true);
        if (vmaxvq_u8(stop)) {
            return at + first_set(stop);
        }
        at += 16;
    }
    if (at == text.size) {
        return at;
    }
    uint8x16_t bytes = load_short(text.data + at, text.size - at);
    vst1q_u8(out + at, bytes);
    /* stops at the zeros after the end */
    return at + first_set(not_plain(bytes, true));
}

static bool supported(void)
{
    utf_shuffles_make();
    return true;
}

const struct utf_engine utf_neon = {
    .name = "neon",
    .supported = supported,
    .write_utf16 = write_utf16,
    .utf16_until_nul = until_nul,
    .copy_plain = copy_plain,
};

#endif
