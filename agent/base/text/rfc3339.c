#include "base/text/rfc3339.h"

#include "base/text/calendar.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Parse exactly ${digits} digits at the front of ${text}, a number within the limits. */
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

/* Parse a fraction of a second in 100 ns; digits after the seventh are ignored. */
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

/* A parsed time, from the year on. */
struct moment {
    unsigned year;
    unsigned month;
    unsigned day;
    unsigned hour;
    unsigned minute;
    unsigned second;
    int64_t ticks;
    int64_t zone; /* seconds */
    bool has_zone;
    bool is_whole; /* only fraction and zone may be missing */
};

static bool ends_here(struct span rest)
{
    return rest.size == 0 || strchr("Zz+-", rest.data[0]);
}

/* Each of these parses a number and what follows it; the text may also end there. */
static bool take_second(struct span *rest, struct moment *m)
{
    if (!take_digits(rest, 2, 0, 59, &m->second)) {
        return false;
    }
    m->is_whole = true;
    return !take_one_of(rest, ".") || take_fraction(rest, &m->ticks);
}

static bool take_minute(struct span *rest, struct moment *m)
{
    return take_digits(rest, 2, 0, 59, &m->minute) &&
           (ends_here(*rest) || (take_one_of(rest, ":") && take_second(rest, m)));
}

static bool take_hour(struct span *rest, struct moment *m)
{
    return take_digits(rest, 2, 0, 23, &m->hour) &&
           (ends_here(*rest) || (take_one_of(rest, ":") && take_minute(rest, m)));
}

static bool take_day(struct span *rest, struct moment *m)
{
    return take_digits(rest, 2, 1, calendar_days_in_month(m->year, m->month), &m->day) &&
           (!take_one_of(rest, "Tt ") || take_hour(rest, m));
}

static bool take_month(struct span *rest, struct moment *m)
{
    return take_digits(rest, 2, 1, 12, &m->month) &&
           (rest->size == 0 || (take_one_of(rest, "-") && take_day(rest, m)));
}

static bool take_year(struct span *rest, struct moment *m)
{
    return take_digits(rest, 4, 1601, 9999, &m->year) &&
           (rest->size == 0 || (take_one_of(rest, "-") && take_month(rest, m)));
}

static bool take_moment(struct span text, struct moment *ret_moment)
{
    struct span rest = text;
    struct moment m = {.month = 1, .day = 1};
    if (!take_year(&rest, &m)) {
        return false;
    }
    m.has_zone = rest.size > 0;
    if (m.has_zone && (!take_zone(&rest, &m.zone) || rest.size)) {
        return false;
    }
    *ret_moment = m;
    return true;
}

static bool filetime_of(const struct moment *m, uint64_t *ret_filetime)
{
    int64_t seconds = calendar_day(m->year, m->month, m->day) * CALENDAR_SECONDS_PER_DAY +
                      (int64_t)m->hour * 3600 + (int64_t)m->minute * 60 + m->second - m->zone;
    if (seconds < 0) {
        return false;
    }
    *ret_filetime = (uint64_t)(seconds * CALENDAR_TICKS_PER_SECOND + m->ticks);
    return true;
}

bool rfc3339_parse(struct span text, uint64_t *ret_filetime)
{
    struct moment m;
    return take_moment(text, &m) && m.is_whole && m.has_zone && filetime_of(&m, ret_filetime);
}

bool rfc3339_parse_start(struct span text, uint64_t *ret_filetime, bool *ret_has_zone)
{
    struct moment m;
    if (!take_moment(text, &m) || !filetime_of(&m, ret_filetime)) {
        return false;
    }
    *ret_has_zone = m.has_zone;
    return true;
}

bool rfc3339_parse_zone(struct span text, int64_t *ret_seconds)
{
    struct span rest = text;
    return text.size > 0 && take_zone(&rest, ret_seconds) && rest.size == 0;
}
