#ifndef ETWSHIP_BASE_TIME_ZONE_H
#define ETWSHIP_BASE_TIME_ZONE_H

#include "base/span.h"

/*
 * A time zone as Windows writes it into traces: TIME_ZONE_INFORMATION (timezoneapi.h). Standard
 * time and, if there is daylight saving time, two rules for each year or two dates.
 */
struct time_zone_change {
    uint16_t year;   /* 0: each year, on the ${day}th ${weekday} of the month; 5: the last one */
    uint8_t month;   /* 0: no change */
    uint8_t weekday; /* 0: Sunday */
    uint8_t day;
    uint32_t second; /* of the day, in local time before the change */
};

struct time_zone {
    bool is_known;
    int32_t standard_s; /* seconds ahead of UTC */
    int32_t daylight_s;
    struct time_zone_change to_standard;
    struct time_zone_change to_daylight;
};

enum { TIME_ZONE_INFORMATION_SIZE = 172 };

/* ${bytes} has TIME_ZONE_INFORMATION_SIZE bytes. A zone more than a day from UTC counts as unknown;
 * an invalid change is ignored. */
struct time_zone time_zone_read(struct span bytes);

/* Seconds that local time is ahead of UTC at FILETIME ${filetime}; 0 if the zone is unknown. */
int32_t time_zone_offset(const struct time_zone *zone, uint64_t filetime);

#endif
