#include "base/text/time_zone.h"

#include "base/reader.h"
#include "base/text/calendar.h"

enum { MAX_MINUTES = 24 * 60, NAME_BYTES = 64 };

/* SYSTEMTIME: eight 16-bit numbers. */
static struct time_zone_change read_change(struct reader *r)
{
    uint16_t n[8];
    for (size_t i = 0; i < 8; i++) {
        n[i] = reader_u16(r);
    }
    bool good = n[1] >= 1 && n[1] <= 12 && n[2] <= 6 && n[3] >= 1 && n[4] < 24 && n[5] < 60 &&
                n[6] < 60;
    good = good && (n[0] ? n[0] >= 1601 && n[3] <= calendar_days_in_month(n[0], n[1]) : n[3] <= 5);
    if (!good) {
        return (struct time_zone_change){.month = 0};
    }
    return (struct time_zone_change){.year = n[0],
        .month = (uint8_t)n[1],
        .weekday = (uint8_t)n[2],
        .day = (uint8_t)n[3],
        .second = (uint32_t)(n[4] * 3600 + n[5] * 60 + n[6])};
}

static bool is_sane(int64_t minutes)
{
    return minutes >= -MAX_MINUTES && minutes <= MAX_MINUTES;
}

struct time_zone time_zone_read(struct span bytes)
{
    struct reader r = reader_make(bytes);
    int64_t bias = (int32_t)reader_u32(&r);
    reader_skip(&r, NAME_BYTES);
    struct time_zone zone = {.to_standard = read_change(&r)};
    int64_t standard = bias + (int32_t)reader_u32(&r);
    reader_skip(&r, NAME_BYTES);
    zone.to_daylight = read_change(&r);
    int64_t daylight = bias + (int32_t)reader_u32(&r);
    if (zone.to_standard.month == 0 || zone.to_daylight.month == 0) {
        zone.to_standard.month = 0; /* a single change is meaningless */
        standard = bias;
        daylight = bias;
    }
    if (r.failed || !is_sane(standard) || !is_sane(daylight)) {
        return (struct time_zone){.is_known = false};
    }
    zone.is_known = true;
    zone.standard_s = (int32_t)(-standard * 60);
    zone.daylight_s = (int32_t)(-daylight * 60);
    return zone;
}

/* Time of the change in ${year}, in seconds of local time before the change. */
static int64_t change_at(const struct time_zone_change *change, unsigned year)
{
    if (change->year) {
        int64_t day = calendar_day(change->year, change->month, change->day);
        return day * CALENDAR_SECONDS_PER_DAY + change->second;
    }
    int64_t first = calendar_day(year, change->month, 1);
    unsigned day = 1 + (change->weekday + 7 - calendar_weekday(first)) % 7;
    day += (change->day - 1u) * 7;
    while (day > calendar_days_in_month(year, change->month)) {
        day -= 7;
    }
    return (first + day - 1) * CALENDAR_SECONDS_PER_DAY + change->second;
}

int32_t time_zone_offset(const struct time_zone *zone, uint64_t filetime)
{
    if (!zone->is_known || zone->to_standard.month == 0) {
        return zone->is_known ? zone->standard_s : 0;
    }
    int64_t utc = (int64_t)(filetime / CALENDAR_TICKS_PER_SECOND);
    int64_t local = utc + zone->standard_s;
    unsigned year = calendar_year((local > 0 ? local : 0) / CALENDAR_SECONDS_PER_DAY);
    int64_t start = change_at(&zone->to_daylight, year) - zone->standard_s;
    int64_t end = change_at(&zone->to_standard, year) - zone->daylight_s;
    bool is_daylight = start < end ? utc >= start && utc < end : utc >= start || utc < end;
    return is_daylight ? zone->daylight_s : zone->standard_s;
}
