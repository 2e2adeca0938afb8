#ifndef ETWSHIP_PLATFORM_PLAT_CLOCK_H
#define ETWSHIP_PLATFORM_PLAT_CLOCK_H

#include <stdint.h>

/* What time it is, and waiting for a later one. */

/* The present time as FILETIME (100 ns since 1601, UTC). */
uint64_t plat_now_filetime(void);

/* Seconds that local time is ahead of UTC at FILETIME ${filetime}; 0 if unknown. */
int32_t plat_local_offset(uint64_t filetime);

#define NS_PER_MS UINT64_C(1000000)

/* Monotonic nanoseconds, for durations. */
uint64_t plat_monotonic_ns(void);

static inline uint64_t plat_monotonic_ms(void)
{
    return plat_monotonic_ns() / NS_PER_MS;
}

/* Sleep; a signal may end the sleep early. */
void plat_sleep_ms(unsigned milliseconds);

#endif
