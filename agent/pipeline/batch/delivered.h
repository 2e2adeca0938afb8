#ifndef ETWSHIP_PIPELINE_DELIVERED_H
#define ETWSHIP_PIPELINE_DELIVERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which events of a session an output delivered in earlier runs, so that it skips them when they
 * are read again: all up to a sequence, except those in batches up to the last one of that run,
 * which still waited for it. If an output starts over before it has delivered these, both limits
 * hold: the earlier one for the batches between the two.
 */
enum {
    DELIVERED_STEPS = 4
}; /* of more, the one before the last is dropped: what it covers may come twice */

struct delivered_step {
    uint64_t number;     /* it delivered everything up to here … */
    uint64_t last_batch; /* … except in batches up to this one */
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

/* Note that the output delivered everything up to ${number}, and that ${last_batch} is the last
 * existing batch. A lower earlier number stays beside it, a higher one is reduced to it, an equal
 * one changes nothing. */
void delivered_set(struct delivered *delivered, uint64_t number, uint64_t last_batch);

/* Did it deliver what batch ${batch} has of its session, up to ${number}? */
bool delivered_covers(const struct delivered *delivered, uint64_t batch, uint64_t number);

#endif
