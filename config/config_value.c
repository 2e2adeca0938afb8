#include "config/config_value.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hex.h"
#include "base/text/rfc3339.h"
#include "config/config_text.h"

struct unit {
    const char *name;
    uint64_t factor;
};

#define SECOND_NS UINT64_C(1000000000)

/* Both tables start with the largest unit. */
static const struct unit size_units[] = {
    {"TB", UINT64_C(1) << 40},
    {"TiB", UINT64_C(1) << 40},
    {"GB", UINT64_C(1) << 30},
    {"GiB", UINT64_C(1) << 30},
    {"MB", UINT64_C(1) << 20},
    {"MiB", UINT64_C(1) << 20},
    {"KB", UINT64_C(1) << 10},
    {"KiB", UINT64_C(1) << 10},
    {"B", 1},
};

static const struct unit duration_units[] = {
    {"d", 86400 * SECOND_NS},
    {"h", 3600 * SECOND_NS},
    {"m", 60 * SECOND_NS},
    {"s", SECOND_NS},
    {"ms", SECOND_NS / 1000},
};

enum {
    SIZE_UNITS = sizeof(size_units) / sizeof(size_units[0]),
    DURATION_UNITS = sizeof(duration_units) / sizeof(duration_units[0]),
};

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Read decimal digits at the start of ${text}; false if there are none or too many. */
static bool take_number(struct span *text, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t size = 0;
    for (; size < text->size && is_digit(text->data[size]); size++) {
        uint64_t digit = (uint64_t)(text->data[size] - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *text = span_from(*text, size);
    *ret_value = value;
    return size > 0;
}

/* Read the letters at the start of ${text}. */
static struct span take_letters(struct span *text)
{
    size_t size = 0;
    while (size < text->size && ((text->data[size] | 0x20) >= 'a') &&
           (text->data[size] | 0x20) <= 'z') {
        size++;
    }
    struct span letters = span_first(*text, size);
    *text = span_from(*text, size);
    return letters;
}

bool config_value_bool(struct span text, bool *ret_value, struct error *err)
{
    if (span_is(text, "true") || span_is(text, "false")) {
        *ret_value = text.size == 4;
        return true;
    }
    return error_set(err, ERR_CONFIG, "%s is neither true nor false. write one of them",
        config_text_quote(text).text);
}

static bool read_hex(struct span digits, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size; i++) {
        unsigned digit = hex_digit(digits.data[i]);
        if (digit == HEX_NONE || value > UINT64_MAX >> 4) {
            return false;
        }
        value = value << 4 | digit;
    }
    *ret_value = value;
    return digits.size > 0;
}

bool config_value_int(struct span text, int64_t *ret_value, struct error *err)
{
    struct span rest = text;
    bool negative = rest.size > 0 && rest.data[0] == '-';
    rest = span_from(rest, negative);
    uint64_t value = 0;
    bool good;
    if (span_equal_nocase(span_first(rest, 2), span_text("0x"))) {
        good = read_hex(span_from(rest, 2), &value);
    } else {
        bool leading_zero = rest.size > 1 && rest.data[0] == '0';
        good = take_number(&rest, &value) && rest.size == 0 && !leading_zero;
    }
    if (!good || value > INT64_MAX) {
        return error_set(err, ERR_CONFIG,
            "%s is not a whole number. write it in decimal, or in hexadecimal with 0x",
            config_text_quote(text).text);
    }
    *ret_value = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool config_value_size(struct span text, uint64_t *ret_bytes, struct error *err)
{
    struct span rest = text;
    uint64_t number;
    if (take_number(&rest, &number)) {
        uint64_t factor = rest.size == 0;
        for (size_t i = 0; i < SIZE_UNITS && !factor; i++) {
            if (span_equal_nocase(rest, span_text(size_units[i].name))) {
                factor = size_units[i].factor;
            }
        }
        if (factor && number <= INT64_MAX / factor) {
            *ret_bytes = number * factor;
            return true;
        }
    }
    return error_set(err, ERR_CONFIG,
        "%s is not a size. write a whole number and a unit (B KB MB GB TB), as in 64KB",
        config_text_quote(text).text);
}

/* The digits after a point, at most two, as hundredths. */
static bool take_hundredths(struct span *rest, uint64_t *ret_hundredths)
{
    uint64_t hundredths = 0;
    size_t count = 0;
    for (; count < 2 && count < rest->size && is_digit(rest->data[count]); count++) {
        hundredths = hundredths * 10 + (rest->data[count] - '0');
    }
    *rest = span_from(*rest, count);
    *ret_hundredths = count == 1 ? hundredths * 10 : hundredths;
    return count > 0;
}

bool config_value_percent(struct span text, uint64_t *ret_hundredths, struct error *err)
{
    struct span rest = text;
    uint64_t whole;
    uint64_t part = 0;
    bool good = take_number(&rest, &whole) && whole <= 100;
    if (good && rest.size && *rest.data == '.') {
        rest = span_from(rest, 1);
        good = take_hundredths(&rest, &part);
    }
    if (!good || !span_is(rest, "%") || whole * 100 + part > 10000) {
        return error_set(err, ERR_CONFIG,
            "%s is not a percentage. write a number up to 100 and %%, as in 20%%",
            config_text_quote(text).text);
    }
    *ret_hundredths = whole * 100 + part;
    return true;
}

/* Read `<number><unit>…` into ${ret_ns}, units strictly descending. */
static bool read_duration(struct span rest, uint64_t *ret_ns)
{
    uint64_t total = 0;
    size_t next_unit = 0;
    while (rest.size) {
        uint64_t number;
        if (!take_number(&rest, &number)) {
            return false;
        }
        struct span name = take_letters(&rest);
        size_t unit = next_unit;
        while (unit < DURATION_UNITS && !span_is(name, duration_units[unit].name)) {
            unit++;
        }
        if (unit == DURATION_UNITS || number > INT64_MAX / duration_units[unit].factor ||
            number * duration_units[unit].factor > INT64_MAX - total) {
            return false;
        }
        total += number * duration_units[unit].factor;
        next_unit = unit + 1;
    }
    if (next_unit == 0) {
        return false;
    }
    *ret_ns = total;
    return true;
}

bool config_value_duration(struct span text, uint64_t *ret_ns, struct error *err)
{
    if (span_is(text, "0")) {
        *ret_ns = 0;
        return true;
    }
    if (read_duration(text, ret_ns)) {
        return true;
    }
    return error_set(err, ERR_CONFIG,
        "%s is not a duration. write whole numbers with units (ms s m h d), as in 30s or 1h30m",
        config_text_quote(text).text);
}

bool config_value_time(struct span text, uint64_t *ret_filetime, struct error *err)
{
    bool has_zone;
    if (rfc3339_parse_start(text, ret_filetime, &has_zone)) {
        return true;
    }
    return error_set(err, ERR_CONFIG,
        "%s is not a time. write it as in 2026-11-21T09:30:00Z, or its beginning, as in 2026-11-21",
        config_text_quote(text).text);
}

bool config_value_enum(
    struct span text, const char *const *names, int *ret_index, struct error *err)
{
    struct config_nearest nearest = {.text = text};
    struct config_names known = {.size = 0};
    for (int i = 0; names[i]; i++) {
        if (span_is(text, names[i])) {
            *ret_index = i;
            return true;
        }
        config_text_consider(&nearest, names[i]);
        config_text_list(&known, names[i]);
    }
    const char *meant = config_text_meant(&nearest);
    if (meant) {
        return error_set(err, ERR_CONFIG, "%s is not known. did you mean '%s'? known: %s",
            config_text_quote(text).text, meant, known.text);
    }
    return error_set(err, ERR_CONFIG, "%s is not known. use one of: %s",
        config_text_quote(text).text, known.text);
}

static struct config_value_text write_in_units(
    uint64_t value, const struct unit *units, size_t count, const char *zero)
{
    struct config_value_text text;
    snprintf(text.text, sizeof(text.text), "%s", zero);
    for (size_t i = 0; i < count && value; i++) {
        if (value % units[i].factor == 0) {
            snprintf(text.text, sizeof(text.text), "%" PRIu64 "%s", value / units[i].factor,
                units[i].name);
            break;
        }
    }
    return text;
}

struct config_value_text config_value_write_size(uint64_t bytes)
{
    return write_in_units(bytes, size_units, SIZE_UNITS, "0");
}

struct config_value_text config_value_write_duration(uint64_t ns)
{
    return write_in_units(ns, duration_units, DURATION_UNITS, "0");
}

struct config_value_text config_value_write_percent(uint64_t hundredths)
{
    struct config_value_text text;
    unsigned whole = (unsigned)(hundredths / 100);
    unsigned part = (unsigned)(hundredths % 100);
    if (part == 0) {
        snprintf(text.text, sizeof(text.text), "%u%%", whole);
    } else if (part % 10 == 0) {
        snprintf(text.text, sizeof(text.text), "%u.%u%%", whole, part / 10);
    } else {
        snprintf(text.text, sizeof(text.text), "%u.%02u%%", whole, part);
    }
    return text;
}
