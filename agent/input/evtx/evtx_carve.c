#include "input/evtx/evtx_carve.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/order.h"

/* Records are stored as 64-bit hashes in an open-addressing table that is at most half full. Two
 * different records share a hash in one of 500,000 logs of the largest size. */
enum { FIRST_SLOTS = 1024, MAX_SLOTS = 2 * EVTX_CARVE_MAX_RECORDS };

struct evtx_carve {
    uint64_t *slots; /* 0: free */
    size_t slot_count;
    size_t used;
    uint64_t *offsets; /* of taken leftovers, in ascending order */
    size_t count;
    size_t capacity;
};

struct evtx_carve *evtx_carve_create(void)
{
    return calloc(1, sizeof(struct evtx_carve));
}

void evtx_carve_reset(struct evtx_carve *carve)
{
    free(carve->slots);
    free(carve->offsets);
    *carve = (struct evtx_carve){.slots = NULL};
}

void evtx_carve_destroy(struct evtx_carve *carve)
{
    if (carve) {
        evtx_carve_reset(carve);
        free(carve);
    }
}

/* The finalizer of MurmurHash3 (A. Appleby). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

/* The slot that contains ${hash}, or the free slot for it. */
static uint64_t *slot_of(uint64_t *slots, size_t slot_count, uint64_t hash)
{
    size_t at = (size_t)hash & (slot_count - 1);
    while (slots[at] && slots[at] != hash) {
        at = (at + 1) & (slot_count - 1);
    }
    return &slots[at];
}

static bool grow(struct evtx_carve *carve)
{
    size_t slot_count = carve->slot_count ? carve->slot_count * 2 : FIRST_SLOTS;
    uint64_t *slots = slot_count > MAX_SLOTS ? NULL : calloc(slot_count, sizeof(*slots));
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < carve->slot_count; i++) {
        if (carve->slots[i]) {
            *slot_of(slots, slot_count, carve->slots[i]) = carve->slots[i];
        }
    }
    free(carve->slots);
    carve->slots = slots;
    carve->slot_count = slot_count;
    return true;
}

bool evtx_carve_note(struct evtx_carve *carve, uint64_t id, uint64_t time)
{
    uint64_t hash = mix(mix(id) ^ time);
    hash += hash == 0;
    if (carve->used >= carve->slot_count / 2 && !grow(carve)) {
        return carve->slot_count == 0 || *slot_of(carve->slots, carve->slot_count, hash) == 0;
    }
    uint64_t *slot = slot_of(carve->slots, carve->slot_count, hash);
    bool is_new = *slot == 0;
    *slot = hash;
    carve->used += is_new;
    return is_new;
}

bool evtx_carve_take(struct evtx_carve *carve, uint64_t offset)
{
    if (!grow_list(&carve->offsets, carve->count, &carve->capacity, sizeof(*carve->offsets))) {
        return false;
    }
    carve->offsets[carve->count++] = offset;
    return true;
}

bool evtx_carve_has(const struct evtx_carve *carve, uint64_t offset)
{
    size_t at = order_place(carve->offsets, carve->count, sizeof(*carve->offsets), offset);
    return at < carve->count && carve->offsets[at] == offset;
}
