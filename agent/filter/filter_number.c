#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/hex.h"
#include "filter/filter_program.h"

static bool parse_hex(struct span digits, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < digits.size; i++) {
        unsigned digit = hex_digit(digits.data[i]);
        if (digit == HEX_NONE || number >> 60) {
            return false;
        }
        number = number << 4 | digit;
    }
    *ret_number = number;
    return digits.size > 0;
}

static bool parse_decimal(struct span digits, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < digits.size; i++) {
        unsigned digit = (unsigned)digits.data[i] - '0';
        if (digit > 9 || number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *ret_number = number;
    return digits.size > 0;
}

/* Digits, point or exponent; strtod reads the rest, which also knows "nan" and hex floats. */
static bool parse_real(struct span text, double *ret_real)
{
    char copy[64];
    if (text.size == 0 || text.size >= sizeof(copy)) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (!text.data[i] || !strchr("0123456789.eE+-", text.data[i])) {
            return false;
        }
        copy[i] = (char)text.data[i];
    }
    copy[text.size] = '\0';
    char *end;
    double real = strtod(copy, &end);
    if (*end || !isfinite(real)) {
        return false;
    }
    *ret_real = real;
    return true;
}

bool filter_number_parse(struct span text, struct filter_number *ret_number)
{
    struct filter_number number = {.is_real = false};
    struct span start = span_first(text, 2);
    bool ok = span_is(start, "0x") || span_is(start, "0X")
                  ? parse_hex(span_from(text, 2), &number.size)
                  : parse_decimal(text, &number.size);
    bool real = text.size &&
                (memchr(text.data, '.', text.size) || memchr(text.data, 'e', text.size) ||
                    memchr(text.data, 'E', text.size));
    if (!ok && real && text.data[0] != '-' && text.data[0] != '+') {
        number.is_real = true;
        ok = parse_real(text, &number.real);
    }
    if (ok) {
        *ret_number = number;
    }
    return ok;
}

static int compare_integers(const struct filter_number *a, const struct filter_number *b)
{
    if (a->negative != b->negative) {
        return a->negative ? -1 : 1;
    }
    int sizes = (a->size > b->size) - (a->size < b->size);
    return a->negative ? -sizes : sizes;
}

/* Exact comparison: integers are not rounded to reals. */
static int compare_integer_real(const struct filter_number *integer, double real)
{
    if (real >= 0x1p64) {
        return -1;
    }
    if (real <= -0x1p64) {
        return 1;
    }
    double whole = trunc(real);
    struct filter_number cut = {
        .negative = whole < 0, .size = (uint64_t)(whole < 0 ? -whole : whole)};
    int order = compare_integers(integer, &cut);
    return order ? order : (whole > real) - (whole < real);
}

int filter_number_compare(const struct filter_number *a, const struct filter_number *b)
{
    if (a->is_real && b->is_real) {
        return (a->real > b->real) - (a->real < b->real);
    }
    if (a->is_real) {
        return -compare_integer_real(b, a->real);
    }
    return b->is_real ? compare_integer_real(a, b->real) : compare_integers(a, b);
}

bool filter_rate_parse(struct span text, uint64_t *ret_every)
{
    struct filter_number number;
    if (text.size < 3 || text.data[0] != '1' || text.data[1] != '/' ||
        !filter_number_parse(span_from(text, 2), &number) || number.is_real || number.size == 0) {
        return false;
    }
    *ret_every = number.size;
    return true;
}

bool filter_limit_parse(struct span text, struct filter_limit *ret_limit)
{
    static const struct {
        uint8_t unit;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    struct filter_number number;
    if (text.size < 3 || text.data[text.size - 2] != '/' ||
        !filter_number_parse(span_first(text, text.size - 2), &number) || number.is_real ||
        number.size == 0 || number.size > FILTER_MAX_BURST) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (text.data[text.size - 1] == units[i].unit) {
            *ret_limit = (struct filter_limit){
                .events = number.size, .period = units[i].seconds * 10000000, .burst = number.size};
            return true;
        }
    }
    return false;
}
