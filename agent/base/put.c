#include "base/put.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/bytes.h"

// clang-format off
static const char pairs[200] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";
// clang-format on

static const uint64_t ascii_zeros = UINT64_C(0x3030303030303030);

// clang-format off
#define TEN(ab, end) \
    { ab "0" end }, { ab "1" end }, { ab "2" end }, { ab "3" end }, { ab "4" end }, \
    { ab "5" end }, { ab "6" end }, { ab "7" end }, { ab "8" end }, { ab "9" end },
#define HUNDRED(a) \
    TEN(a "0", "\0") TEN(a "1", "\0") TEN(a "2", "\0") TEN(a "3", "\0") TEN(a "4", "\0") \
    TEN(a "5", "\0") TEN(a "6", "\0") TEN(a "7", "\0") TEN(a "8", "\0") TEN(a "9", "\0")
const uint8_t put_thousand[1000][4] = {
    TEN("00", "\20")
    TEN("01", "\10") TEN("02", "\10") TEN("03", "\10") TEN("04", "\10") TEN("05", "\10")
    TEN("06", "\10") TEN("07", "\10") TEN("08", "\10") TEN("09", "\10")
    HUNDRED("1") HUNDRED("2") HUNDRED("3") HUNDRED("4") HUNDRED("5")
    HUNDRED("6") HUNDRED("7") HUNDRED("8") HUNDRED("9")
};
#undef HUNDRED
#undef TEN
// clang-format on

/* Number of zero bytes below the lowest non-zero one; ${word} is not zero. */
static inline unsigned zero_bytes(uint64_t word)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_ctzll(word) / 8;
#else
    unsigned count = 0;
    for (; (word & 0xff) == 0; word >>= 8) {
        count++;
    }
    return count;
#endif
}

/* Write 1 to 10^8 - 1 without leading zeros and without a branch on the length. Always stores eight
 * bytes. */
static inline uint8_t *put_small(uint8_t *p, uint32_t value)
{
    uint64_t digits = put_eight_digits(value);
    unsigned leading = zero_bytes(digits);
    store_le64(p, (digits >> leading * 8) + ascii_zeros);
    return p + 8 - leading;
}

uint8_t *put_wide(uint8_t *p, uint64_t value)
{
    if (value < PUT_EIGHT) {
        return put_small(p, (uint32_t)value);
    }
    uint64_t high = value / PUT_EIGHT;
    p = high < PUT_EIGHT
            ? put_small(p, (uint32_t)high)
            : put_eight(put_small(p, (uint32_t)(high / PUT_EIGHT)), (uint32_t)(high % PUT_EIGHT));
    return put_eight(p, (uint32_t)(value % PUT_EIGHT));
}

/* The two digits of each byte. */
// clang-format off
#define ROW(high) \
    high "0" high "1" high "2" high "3" high "4" high "5" high "6" high "7" \
    high "8" high "9" high "a" high "b" high "c" high "d" high "e" high "f"
static const char hex_pairs[513] =
    ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7")
    ROW("8") ROW("9") ROW("a") ROW("b") ROW("c") ROW("d") ROW("e") ROW("f");
#undef ROW
// clang-format on

static uint8_t *put_byte(uint8_t *p, uint8_t byte)
{
    memcpy(p, hex_pairs + (size_t)byte * 2, 2);
    return p + 2;
}

/* The eight hexadecimal digits of a word, the first in the lowest byte. */
static inline uint64_t hex_digits(uint32_t value)
{
    uint64_t x = value >> 16 | (uint64_t)(value & 0xffff) << 32;
    x = (x >> 8 | x << 16) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x >> 4 | x << 8) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return x + ascii_zeros + letters * ('a' - '0' - 10);
}

/* Write the sixteen digits of eight bytes. */
static inline void put_eight_bytes(uint8_t *p, const uint8_t bytes[8])
{
#if defined(__SSE2__)
    const __m128i low = _mm_set1_epi8(0x0f);
    __m128i x = _mm_loadl_epi64((const __m128i *)bytes);
    x = _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(x, 4), low), _mm_and_si128(x, low));
    __m128i letters = _mm_cmpgt_epi8(x, _mm_set1_epi8(9));
    x = _mm_add_epi8(x, _mm_and_si128(letters, _mm_set1_epi8('a' - '0' - 10)));
    _mm_storeu_si128((__m128i *)p, _mm_add_epi8(x, _mm_set1_epi8('0')));
#else
    store_le64(p, hex_digits(load_be32(bytes)));
    store_le64(p + 8, hex_digits(load_be32(bytes + 4)));
#endif
}

static inline void put_sixteen(uint8_t *p, uint64_t value)
{
    uint8_t bytes[8];
    store_be64(bytes, value);
    put_eight_bytes(p, bytes);
}

/* Number of leading zero digits, at most 15. */
static inline unsigned leading_zeros(uint64_t value)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_clzll(value | 1) / 4;
#else
    unsigned count = 0;
    for (; count < 15 && value >> 60 == 0; value <<= 4) {
        count++;
    }
    return count;
