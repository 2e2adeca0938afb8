#ifndef ETWSHIP_BASE_PUT_H
#define ETWSHIP_BASE_PUT_H

#include "base/bytes.h"
#include "base/guid.h"
#include "base/span.h"

/*
 * Writes values as text into memory that the caller reserved. Each function writes at ${p} and
 * returns the end of its output, without terminator. PUT_MAX suffices for each of them, except
 * where a size is an argument.
 */
enum { PUT_MAX = 64 };

static inline uint8_t *put_span(uint8_t *p, struct span s)
{
    if (s.size) {
        memcpy(p, s.data, s.size);
    }
    return p + s.size;
}

/* put_span() in whole blocks, at least one, for mostly short texts: PUT_PADDING bytes after ${s}
 * must be readable, and as many after the output writable. The output may begin at the end of ${s}:
 * blocks then overlap only in bytes that do not matter. Compilers do 16-byte moves in registers. */
enum { PUT_PADDING = 32 };

static inline void put_block(uint8_t *p, const uint8_t *block)
{
    memmove(p, block, 16);
    memmove(p + 16, block + 16, 16);
}

static inline uint8_t *put_padded(uint8_t *p, struct span s)
{
    put_block(p, s.data);
    for (size_t at = PUT_PADDING; at < s.size; at += PUT_PADDING) {
        put_block(p + at, s.data + at);
    }
    return p + s.size;
}

/* A string literal. */
#define put_literal(p, text) ((uint8_t *)memcpy((p), (text), sizeof(text) - 1) + (sizeof(text) - 1))

/* The eight digits of a number below PUT_EIGHT, the first in the lowest byte: halves, quarters and
 * digits are split in parallel in one word by multiplication with reciprocals. */
enum { PUT_EIGHT = 100000000 };

static inline uint64_t put_eight_digits(uint32_t value)
{
    uint64_t x = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = (x * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
    x = hundreds | (x - 100 * hundreds) << 16;
    uint64_t tens = (x * 103 >> 10) & UINT64_C(0x000f000f000f000f);
    return tens | (x - 10 * tens) << 8;
}

/* Eight digits with leading zeros. */
static inline uint8_t *put_eight(uint8_t *p, uint32_t value)
{
    store_le64(p, put_eight_digits(value) + UINT64_C(0x3030303030303030));
    return p + 8;
}

/* Write 100 ns units below a second as seven digits, followed by `Z`. */
static inline uint8_t *put_fraction(uint8_t *p, uint32_t fraction)
{
    put_eight(p, fraction * 10);
    p[7] = 'Z';
    return p + 8;
}

/* 0 to 999: three digits, and 8 times the number of leading zeros to skip. 4 KB, because most
 * numbers in real events are this small, and many others consist of two. */
extern const uint8_t put_thousand[1000][4];

/* 10^6 and more. */
uint8_t *put_wide(uint8_t *p, uint64_t value);

/* Always writes four or seven bytes: lengths vary in real events, and a branch on the length would
 * often be mispredicted. */
static inline uint8_t *put_u64(uint8_t *p, uint64_t value)
{
    if (value >= 1000000) {
        return put_wide(p, value);
    }
    uint32_t first = (uint32_t)value;
    if (first >= 1000) {
        first /= 1000;
    }
    uint32_t digits = load_le32(put_thousand[first]);
    uint32_t leading_bits = digits >> 24;
    store_le32(p, digits >> leading_bits);
    p += 3 - leading_bits / 8;
    if (value >= 1000) {
        memcpy(p, put_thousand[(uint32_t)value - first * 1000], 4);
        p += 3;
    }
    return p;
}

static inline uint8_t *put_i64(uint8_t *p, int64_t value)
{
    if (value < 0) {
        *p++ = '-';
        return put_u64(p, 0 - (uint64_t)value);
    }
    return put_u64(p, (uint64_t)value);
}

/* `0x…`, lower case, no padding. */
uint8_t *put_hex(uint8_t *p, uint64_t value);

/* All sixteen digits. */
uint8_t *put_hex_all(uint8_t *p, uint64_t value);

/* Two lower-case digits a byte; needs 2 * bytes.size. */
uint8_t *put_hex_bytes(uint8_t *p, struct span bytes);

/* 36 characters, lower case, no braces. */
uint8_t *put_guid(uint8_t *p, const uint8_t bytes[16]);

/* Shortest decimal that parses to the same number, always with a point or exponent; the value must
 * be finite. */
uint8_t *put_float(uint8_t *p, float value);
uint8_t *put_double(uint8_t *p, double value);

/* FILETIME as `2026-11-21T09:30:00.1234567Z`. False, and nothing written, above the year 9999. */
bool put_filetime(uint8_t **p, uint64_t filetime);

/* Like put_filetime; above the year 9999 it writes the FILETIME in hex, `0x…`. */
uint8_t *put_filetime_or_hex(uint8_t *p, uint64_t filetime);

/* Cache for put_clock_filetime, which is fast for times that mostly fall into the second of the
 * previous one, as in a trace. */
struct put_clock {
    uint64_t second; /* since 1601; UINT64_MAX initially */
    uint8_t text[20];
};

bool put_clock_filetime(struct put_clock *clock, uint8_t **p, uint64_t filetime);

/* SYSTEMTIME (8 little-endian u16) as `2026-11-21T09:30:00.123`, without zone. False if a part is
 * out of range. */
bool put_systemtime(uint8_t **p, const uint8_t bytes[16]);

/* `192.0.2.7`. */
uint8_t *put_ipv4(uint8_t *p, const uint8_t bytes[4]);

/* RFC 5952. */
uint8_t *put_ipv6(uint8_t *p, const uint8_t bytes[16]);

/* `S-1-…`; needs 16 + 11 * count bytes, at most 192. False if ${sid} is not a SID. */
bool put_sid(uint8_t **p, struct span sid);

/* Convert days since 1601-01-01 to a Gregorian date. */
void put_civil(uint32_t days, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day);

#endif
