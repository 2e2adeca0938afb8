#ifndef ETWSHIP_STORE_AGE_CLOCK_H
#define ETWSHIP_STORE_AGE_CLOCK_H

#include "store/store.h"

/*
 * The time that batches note. Users may set the clock, so it is compared with one that cannot be
 * set. Embedded; one thread.
 */
struct age_clock {
    struct store_clock clocks;
    uint64_t wall; /* FILETIME, when it was looked at last */
    uint64_t monotonic_ns;
};

/* ${clocks} NULL: the system's clocks. */
void age_clock_init(struct age_clock *clock, const struct store_clock *clocks);

/* Now, as FILETIME. ${ret_step}: by how much it was set forward (or back, below 0) since the last
 * call, in 100 ns; 0 for less than a minute, as clocks are adjusted all the time. */
uint64_t age_clock_now(struct age_clock *clock, int64_t *ret_step);

uint64_t age_clock_monotonic_ms(const struct age_clock *clock);

#endif
