#include "pipeline/batch/back_off.h"

enum { FIRST_WAIT_MS = 100, LONGEST_WAIT_MS = 5000 };

void back_off_init(struct back_off *back_off, unsigned min_ms, unsigned max_ms, uint64_t seed)
{
    *back_off = (struct back_off){.min_ms = min_ms ? min_ms : FIRST_WAIT_MS,
        .max_ms = max_ms ? max_ms : LONGEST_WAIT_MS,
        .random = seed ? seed : 1};
}

void back_off_reset(struct back_off *back_off)
{
    back_off->bound_ms = 0;
}

/* From 1 to ${bound}, which is not 0. xorshift64 (Marsaglia 2003):
 * spreading waits asks for no more. */
static uint32_t draw(struct back_off *back_off, uint64_t bound)
{
    back_off->random ^= back_off->random << 13;
    back_off->random ^= back_off->random >> 7;
    back_off->random ^= back_off->random << 17;
    return (uint32_t)(1 + back_off->random % bound);
}

static uint32_t believable(uint32_t asked_ms)
{
    return asked_ms < BACK_OFF_ASKED_MAX_MS ? asked_ms : BACK_OFF_ASKED_MAX_MS;
}

unsigned back_off_next(struct back_off *back_off, uint32_t asked_ms)
{
    uint64_t bound = back_off->bound_ms ? back_off->bound_ms * 2 : back_off->min_ms;
    back_off->bound_ms = bound < back_off->max_ms ? bound : back_off->max_ms;
    return believable(asked_ms) + draw(back_off, back_off->bound_ms);
}

unsigned back_off_next_slow(struct back_off *back_off, uint32_t asked_ms)
{
    uint32_t half = back_off->max_ms / 2;
    uint32_t least = believable(asked_ms) > half ? believable(asked_ms) : half;
    return least + draw(back_off, back_off->max_ms - half);
}
