#ifndef ETWSHIP_PIPELINE_BACK_OFF_H
#define ETWSHIP_PIPELINE_BACK_OFF_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How long to wait before the next try, by "full jitter": a random time up to a bound that doubles
 * with each failure, so that many agents that lost one destination do not come back at once
 * (Brooker, "Exponential Backoff And Jitter", 2015).
 */
struct back_off {
    uint32_t min_ms;   /* the first bound */
    uint32_t max_ms;   /* the last one */
    uint64_t bound_ms; /* of the last wait; 0: none since the start, or since a success */
    uint64_t random;
};

/* A destination that asks for more than this is not believed. */
enum { BACK_OFF_ASKED_MAX_MS = 3600 * 1000 };

/* ${min_ms} 0: 100 ms; ${max_ms} 0: 5 s. The waits follow from ${seed}. */
void back_off_init(struct back_off *back_off, unsigned min_ms, unsigned max_ms, uint64_t seed);

/* The destination took, or answered for, at least something: begin again with the first bound. */
void back_off_reset(struct back_off *back_off);

/*
 * The next wait in milliseconds, at least 1: a random part of the bound. The wait that the
 * destination asked for, ${asked_ms} up to BACK_OFF_ASKED_MAX_MS, comes first in full, then the
 * random part.
 */
unsigned back_off_next(struct back_off *back_off, uint32_t asked_ms);

/* The next wait in milliseconds after a failure that people must correct first: between half of
 * `max_ms` and all of it, or what was asked for and then up to half of `max_ms`. The bound
 * stays. */
unsigned back_off_next_slow(struct back_off *back_off, uint32_t asked_ms);

#endif
