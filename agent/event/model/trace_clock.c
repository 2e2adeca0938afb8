#include "event/model/trace_clock.h"

#include "base/filetime.h"

/* |delta| * 10^7 / frequency without losing bits: whole seconds first, then the remainder, which
 * stays below 2^64 for every frequency under 1.8 THz; slower arithmetic beyond that. */
static uint64_t to_100ns(uint64_t ticks, uint64_t frequency)
{
    const uint64_t unit = FILETIME_PER_S;
    if (frequency == unit) { /* Windows 10 and later count 100 ns */
        return ticks;
    }
    if (ticks <= UINT64_MAX / unit) {
        return ticks * unit / frequency;
    }
    uint64_t seconds = ticks / frequency;
    uint64_t rest = ticks % frequency;
    if (seconds > UINT64_MAX / unit - 1) {
        return UINT64_MAX;
    }
    if (rest > UINT64_MAX / unit) {
        uint64_t scaled = frequency / unit;
        return seconds * unit + rest / scaled;
    }
    return seconds * unit + rest * unit / frequency;
}

uint64_t trace_clock_filetime(const struct trace_clock *clock, int64_t raw)
{
    if (clock->type == TRACE_CLOCK_SYSTEM_TIME) {
        return raw < 0 ? 0 : (uint64_t)raw;
    }
    uint64_t start = clock->start_time > INT64_MAX ? INT64_MAX : clock->start_time;
    uint64_t a = (uint64_t)raw;
    uint64_t b = (uint64_t)clock->start_raw;
    if (raw >= clock->start_raw) {
        uint64_t after = to_100ns(a - b, clock->frequency);
        return after > INT64_MAX - start ? INT64_MAX : start + after;
    }
    uint64_t before = to_100ns(b - a, clock->frequency);
    return before > start ? 0 : start - before;
}