#endif
}

uint8_t *put_hex(uint8_t *p, uint64_t value)
{
    unsigned leading = leading_zeros(value);
    value <<= leading * 4;
    p = put_literal(p, "0x");
    put_sixteen(p, value);
    return p + 16 - leading;
}

uint8_t *put_hex_all(uint8_t *p, uint64_t value)
{
    put_sixteen(p, value);
    return p + 16;
}

uint8_t *put_hex_bytes(uint8_t *p, struct span bytes)
{
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= bytes.size; i += sizeof(uint64_t)) {
        put_eight_bytes(p, bytes.data + i);
        p += 2 * sizeof(uint64_t);
    }
    for (; i < bytes.size; i++) {
        p = put_byte(p, bytes.data[i]);
    }
    return p;
}

uint8_t *put_guid(uint8_t *p, const uint8_t bytes[16])
{
    uint64_t second_third = hex_digits(load_le32(bytes + 4) << 16 | load_le16(bytes + 6));
    uint64_t fourth_fifth = hex_digits(load_be32(bytes + 8));
    store_le64(p, hex_digits(load_le32(bytes)));
    p[8] = '-';
    store_le32(p + 9, (uint32_t)second_third);
    p[13] = '-';
    store_le32(p + 14, (uint32_t)(second_third >> 32));
    p[18] = '-';
    store_le32(p + 19, (uint32_t)fourth_fifth);
    p[23] = '-';
    store_le32(p + 24, (uint32_t)(fourth_fifth >> 32));
    store_le64(p + 28, hex_digits(load_be32(bytes + 12)));
    return p + 36;
}

/* `%g` omits the point of whole numbers; a reader's schema would infer an integer type. */
static uint8_t *finish_float(uint8_t *p, const char *text)
{
    size_t size = strlen(text);
    memcpy(p, text, size);
    p += size;
    return strpbrk(text, ".e") ? p : put_literal(p, ".0");
}

/* Decimals of 6 digits (15 for double) survive conversion to binary and back, so fewer need not be
 * tried; subnormal numbers have less precision. */
uint8_t *put_float(uint8_t *p, float value)
{
    char text[32];
    for (int digits = isnormal(value) ? 6 : 1; digits <= 9; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, (double)value);
        float back = strtof(text, NULL);
        if (memcmp(&back, &value, sizeof(value)) == 0) {
            break;
        }
    }
    return finish_float(p, text);
}

/*
 * Numbers that are short decimals, as most are: the nearest integer number of millionths is below
 * 10^15, and dividing it restores the value. A decimal of at most 15 digits belongs to only one
 * double (DBL_DIG), so without trailing zeros it is the shortest.
 */
static uint8_t *put_decimal(uint8_t *p, double value)
{
    enum { MILLION = 1000000 };
    double size = value < 0 ? -value : value;
    if (!(size >= 1e-4 && size < 1e9)) {
        return NULL;
    }
    uint64_t millionths = (uint64_t)(size * (int)MILLION + 0.5);
    double back = (double)millionths / (int)MILLION;
    if (memcmp(&back, &size, sizeof(size)) != 0) {
        return NULL;
    }
    uint64_t digits = put_eight_digits((uint32_t)(millionths % MILLION) * 100);
    *p = '-';
    p = put_u64(p + (value < 0), millionths / MILLION);
    *p++ = '.';
    store_le64(p, digits + ascii_zeros);
    return p + 8 - leading_zeros(digits) / 2; /* bytes, at least one */
}

uint8_t *put_double(uint8_t *p, double value)
{
    uint8_t *end = put_decimal(p, value);
    if (end) {
        return end;
    }
    char text[32];
    for (int digits = isnormal(value) ? 15 : 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (memcmp(&back, &value, sizeof(value)) == 0) {
            break;
        }
    }
    return finish_float(p, text);
}

/* Howard Hinnant's days-to-civil algorithm, shifted to the FILETIME epoch: 584694 days lie between
 * 0000-03-01 and 1601-01-01. */
void put_civil(uint32_t days, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day)
{
    uint32_t z = days + 584694;
    uint32_t era = z / 146097;
    uint32_t day_of_era = z % 146097;
    uint32_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t month_index = (5 * day_of_year + 2) / 153;
    *ret_day = day_of_year - (153 * month_index + 2) / 5 + 1;
    *ret_month = month_index < 10 ? month_index + 3 : month_index - 9;
    *ret_year = year_of_era + era * 400 + (*ret_month <= 2);
}

static uint8_t *put_two(uint8_t *p, unsigned value)
{
    memcpy(p, pairs + value * 2, 2);
    return p + 2;
}

