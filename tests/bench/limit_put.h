#ifndef ETWSHIP_TESTS_BENCH_LIMIT_PUT_H
#define ETWSHIP_TESTS_BENCH_LIMIT_PUT_H

#include <stdio.h>

#include "base/bytes.h"
#include "base/utf.h"
#include "bench/limit.h"

/* Values as text for the limit program: each writes at ${p} and returns the end of what it wrote.
 * Written apart from base/put.h, so that the two check each other. */
#define LITERAL(p, text) ((uint8_t *)memcpy((p), (text), sizeof(text) - 1) + (sizeof(text) - 1))

// clang-format off
#define ROW10(a) a "0" a "1" a "2" a "3" a "4" a "5" a "6" a "7" a "8" a "9"
static const char pairs[] = ROW10("0") ROW10("1") ROW10("2") ROW10("3") ROW10("4") ROW10("5")
    ROW10("6") ROW10("7") ROW10("8") ROW10("9");
#define ROW16(a) ROW10(a) a "a" a "b" a "c" a "d" a "e" a "f"
static const char hex_pairs[] = ROW16("0") ROW16("1") ROW16("2") ROW16("3") ROW16("4") ROW16("5")
    ROW16("6") ROW16("7") ROW16("8") ROW16("9") ROW16("a") ROW16("b") ROW16("c") ROW16("d")
    ROW16("e") ROW16("f");
// clang-format on

static inline uint8_t *number(uint8_t *p, uint64_t value)
{
    char text[20];
    char *at = text + sizeof(text);
    while (value >= 100) {
        at -= 2;
        memcpy(at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, pairs + value * 2, 2);
    } else {
        *--at = (char)('0' + value);
    }
    size_t size = (size_t)(text + sizeof(text) - at);
    memcpy(p, at, size);
    return p + size;
}

static inline uint8_t *signed_number(uint8_t *p, int32_t value)
{
    if (value < 0) {
        *p++ = '-';
        return number(p, (uint64_t)(-(int64_t)value));
    }
    return number(p, (uint64_t)value);
}

/* `"0x…"` with its quotes. */
static inline uint8_t *hex(uint8_t *p, uint64_t value)
{
    static const char digits[] = "0123456789abcdef";
    int shift = 60;
    while (shift > 0 && value >> shift == 0) {
        shift -= 4;
    }
    p = LITERAL(p, "\"0x");
    for (; shift >= 0; shift -= 4) {
        *p++ = (uint8_t)digits[value >> shift & 15];
    }
    *p++ = '"';
    return p;
}

static inline uint8_t *guid(uint8_t *p, const uint8_t *b)
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    static const uint8_t place[16] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
    for (int i = 0; i < 16; i++) {
        memcpy(p + place[i], hex_pairs + b[order[i]] * 2, 2);
    }
    p[8] = p[13] = p[18] = p[23] = '-';
    return p + 36;
}

/* Text of a new second: `2026-11-21T09:30:00.`. Civil date from days,
 * Howard Hinnant's algorithm. */
static inline void new_second(struct limit *limit, uint64_t second)
{
    uint64_t days = second / 86400 + 584694; /* since 0000-03-01 */
    uint64_t era_day = days % 146097;
    uint64_t year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
    uint64_t year_day = era_day - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * year_day + 2) / 153;
    unsigned day = (unsigned)(year_day - (153 * month + 2) / 5 + 1);
    month = month < 10 ? month + 3 : month - 9;
    year += days / 146097 * 400 + (month <= 2);
    unsigned clock = (unsigned)(second % 86400);
    char text[64];
    snprintf(text, sizeof(text), "%04u-%02u-%02uT%02u:%02u:%02u.", (unsigned)year, (unsigned)month,
        day, clock / 3600, clock / 60 % 60, clock % 60);
    memcpy(limit->second_text, text, sizeof(limit->second_text));
    limit->second = second;
}

static inline uint8_t *timestamp(struct limit *limit, uint8_t *p, uint64_t filetime)
{
    uint64_t second = filetime / 10000000;
    uint32_t fraction = (uint32_t)(filetime - second * 10000000);
    if (second != limit->second) {
        new_second(limit, second);
    }
    memcpy(p, limit->second_text, 20);
    memcpy(p + 20, pairs + fraction / 100000 * 2, 2);
    memcpy(p + 22, pairs + fraction / 1000 % 100 * 2, 2);
    memcpy(p + 24, pairs + fraction / 10 % 100 * 2, 2);
    p[26] = (uint8_t)('0' + fraction % 10);
    p[27] = 'Z';
    return p + 28;
}

/* `S-1-…` of a SID that starts at ${at}, which is advanced. */
static inline uint8_t *sid(uint8_t *p, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *s = *at;
    size_t size = end - s < 8 ? 0 : 8 + 4 * (size_t)s[1];
    if (size == 0 || size > (size_t)(end - s)) {
        return p;
    }
    p = LITERAL(p, "S-1-");
    p = number(p, (uint64_t)load_be16(s + 2) << 32 | load_be32(s + 4));
    for (size_t i = 8; i < size; i += 4) {
        *p++ = '-';
        p = number(p, load_le32(s + i));
    }
    *at = s + size;
    return p;
}

/* UTF-16 up to its NUL, which is skipped. */
static inline uint8_t *text16(uint8_t *p, const uint8_t **at, const uint8_t *end)
{
    struct span rest = span_make(*at, (size_t)(end - *at));
    size_t size = utf16_until_nul(rest);
    p += utf16_to_json(span_make(*at, size), p);
    *at += size + 2 <= rest.size ? size + 2 : rest.size;
    return p;
}

/* UTF-8, or ANSI that is ASCII, up to its NUL, which is skipped. */
static inline uint8_t *text8(uint8_t *p, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *nul = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
    const uint8_t *stop = nul ? nul : end;
    p += utf8_to_json(span_make(*at, (size_t)(stop - *at)), p);
    *at = nul ? nul + 1 : end;
    return p;
}

static inline uint8_t *copy(uint8_t *p, const uint8_t *from, size_t size)
{
    memcpy(p, from, size);
    return p + size;
}

#endif
