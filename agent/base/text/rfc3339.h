#ifndef ETWSHIP_BASE_RFC3339_H
#define ETWSHIP_BASE_RFC3339_H

#include "base/span.h"

/* Parse a time of RFC 3339 section 5.6, `2026-11-21T09:30:00.5+01:00`, of the years 1601 to 9999,
 * as FILETIME (UTC). Digits below 100 ns are dropped; a leap second is refused because FILETIME
 * cannot represent it. False if ${text} is not such a time. */
bool rfc3339_parse(struct span text, uint64_t *ret_filetime);

/* Like rfc3339_parse, but ${text} may end after the year, month, day, hour or minute, and may lack
 * a zone: `2026-11-21`, `2026-11-21T09:30`. The result is the first moment with that prefix.
 * ${ret_has_zone} false: ${ret_filetime} is computed as UTC, and the caller must apply the zone. */
bool rfc3339_parse_start(struct span text, uint64_t *ret_filetime, bool *ret_has_zone);

/* Parse `Z` or `+hh:mm` as seconds ahead of UTC. */
bool rfc3339_parse_zone(struct span text, int64_t *ret_seconds);

#endif
