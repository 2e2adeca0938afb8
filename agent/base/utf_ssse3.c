#include "base/utf_engine.h"

#if defined(UTF_HAVE_X86)

#include <tmmintrin.h>

/*
 * Converts UTF-16 to UTF-8 and JSON in one pass. Sixteen plain ASCII units are packed and stored.
 * Anything else is done in blocks of eight: all units are encoded in parallel, two bytes wide
 * (ASCII, two-character escapes, up to U+07FF) or four bytes wide (up to U+FFFF), and a
 * table-driven shuffle closes the gaps, as in simdutf (Lemire and Muła, "Transcoding Billions of
 * Unicode Characters per Second with SIMD Instructions", 2022). So file paths, with a backslash in
 * every block, stay in vectors. A surrogate or control ends the block before it and is left to
 * scalar code.
 *
 * A last block of fewer than eight units is padded with zeros. Stores are 16 bytes wide and may
 * exceed the end of the text by less than UTF_SLACK; loads never leave the input.
 */
#define TARGET __attribute__((target("ssse3,popcnt")))
#define INLINE UTF_INLINE TARGET

INLINE __m128i load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

INLINE void store(uint8_t *p, __m128i v)
{
    _mm_storeu_si128((__m128i *)p, v);
}

/* Bits of the units where ${mask} (0 or 0xffff each) is set. */
INLINE unsigned bits_of(__m128i mask)
{
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(mask, _mm_setzero_si128()));
}

INLINE __m128i all(unsigned value)
{
    return _mm_set1_epi16((short)value);
}

INLINE __m128i select(__m128i mask, __m128i yes, __m128i no)
{
    return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}

/* Write the units of a block with three-byte characters: the units in ${keep}; those in ${wide}
 * take more than one byte, those in ${narrow} less than three. ${second_third} holds the last two
 * bytes of each. Returns the bytes written. */
INLINE size_t put_quads(__m128i units, __m128i second_third, unsigned keep, unsigned wide,
    unsigned narrow, uint8_t *out)
{
    __m128i first = _mm_or_si128(_mm_srli_epi16(units, 12), all(0xe0));
    unsigned low_bits = ~(wide & narrow) & keep;
    unsigned high_bits = wide & keep;
    const uint8_t *a = utf_shuffles.quads[(low_bits & 15) | (high_bits & 15) << 4];
    const uint8_t *b = utf_shuffles.quads[low_bits >> 4 | (high_bits & 0xf0)];
    store(out, _mm_shuffle_epi8(_mm_unpacklo_epi16(first, second_third), load(a)));
    store(out + a[15], _mm_shuffle_epi8(_mm_unpackhi_epi16(first, second_third), load(b)));
    return (size_t)a[15] + b[15];
}

/* Classes of the units of a block, as masks of 0 or 0xffff each. */
struct classes {
    __m128i ascii;
    __m128i escaped; /* written as a backslash and the unit */
    __m128i stop;    /* left to scalar code */
};

/* Controls with a two-character escape need not stop the block: insert the letter. */
INLINE __m128i take_short_escapes(__m128i units, struct classes *classes)
{
    const __m128i letters = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 'b', 't', 'n', 0, 'f', 'r', 0, 0);
    __m128i below_16 = _mm_cmpeq_epi16(_mm_and_si128(units, all(0xfff0)), _mm_setzero_si128());
    __m128i letter = _mm_and_si128(_mm_shuffle_epi8(letters, units), below_16);
    __m128i taken = _mm_cmpgt_epi16(letter, _mm_setzero_si128());
    classes->escaped = _mm_or_si128(classes->escaped, taken);
    classes->stop = _mm_andnot_si128(taken, classes->stop);
    return select(taken, letter, units);
}

/* Low eight bits: units of more than one byte. Next eight: units that stop the block. */
INLINE unsigned class_bits(const struct classes *classes)
{
    __m128i single = _mm_andnot_si128(classes->escaped, classes->ascii);
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(single, classes->stop)) ^ 0xff;
}

/* Units for which utf_is_left is true, except C0 controls. */
INLINE unsigned left_bits(__m128i units)
{
    __m128i from_del = _mm_sub_epi16(units, all(0x7f));
    __m128i c1 = _mm_cmpeq_epi16(_mm_subs_epu16(from_del, all(0x20)), _mm_setzero_si128());
    __m128i general = _mm_cmpeq_epi16(_mm_and_si128(units, all(0xff80)), all(0x2000));
    __m128i others = _mm_or_si128(
        _mm_cmpeq_epi16(units, all(0x061c)), _mm_cmpeq_epi16(units, all(0xfeff)));
    return bits_of(_mm_or_si128(c1, _mm_or_si128(general, others)));
}

/* Convert the first of ${count} units up to one that is left to scalar code. Advances ${*out} and
 * returns the number of units. */
