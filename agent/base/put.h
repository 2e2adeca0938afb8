#ifndef ETWSHIP_BASE_PUT_H
#define ETWSHIP_BASE_PUT_H

#include "base/guid.h"
#include "base/span.h"

/*
 * Values as text, into memory that the caller reserved: each function writes at ${p} and returns
 * the end of what it wrote. No terminator. PUT_MAX is room enough for any one of them, except
 * where a size is among the arguments.
 */
enum { PUT_MAX = 64 };

static inline uint8_t *put_span(uint8_t *p, struct span s)
{
    if (s.size) {
        memcpy(p, s.data, s.size);
    }
    return p + s.size;
}

/* The same in whole blocks, for texts of some 20 bytes and more: PUT_PADDING bytes behind ${s} must
 * be readable, and there must be room for as many behind what is written. */
enum { PUT_PADDING = 32 };

static inline uint8_t *put_padded(uint8_t *p, struct span s)
{
    for (size_t i = 0; i < s.size; i += PUT_PADDING) {
        memcpy(p + i, s.data + i, PUT_PADDING);
    }
    return p + s.size;
}

/* A string literal. */
#define put_literal(p, text) ((uint8_t *)memcpy((p), (text), sizeof(text) - 1) + (sizeof(text) - 1))

uint8_t *put_u64(uint8_t *p, uint64_t value);
uint8_t *put_i64(uint8_t *p, int64_t value);

/* `0x…`, lower case, no padding. */
uint8_t *put_hex(uint8_t *p, uint64_t value);

/* Two lower-case digits a byte; needs 2 * bytes.size. */
uint8_t *put_hex_bytes(uint8_t *p, struct span bytes);

/* 36 characters, lower case, no braces. */
uint8_t *put_guid(uint8_t *p, const uint8_t bytes[16]);

/* Shortest decimal that reads back as the same number, always with a point or an exponent; the
 * value must be finite. */
uint8_t *put_float(uint8_t *p, float value);
uint8_t *put_double(uint8_t *p, double value);

/* FILETIME as `2026-11-21T09:30:00.1234567Z`. False, and nothing written, above the year 9999. */
bool put_filetime(uint8_t **p, uint64_t filetime);

/* SYSTEMTIME (8 little-endian u16) as `2026-11-21T09:30:00.123`, without zone. False if a part is
 * out of range. */
bool put_systemtime(uint8_t **p, const uint8_t bytes[16]);

/* `192.0.2.7`. */
uint8_t *put_ipv4(uint8_t *p, const uint8_t bytes[4]);

/* RFC 5952. */
uint8_t *put_ipv6(uint8_t *p, const uint8_t bytes[16]);

/* `S-1-…`; needs 16 + 11 * count bytes, 192 at most. False if ${sid} is not a SID. */
bool put_sid(uint8_t **p, struct span sid);

/* Days since 1601-01-01 to a date of the Gregorian calendar. */
void put_civil(uint32_t days, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day);

/* Digits of 0-99 in pairs, for callers that write fixed-width numbers. */
extern const char put_pairs[200];

#endif
