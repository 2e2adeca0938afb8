#ifndef ETWSHIP_BASE_CALENDAR_H
#define ETWSHIP_BASE_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

/* Days of the Gregorian calendar since 1601-01-01, a Monday: the epoch of FILETIME and the start of
 * a 400-year cycle. Years from 1601; months and days count from 1. */

enum { CALENDAR_TICKS_PER_SECOND = 10000000, CALENDAR_SECONDS_PER_DAY = 86400 };

static inline bool calendar_is_leap(unsigned year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static inline unsigned calendar_days_in_month(unsigned year, unsigned month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && calendar_is_leap(year) ? 1u : 0u);
}

static inline int64_t calendar_day(unsigned year, unsigned month, unsigned day)
{
    unsigned years = year - 1601;
    int64_t days = (int64_t)years * 365 + years / 4 - years / 100 + years / 400;
    for (unsigned m = 1; m < month; m++) {
        days += calendar_days_in_month(year, m);
    }
    return days + day - 1;
}

/* Year of a day, which must not be negative. */
static inline unsigned calendar_year(int64_t day)
{
    unsigned year = 1601 + (unsigned)(day * 400 / 146097); /* at most one off */
    while (calendar_day(year + 1, 1, 1) <= day) {
        year++;
    }
    while (calendar_day(year, 1, 1) > day) {
        year--;
    }
    return year;
}

/* 0: Sunday, as in SYSTEMTIME. */
static inline unsigned calendar_weekday(int64_t day)
{
    return (unsigned)((day + 1) % 7);
}

#endif
