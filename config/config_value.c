#include "config/config_value.h"

#include <inttypes.h>
#include <stdio.h>

#include "config/config_text.h"

struct unit {
    const char *name;
    uint64_t factor;
};

#define SECOND_NS UINT64_C(1000000000)

/* Both tables from the biggest unit down. */
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

/* Take decimal digits off the front of ${text}; false if there are none or they are too many. */
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

/* Take a run of letters off the front of ${text}. */
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
        uint8_t c = digits.data[i];
        uint8_t letter = (uint8_t)(c | 0x20);
        unsigned digit = is_digit(c)                        ? (unsigned)(c - '0')
                         : (letter >= 'a' && letter <= 'f') ? (unsigned)(letter - 'a') + 10
                                                            : 16;
        if (digit == 16 || value > UINT64_MAX >> 4) {
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
            "%s is no whole number. write it in decimal, or in hexadecimal with 0x",
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
        "%s is no size. write a whole number and a unit (B KB MB GB TB), as in 64KB",
        config_text_quote(text).text);
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
        "%s is no duration. write whole numbers with units (ms s m h d), as in 30s or 1h30m",
        config_text_quote(text).text);
}

/* Take exactly ${digits} digits off the front of ${text}, a number within the limits. */
static bool take_digits(
    struct span *text, size_t digits, unsigned low, unsigned high, unsigned *ret_value)
{
    struct span part = span_first(*text, digits);
    uint64_t value;
    if (!take_number(&part, &value) || part.size || text->size < digits || value < low ||
        value > high) {
        return false;
    }
    *text = span_from(*text, digits);
    *ret_value = (unsigned)value;
    return true;
}

static bool take_one_of(struct span *text, const char *bytes)
{
    if (text->size == 0 || text->data[0] == 0 || !strchr(bytes, text->data[0])) {
        return false;
    }
    *text = span_from(*text, 1);
    return true;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/* Days from 1601-01-01, the day FILETIME counts from and the first of a 400-year cycle. */
static int64_t days_since_1601(unsigned year, unsigned month, unsigned day)
{
    unsigned years = year - 1601;
    unsigned days = years * 365 + years / 4 - years / 100 + years / 400;
    for (unsigned m = 1; m < month; m++) {
        days += days_in_month(year, m);
    }
    return (int64_t)days + day - 1;
}

/* A fraction of a second in 100 ns; digits beyond the seventh are read and dropped. */
static bool take_fraction(struct span *text, int64_t *ret_ticks)
{
    int64_t ticks = 0;
    size_t size = 0;
    for (; size < text->size && is_digit(text->data[size]); size++) {
        ticks = size < 7 ? ticks * 10 + (text->data[size] - '0') : ticks;
    }
    for (size_t i = size; i < 7; i++) {
        ticks *= 10;
    }
    *text = span_from(*text, size);
    *ret_ticks = ticks;
    return size > 0;
}

/* `Z` or `+hh:mm` in seconds. */
static bool take_zone(struct span *text, int64_t *ret_seconds)
{
    if (take_one_of(text, "Zz")) {
        *ret_seconds = 0;
        return true;
    }
    unsigned hour = 0;
    unsigned minute = 0;
    bool west = text->size && text->data[0] == '-';
    if (!take_one_of(text, "+-") || !take_digits(text, 2, 0, 23, &hour) ||
        !take_one_of(text, ":") || !take_digits(text, 2, 0, 59, &minute)) {
        return false;
    }
    int64_t seconds = (int64_t)hour * 3600 + minute * 60;
    *ret_seconds = west ? -seconds : seconds;
    return true;
}

/* RFC 3339 section 5.6; a leap second is refused, FILETIME cannot say it. */
static bool read_time(struct span rest, uint64_t *ret_filetime)
{
    unsigned year = 0;
    unsigned month = 0;
    unsigned day = 0;
    unsigned hour = 0;
    unsigned minute = 0;
    unsigned sec = 0;
    int64_t ticks = 0;
    int64_t zone = 0;
    bool good = take_digits(&rest, 4, 1601, 9999, &year) && take_one_of(&rest, "-") &&
                take_digits(&rest, 2, 1, 12, &month) && take_one_of(&rest, "-") &&
                take_digits(&rest, 2, 1, days_in_month(year, month), &day) &&
                take_one_of(&rest, "Tt ") && take_digits(&rest, 2, 0, 23, &hour) &&
                take_one_of(&rest, ":") && take_digits(&rest, 2, 0, 59, &minute) &&
                take_one_of(&rest, ":") && take_digits(&rest, 2, 0, 59, &sec);
    if (good && take_one_of(&rest, ".")) {
        good = take_fraction(&rest, &ticks);
    }
    if (!good || !take_zone(&rest, &zone) || rest.size) {
        return false;
    }
    int64_t seconds = days_since_1601(year, month, day) * 86400 + (int64_t)hour * 3600 +
                      (int64_t)minute * 60 + sec - zone;
    if (seconds < 0) {
        return false;
    }
    *ret_filetime = (uint64_t)(seconds * 10000000 + ticks);
    return true;
}

bool config_value_time(struct span text, uint64_t *ret_filetime, struct error *err)
{
    if (read_time(text, ret_filetime)) {
        return true;
    }
    return error_set(err, ERR_CONFIG, "%s is no time. write it as in 2026-11-21T09:30:00Z",
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
