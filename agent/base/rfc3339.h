#ifndef ETWSHIP_BASE_RFC3339_H
#define ETWSHIP_BASE_RFC3339_H

#include "base/span.h"

/* A time as RFC 3339 section 5.6 has it, `2026-11-21T09:30:00.5+01:00`, of the years 1601 to 9999,
 * as FILETIME (UTC). Digits below 100 ns are cut off; a leap second is refused, FILETIME cannot say
 * it. False if ${text} is no such time. */
bool rfc3339_parse(struct span text, uint64_t *ret_filetime);

/* As rfc3339_parse, but ${text} may end after the year, the month, the day, the hour or the minute, and
 * may have no zone: `2026-11-21`, `2026-11-21T09:30`. It stands for the first moment that begins
 * so. ${ret_has_zone} false: ${ret_filetime} is as if in UTC, and the zone is the caller's to know. */
bool rfc3339_parse_start(struct span text, uint64_t *ret_filetime, bool *ret_has_zone);

/* `Z` or `+hh:mm` in seconds ahead of UTC. */
bool rfc3339_parse_zone(struct span text, int64_t *ret_seconds);

#endif
