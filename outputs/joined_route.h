#ifndef ETWSHIP_OUTPUTS_JOINED_ROUTE_H
#define ETWSHIP_OUTPUTS_JOINED_ROUTE_H

#include "base/span.h"

/* Several templates as one route (output_ops.route), with this between any two. No field in a path
 * has `|` or `/`, so no value can look like it. */
#define JOINED_ROUTE_SEPARATOR "|/"

/* Cut what was rendered from such a route into ${count} parts: views, empty for those that are
 * missing. True if there are as many. */
bool joined_route_split(struct span rendered, struct span *ret_parts, size_t count);

/* Make ${*part} a name of at most ${most} bytes in ${room}, each of them replaced by what ${letter}
 * returns for it. */
void joined_route_clean(struct span *part, size_t most, char (*letter)(char c), char *room);

#endif
