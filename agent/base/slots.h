#ifndef ETWSHIP_BASE_SLOTS_H
#define ETWSHIP_BASE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * For caches in which every answer has one slot. The load tells when there are too few slots.
 * Zero-initialised: nothing was asked.
 */
struct slots_load {
    uint32_t asked;
    uint32_t missed;
};

/* Note a question to a cache of ${slots} slots, and whether another answer was in its slot. True,
 * and the counts begin again: that was so for more than one of eight questions. */
static inline bool slots_note(struct slots_load *load, uint32_t slots, bool is_missed)
{
    enum { LOOK_EACH = 4, BEARABLE = 8 };
    load->missed += is_missed;
    if (++load->asked / LOOK_EACH < slots) {
        return false;
    }
    bool is_high = load->missed > load->asked / BEARABLE;
    *load = (struct slots_load){.asked = 0};
    return is_high;
}

/* Say that the memory at ${p}, which need not be valid, will be read soon. */
static inline void slots_expect(const void *p)
{
#if defined(__GNUC__)
    __builtin_prefetch(p);
#else
    (void)p;
#endif
}

#endif
