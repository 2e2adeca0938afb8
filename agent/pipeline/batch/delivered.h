#ifndef ETWSHIP_PIPELINE_DELIVERED_H
#define ETWSHIP_PIPELINE_DELIVERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What an output delivered of a session in earlier runs, and so leaves out when it is given again: events up to a
 * number, but none of batches up to the last one of that time, which still waited for it. If an output begins again
 * before it has taken those, both statements hold: the earlier one for batches between the two.
 */
enum {
    DELIVERED_STEPS = 4
}; /* of more, the one before the last is dropped: what it covers may come twice */

struct delivered_step {
    uint64_t number;     /* it delivered everything up to here … */
    uint64_t last_batch; /* … but of no batch up to this one */
};

struct delivered {
    struct delivered_step steps[DELIVERED_STEPS]; /* ascending in both */
    size_t count;
};

/* The highest number; 0: it delivered nothing. */
static inline uint64_t delivered_number(const struct delivered *delivered)
{
    return delivered->count ? delivered->steps[delivered->count - 1].number : 0;
}

/* It delivered everything up to ${number}, and ${last_batch} is the last batch that there is. Where it was known to
 * have delivered less, that stays; where more, it is no more than this; where as much, nothing changes. */
void delivered_set(struct delivered *delivered, uint64_t number, uint64_t last_batch);

/* Did it deliver what batch ${batch} has of its session, up to ${number}? */
bool delivered_covers(const struct delivered *delivered, uint64_t batch, uint64_t number);

#endif
