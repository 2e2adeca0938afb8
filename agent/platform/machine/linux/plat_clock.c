#define _GNU_SOURCE

#include "platform/plat_clock.h"

#include <time.h>

#include "base/filetime.h"

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) {
        return 0;
    }
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t plat_now_filetime(void)
{
    /* 1601-01-01 to 1970-01-01 in 100 ns. */
    return clock_ns(CLOCK_REALTIME) / 100 + FILETIME_UNIX_EPOCH;
}

int32_t plat_local_offset(uint64_t filetime)
{
    time_t when = (time_t)(filetime / FILETIME_PER_S) -
                  (time_t)(FILETIME_UNIX_EPOCH / FILETIME_PER_S);
    struct tm local;
    tzset(); /* localtime_r need not do it */
    return localtime_r(&when, &local) ? (int32_t)local.tm_gmtoff : 0;
}

uint64_t plat_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

void plat_sleep_ms(unsigned milliseconds)
{
    struct timespec wait = {
        .tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    nanosleep(&wait, NULL);
}
