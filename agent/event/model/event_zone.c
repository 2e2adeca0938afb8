#include "event/model/event_zone.h"

#include "base/text/calendar.h"

int32_t event_zone_offset(
    const struct event_zone *zone, const struct trace_info *trace, uint64_t filetime)
{
    switch (zone->kind) {
    case EVENT_ZONE_FIXED:
        return zone->offset_s;
    case EVENT_ZONE_HERE:
        return zone->offset_at(filetime);
    case EVENT_ZONE_TRACE:
        return trace ? time_zone_offset(&trace->zone, filetime) : 0;
    default:
        return 0;
    }
}

static uint64_t minus(uint64_t filetime, int32_t seconds)
{
    int64_t moved = (int64_t)filetime - (int64_t)seconds * CALENDAR_TICKS_PER_SECOND;
    return moved > 0 ? (uint64_t)moved : 0;
}

uint64_t event_zone_to_utc(
    const struct event_zone *zone, const struct trace_info *trace, uint64_t local)
{
    /* A day before, the offset is the one that holds up to a change. */
    int32_t before = event_zone_offset(zone, trace, minus(local, CALENDAR_SECONDS_PER_DAY));
    uint64_t first = minus(local, before);
    if (event_zone_offset(zone, trace, first) == before) {
        return first;
    }
    return minus(local, event_zone_offset(zone, trace, first));
}
