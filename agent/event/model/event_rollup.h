#ifndef ETWSHIP_EVENT_EVENT_ROLLUP_H
#define ETWSHIP_EVENT_EVENT_ROLLUP_H

#include "base/buf.h"

/* One event that represents several, itself included. */
struct event_rollup {
    uint64_t count;
    uint64_t first; /* FILETIME of the earliest */
    uint64_t last;  /* of the latest */
};

/* event_format.rollup for JSON, one object a line: `,"rollup":{…}` is its last member. */
void event_rollup_json(const struct event_rollup *rollup, struct buf *out);

/* The rollup as a line for people. */
void event_rollup_pretty(const struct event_rollup *rollup, struct buf *out);

#endif
