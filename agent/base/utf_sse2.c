#include "base/utf_engine.h"

#if defined(UTF_HAVE_X86)

#include <emmintrin.h>

/*
 * For every x86-64 processor. There is no byte shuffle, so only ASCII is vectorised: blocks of 16
 * units, else up to the first unit that needs more, then some characters one by one.
 */

/* One bit per byte that is not plain. UTF-16 units were saturated by _mm_packus_epi16: those above
 * 0xff become 0xff or 0, which are not plain either. */
UTF_INLINE unsigned not_plain(__m128i bytes)
{
    /* in a signed comparison, bytes from 0x80 are negative; adding one includes DEL */
    __m128i low = _mm_cmplt_epi8(_mm_add_epi8(bytes, _mm_set1_epi8(1)), _mm_set1_epi8(0x21));
    __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, slash)));
}

/* One bit per unit of ${a} and ${b} that vectors cannot copy. */
UTF_INLINE unsigned not_copied(__m128i a, __m128i b, __m128i packed, bool json)
{
    if (json) {
        return not_plain(packed);
    }
    __m128i high = _mm_set1_epi16((short)0xff80);
    __m128i ascii_a = _mm_cmpeq_epi16(_mm_and_si128(a, high), _mm_setzero_si128());
    __m128i ascii_b = _mm_cmpeq_epi16(_mm_and_si128(b, high), _mm_setzero_si128());
    return ~(unsigned)_mm_movemask_epi8(_mm_packs_epi16(ascii_a, ascii_b)) & 0xffff;
}

UTF_INLINE size_t convert(struct span utf16, uint8_t *out, bool json)
{
    struct utf_cursor cursor = {
        .in = utf16.data, .end = utf16.data + (utf16.size & ~(size_t)1), .out = out};
    while (cursor.end - cursor.in >= 16) {
        bool whole = cursor.end - cursor.in >= 32;
        __m128i a = _mm_loadu_si128((const __m128i *)cursor.in);
        __m128i b = whole ? _mm_loadu_si128((const __m128i *)(cursor.in + 16))
                          : _mm_setzero_si128();
        __m128i packed = _mm_packus_epi16(a, b);
        size_t units = whole ? 16 : 8;
        unsigned stop = not_copied(a, b, packed, json) & ((1U << units) - 1);
        _mm_storeu_si128((__m128i *)cursor.out, packed);
        if (stop == 0) {
            cursor.in += units * 2;
            cursor.out += units;
            continue;
        }
        size_t copied = (unsigned)__builtin_ctz(stop);
        cursor.in += copied * 2;
        cursor.out += copied;
        size_t left = (size_t)(cursor.end - cursor.in);
        cursor = utf_scalar_until(cursor, cursor.in + (left < 32 ? left : 32), json);
    }
    cursor = utf_scalar_until(cursor, cursor.end, json);
    return (size_t)(cursor.out - out);
}

static size_t write_utf16(struct span utf16, uint8_t *out, bool json)
{
    return json ? convert(utf16, out, true) : convert(utf16, out, false);
}

UTF_INLINE unsigned nul_units(const uint8_t *at)
{
    __m128i units = _mm_loadu_si128((const __m128i *)at);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi16(units, _mm_setzero_si128()));
}

size_t utf_sse2_until_nul(struct span utf16)
{
    size_t size = utf16.size & ~(size_t)1;
    if (size < 16) {
        return utf_scalar.utf16_until_nul(utf16);
    }
    for (size_t at = 0;; at += 16) {
        if (at + 16 > size) {
            at = size - 16; /* partly examined, without a NUL in that part */
        }
        unsigned nul = nul_units(utf16.data + at);
        if (nul) {
            return at + (unsigned)__builtin_ctz(nul);
        }
        if (at + 16 == size) {
            return size;
        }
    }
}

size_t utf_sse2_copy_plain(struct span text, uint8_t *out)
{
    size_t at = 0;
    while (text.size - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text.data + at));
        _mm_storeu_si128((__m128i *)(out + at), bytes);
        unsigned stop = not_plain(bytes);
        if (stop) {
            return at + (unsigned)__builtin_ctz(stop);
        }
        at += 16;
    }
    if (at == text.size) {
        return at;
    }
    uint64_t low;
    uint64_t high;
    utf_load_short(text.data + at, text.size - at, &low, &high);
    __m128i bytes = _mm_set_epi64x((long long)high, (long long)low);
    _mm_storeu_si128((__m128i *)(out + at), bytes);
    /* stops at the zeros after the end */
    return at + (unsigned)__builtin_ctz(not_plain(bytes));
}

const struct utf_engine utf_sse2 = {
    .name = "sse2",
    .write_utf16 = write_utf16,
    .utf16_until_nul = utf_sse2_until_nul,
    .copy_plain = utf_sse2_copy_plain,
};

#endif
