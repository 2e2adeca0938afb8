#ifndef ETWSHIP_PIPELINE_TIME_RANGE_H
#define ETWSHIP_PIPELINE_TIME_RANGE_H

#include <stdint.h>

/* When records happened: FILETIMEs of the earliest and the latest; 0: not known. */
struct time_range {
    uint64_t from;
    uint64_t to;
};

static inline void time_range_add(struct time_range *range, struct time_range more)
{
    if (more.from && (range->from == 0 || more.from < range->from)) {
        range->from = more.from;
    }
    range->to = more.to > range->to ? more.to : range->to;
}

#endif