INLINE unsigned put_block(__m128i units, unsigned count, uint8_t **out, bool json)
{
    __m128i high = _mm_and_si128(units, all(0xf800));
    struct classes classes = {
        .ascii = _mm_cmpeq_epi16(
            _mm_and_si128(_mm_adds_epu16(units, all(json)), all(0xff80)), _mm_setzero_si128()),
        .escaped = _mm_setzero_si128(),
        .stop = _mm_cmpeq_epi16(high, all(0xd800)),
    };
    if (json) {
        __m128i controls = _mm_and_si128(units, all(0xffe0));
        classes.stop = _mm_or_si128(classes.stop, _mm_cmpeq_epi16(controls, _mm_setzero_si128()));
        classes.escaped = _mm_or_si128(
            _mm_cmpeq_epi16(units, all('"')), _mm_cmpeq_epi16(units, all('\\')));
    }
    unsigned keep = (1U << count) - 1;
    unsigned bits = class_bits(&classes);
    /* a branch, so that the next load need not wait for ${count} */
    if (__builtin_expect((bits >> 8 & keep) != 0, 0)) {
        if (json) {
            units = take_short_escapes(units, &classes);
            bits = class_bits(&classes);
        }
        count = (unsigned)__builtin_ctz(bits >> 8 | 1U << count);
        keep = (1U << count) - 1;
    }
    unsigned wide = bits & 0xff;
    if ((wide & keep) == 0) {
        _mm_storel_epi64((__m128i *)*out, _mm_packus_epi16(units, units));
        *out += count;
        return count;
    }
    /* in JSON, DEL does not count as ASCII */
    if (json && _mm_movemask_epi8(classes.ascii) != 0xffff) {
        unsigned left = left_bits(units) | 1U << count;
        count = (unsigned)__builtin_ctz(left);
        keep = (1U << count) - 1;
    }

    __m128i below_800 = _mm_cmpeq_epi16(high, _mm_setzero_si128());
    __m128i tail = _mm_or_si128(_mm_and_si128(units, all(0x3f)), all(0x80));
    __m128i last = _mm_slli_epi16(select(classes.ascii, units, tail), 8);
    __m128i shifted = _mm_srli_epi16(units, 6);
    __m128i lead = _mm_or_si128(shifted, all(0xc0));
    if (json) {
        lead = select(classes.escaped, all('\\'), lead);
    }
    unsigned narrow = bits_of(below_800);
    if ((~narrow & keep) == 0) {
        __m128i encoded = _mm_or_si128(lead, last);
        store(*out, _mm_shuffle_epi8(encoded, load(utf_shuffles.pairs[wide])));
        *out += count + (unsigned)__builtin_popcount(wide & keep);
        return count;
    }
    __m128i middle = _mm_or_si128(_mm_and_si128(shifted, all(0x3f)), all(0x80));
    __m128i second_third = _mm_or_si128(select(below_800, lead, middle), last);
    *out += put_quads(units, second_third, keep, wide, narrow, *out);
    return count;
}

/* True if all 16 units stand for themselves; ${packed} has their bytes. */
INLINE bool is_plain(__m128i a, __m128i b, __m128i packed, bool json)
{
    if (!json) {
        __m128i high = _mm_and_si128(_mm_or_si128(a, b), all(0xff80));
        return _mm_movemask_epi8(_mm_cmpeq_epi16(high, _mm_setzero_si128())) == 0xffff;
    }
    /* Packing saturates: a unit above 0xff becomes 0xff, or 0 from 0x8000 on. Neither is plain; nor
     * is any byte from 0x7f in a signed comparison after adding one. */
    __m128i low = _mm_cmplt_epi8(_mm_add_epi8(packed, _mm_set1_epi8(1)), _mm_set1_epi8(0x21));
    __m128i quote = _mm_cmpeq_epi8(packed, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(packed, _mm_set1_epi8('\\'));
    return _mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, slash))) == 0;
}

/* Load the last ${size} (2 to 14) bytes before ${end}, followed by zeros. ${before}: preceding
 * bytes of the input that may be read, too. */
INLINE __m128i load_tail(const uint8_t *end, size_t size, size_t before)
{
    static const uint8_t shift[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x80,
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    if (size + before >= 16) {
        return _mm_shuffle_epi8(load(end - 16), load(shift + 16 - size));
    }
    uint64_t low;
    uint64_t high;
    utf_load_short(end - size, size, &low, &high);
    return _mm_set_epi64x((long long)high, (long long)low);
}

INLINE size_t convert(struct span utf16, uint8_t *out, bool json)
{
    struct utf_cursor cursor = {
        .in = utf16.data, .end = utf16.data + (utf16.size & ~(size_t)1), .out = out};
    while (cursor.in < cursor.end) {
        size_t left = (size_t)(cursor.end - cursor.in);
        unsigned units = left < 16 ? (unsigned)left / 2 : 8;
        __m128i block;
        if (left >= 32) {
            block = load(cursor.in);
            __m128i next = load(cursor.in + 16);
            __m128i packed = _mm_packus_epi16(block, next);
            if (is_plain(block, next, packed, json)) {
                store(cursor.out, packed);
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
            block = load(cursor.in);
        } else {
            block = load_tail(cursor.end, left, (size_t)(cursor.in - utf16.data));
        }
        unsigned done = put_block(block, units, &cursor.out, json);
        cursor.in += (size_t)done * 2;
        if (done < units) {
            cursor = utf_scalar_run(cursor, json);
        }
    }
    return (size_t)(cursor.out - out);
}

TARGET static size_t write_utf16(struct span utf16, uint8_t *out, bool json)
{
    return json ? convert(utf16, out, true) : convert(utf16, out, false);
}

static bool supported(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("ssse3") || !__builtin_cpu_supports("popcnt")) {
        return false;
    }
    utf_shuffles_make();
    return true;
}

const struct utf_engine utf_ssse3 = {
    .name = "ssse3",
    .supported = supported,
    .write_utf16 = write_utf16,
    .utf16_until_nul = utf_sse2_until_nul,
    .copy_plain = utf_sse2_copy_plain,
};

#endif
