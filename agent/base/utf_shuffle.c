#include <stdatomic.h>

#include "base/utf_engine.h"

/*
 * The tables take 8 KB and result from two short loops, so they are computed once, when the first
 * engine that needs them is selected. The library has no threads of its own: a second caller waits
 * on the state for microseconds.
 */
enum { UNTOUCHED, BUSY, READY };

static atomic_int state = UNTOUCHED;

struct utf_shuffles utf_shuffles;

static void make_pairs(unsigned mask, uint8_t shuffle[16])
{
    size_t at = 0;
    for (unsigned unit = 0; unit < 8; unit++) {
        if (mask >> unit & 1) {
            shuffle[at++] = (uint8_t)(unit * 2);
        }
        shuffle[at++] = (uint8_t)(unit * 2 + 1);
    }
    while (at < 16) {
        shuffle[at++] = 0x80; /* gives a zero byte on x86 and on ARM */
    }
}

static void make_quads(unsigned mask, uint8_t shuffle[16])
{
    size_t at = 0;
    for (unsigned unit = 0; unit < 4; unit++) {
        unsigned keep = (mask >> unit & 1) | (mask >> (4 + unit) & 1) << 1;
        if (keep == 3) {
            shuffle[at++] = (uint8_t)(unit * 4);
        }
        if (keep >= 2) {
            shuffle[at++] = (uint8_t)(unit * 4 + 2);
        }
        if (keep >= 1) {
            shuffle[at++] = (uint8_t)(unit * 4 + 3);
        }
    }
    uint8_t kept = (uint8_t)at;
    while (at < 15) {
        shuffle[at++] = 0x80;
    }
    shuffle[15] = kept;
}

void utf_shuffles_make(void)
{
    int expected = UNTOUCHED;
    if (!atomic_compare_exchange_strong(&state, &expected, BUSY)) {
        while (atomic_load_explicit(&state, memory_order_acquire) != READY) {}
        return;
    }
    for (unsigned mask = 0; mask < 256; mask++) {
        make_pairs(mask, utf_shuffles.pairs[mask]);
        make_quads(mask, utf_shuffles.quads[mask]);
    }
    atomic_store_explicit(&state, READY, memory_order_release);
}
