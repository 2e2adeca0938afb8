#ifndef ETWSHIP_EVENT_EVENT_ZONE_H
#define ETWSHIP_EVENT_EVENT_ZONE_H

#include "event/model/record.h"

/* The time zone of times for people; JSON is always in UTC. */
struct event_zone {
    enum event_zone_kind {
        EVENT_ZONE_UTC,
        EVENT_ZONE_FIXED, /* ${offset_s} ahead of UTC */
        EVENT_ZONE_HERE,  /* this machine's zone, by ${offset_at} */
        EVENT_ZONE_TRACE, /* the recording machine's zone; UTC if the trace does not tell */
    } kind;
    int32_t offset_s;
    int32_t (*offset_at)(uint64_t filetime);
};

/* Seconds that the zone is ahead of UTC at FILETIME ${filetime}; ${trace} may be NULL. */
int32_t event_zone_offset(
    const struct event_zone *zone, const struct trace_info *trace, uint64_t filetime);

/* FILETIME of a local time; ${local} is the local time as a FILETIME as if it were UTC. A time that
 * occurs twice when summer time ends is the first one. */
uint64_t event_zone_to_utc(
    const struct event_zone *zone, const struct trace_info *trace, uint64_t local);

#endif