static uint8_t *put_date_time(
    uint8_t *p, unsigned year, unsigned month, unsigned day, unsigned second_of_day)
{
    p = put_two(p, year / 100);
    p = put_two(p, year % 100);
    *p++ = '-';
    p = put_two(p, month);
    *p++ = '-';
    p = put_two(p, day);
    *p++ = 'T';
    p = put_two(p, second_of_day / 3600);
    *p++ = ':';
    p = put_two(p, second_of_day / 60 % 60);
    *p++ = ':';
    return put_two(p, second_of_day % 60);
}

bool put_filetime(uint8_t **p, uint64_t filetime)
{
    uint64_t seconds = filetime / 10000000;
    uint32_t fraction = (uint32_t)(filetime % 10000000);
    uint64_t days = seconds / 86400;
    /* 9999-12-31 is day 3067670. */
    if (days > 3067670) {
        return false;
    }
    unsigned year;
    unsigned month;
    unsigned day;
    put_civil((uint32_t)days, &year, &month, &day);
    uint8_t *q = put_date_time(*p, year, month, day, (unsigned)(seconds % 86400));
    *q++ = '.';
    *p = put_fraction(q, fraction);
    return true;
}

uint8_t *put_filetime_or_hex(uint8_t *p, uint64_t filetime)
{
    return put_filetime(&p, filetime) ? p : put_hex(p, filetime);
}

bool put_clock_filetime(struct put_clock *clock, uint8_t **p, uint64_t filetime)
{
    uint64_t second = filetime / 10000000;
    if (second != clock->second) {
        uint8_t text[PUT_MAX];
        uint8_t *end = text;
        if (!put_filetime(&end, second * 10000000)) {
            return false;
        }
        memcpy(clock->text, text, sizeof(clock->text));
        clock->second = second;
    }
    memcpy(*p, clock->text, sizeof(clock->text));
    *p = put_fraction(*p + sizeof(clock->text), (uint32_t)(filetime % 10000000));
    return true;
}

bool put_systemtime(uint8_t **p, const uint8_t bytes[16])
{
    unsigned year = load_le16(bytes);
    unsigned month = load_le16(bytes + 2);
    unsigned day = load_le16(bytes + 6);
    unsigned hour = load_le16(bytes + 8);
    unsigned minute = load_le16(bytes + 10);
    unsigned second = load_le16(bytes + 12);
    unsigned milli = load_le16(bytes + 14);
    if (year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
        second > 59 || milli > 999) {
        return false;
    }
    uint8_t *q = put_date_time(*p, year, month, day, hour * 3600 + minute * 60 + second);
    *q++ = '.';
    *q++ = (uint8_t)('0' + milli / 100);
    *p = put_two(q, milli % 100);
    return true;
}

uint8_t *put_ipv4(uint8_t *p, const uint8_t bytes[4])
{
    for (size_t i = 0; i < 4; i++) {
        if (i) {
            *p++ = '.';
        }
        p = put_u64(p, bytes[i]);
    }
    return p;
}

/* The longest run of at least two zero groups; the first of equal ones (RFC 5952 4.2). */
static size_t longest_zeros(const uint8_t bytes[16], size_t *ret_length)
{
    size_t best = 8;
    size_t best_length = 1;
    for (size_t i = 0; i < 8; i++) {
        size_t length = 0;
        while (i + length < 8 && load_be16(bytes + (i + length) * 2) == 0) {
            length++;
        }
        if (length > best_length) {
            best = i;
            best_length = length;
        }
        i += length;
    }
    *ret_length = best_length;
    return best;
}

uint8_t *put_ipv6(uint8_t *p, const uint8_t bytes[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (memcmp(bytes, mapped, sizeof(mapped)) == 0) {
        return put_ipv4(put_literal(p, "::ffff:"), bytes + 12);
    }
    size_t zeros_length;
    size_t zeros = longest_zeros(bytes, &zeros_length);
    for (size_t i = 0; i < 8; i++) {
        if (i == zeros) {
            p = put_literal(p, "::");
            i += zeros_length - 1;
            continue;
        }
        if (i && i != zeros + zeros_length) {
            *p++ = ':';
        }
        /* put_hex without its `0x`. */
        uint8_t text[PUT_MAX];
        uint8_t *end = put_hex(text, load_be16(bytes + i * 2));
        p = put_span(p, span_make(text + 2, (size_t)(end - text) - 2));
    }
    return p;
}

bool put_sid(uint8_t **p, struct span sid)
{
    if (sid.size < 8 || sid.data[1] > 15 || sid.size < 8 + 4 * (size_t)sid.data[1]) {
        return false;
    }
    uint64_t authority = (uint64_t)load_be16(sid.data + 2) << 32 | load_be32(sid.data + 4);
    uint8_t *q = put_literal(*p, "S-");
    q = put_u64(q, sid.data[0]);
    *q++ = '-';
    q = authority > UINT32_MAX ? put_hex(q, authority) : put_u64(q, authority);
    for (size_t i = 0; i < sid.data[1]; i++) {
        *q++ = '-';
        q = put_u64(q, load_le32(sid.data + 8 + i * 4));
    }
    *p = q;
    return true;
}
