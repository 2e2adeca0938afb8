#ifndef ETWSHIP_EVENT_EVENT_ZONE_H
#define ETWSHIP_EVENT_EVENT_ZONE_H

#include "event/model/record.h"

/* In which zone people want to see times; JSON is always in UTC. */
struct event_zone {
    enum event_zone_kind {
        EVENT_ZONE_UTC,
        EVENT_ZONE_FIXED, /* ${offset_s} ahead of UTC */
        EVENT_ZONE_HERE,  /* as ${offset_at} says: this machine's own */
        EVENT_ZONE_TRACE, /* the recording machine's, UTC where the trace does not tell */
    } kind;
    int32_t offset_s;
    int32_t (*offset_at)(uint64_t filetime);
};

/* How many seconds the zone is ahead of UTC at FILETIME ${filetime}; ${trace} may be NULL. */
int32_t event_zone_offset(
    const struct event_zone *zone, const struct trace_info *trace, uint64_t filetime);

/* FILETIME of what ${local} says in the zone, where it is written as if it was UTC. Of a time that comes
 * twice as summer ends, the first. */
uint64_t event_zone_to_utc(
    const struct event_zone *zone, const struct trace_info *trace, uint64_t local);

#endif
