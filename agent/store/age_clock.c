#include "store/age_clock.h"

#include "platform/plat_clock.h"

enum { MINUTE_SECONDS = 60 };
static const int64_t filetime_second = 10000000;

static uint64_t system_now(void *self)
{
    (void)self;
    return plat_now_filetime();
}

static uint64_t system_monotonic_ns(void *self)
{
    (void)self;
    return plat_monotonic_ns();
}

void age_clock_init(struct age_clock *clock, const struct store_clock *clocks)
{
    static const struct store_clock system = {
        .now = system_now, .monotonic_ns = system_monotonic_ns};
    clock->clocks = clocks ? *clocks : system;
    clock->wall = clock->clocks.now(clock->clocks.self);
    clock->monotonic_ns = clock->clocks.monotonic_ns(clock->clocks.self);
}

uint64_t age_clock_now(struct age_clock *clock, int64_t *ret_step)
{
    uint64_t wall = clock->clocks.now(clock->clocks.self);
    uint64_t monotonic_ns = clock->clocks.monotonic_ns(clock->clocks.self);
    uint64_t expected = clock->wall + (monotonic_ns - clock->monotonic_ns) / 100;
    int64_t step = (int64_t)(wall - expected);
    bool is_step = step >= MINUTE_SECONDS * filetime_second ||
                   step <= -MINUTE_SECONDS * filetime_second;
    clock->wall = wall;
    clock->monotonic_ns = monotonic_ns;
    *ret_step = is_step ? step : 0;
    return wall;
}

uint64_t age_clock_monotonic_ms(const struct age_clock *clock)
{
    return clock->clocks.monotonic_ns(clock->clocks.self) / 1000000;
}
