#ifndef ETWSHIP_BASE_TIME_ZONE_H
#define ETWSHIP_BASE_TIME_ZONE_H

#include "base/span.h"

/*
 * A time zone as Windows writes it into traces: TIME_ZONE_INFORMATION (timezoneapi.h), a standard
 * time and, where it changes in summer, two rules for each year or two dates.
 */
struct time_zone_change {
    uint16_t year;   /* 0: each year, on the ${day}th ${weekday} of the month, 5 for the last one */
    uint8_t month;   /* 0: there is no change */
    uint8_t weekday; /* 0: Sunday */
    uint8_t day;
    uint32_t second; /* of the day, in the time that ends */
};

struct time_zone {
    bool is_known;
    int32_t standard_s; /* local time is that many seconds ahead of UTC */
    int32_t daylight_s;
    struct time_zone_change to_standard;
    struct time_zone_change to_daylight;
};

enum { TIME_ZONE_INFORMATION_SIZE = 172 };

/* ${bytes} has TIME_ZONE_INFORMATION_SIZE bytes. A zone more than a day away from UTC is not known;
 * a change that makes no sense is left out. */
struct time_zone time_zone_read(struct span bytes);

/* How many seconds local time is ahead of UTC at FILETIME ${filetime}; 0 in a zone that is not known. */
int32_t time_zone_offset(const struct time_zone *zone, uint64_t filetime);

#endif
