#include "base/rfc3339.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Take exactly ${digits} digits off the front of ${text}, a number within the limits. */
static bool take_digits(
    struct span *text, size_t digits, unsigned low, unsigned high, unsigned *ret_value)
{
    unsigned value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (i >= text->size || !is_digit(text->data[i])) {
            return false;
        }
        value = value * 10 + (unsigned)(text->data[i] - '0');
    }
    if (value < low || value > high) {
        return false;
    }
    *text = span_from(*text, digits);
    *ret_value = value;
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

bool rfc3339_parse(struct span text, uint64_t *ret_filetime)
{
    struct span rest = text;
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
