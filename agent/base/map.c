#include "base/map.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

void map_init(struct map *map, size_t max_entries)
{
    *map = (struct map){.max_entries = max_entries};
}

void map_init_in(struct map *map, size_t max_entries, struct arena_budget *budget)
{
    *map = (struct map){.max_entries = max_entries, .budget = budget};
}

void map_fini(struct map *map)
{
    arena_budget_give(map->budget, map->capacity * sizeof(*map->slots));
    free(map->slots);
    map_init_in(map, map->max_entries, map->budget);
}

void map_clear(struct map *map)
{
    if (map->slots) {
        memset(map->slots, 0, map->capacity * sizeof(*map->slots));
    }
    map->count = 0;
}

static uint64_t hash_of(struct span key)
{
    return XXH3_64bits(key.data, key.size);
}

/* The slot with ${key}, or the free slot for it. */
static struct map_slot *find(const struct map *map, struct span key, uint64_t hash)
{
    size_t mask = map->capacity - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        struct map_slot *slot = &map->slots[i];
        if (!slot->value || (slot->hash == hash && span_equal(slot->key, key))) {
            return slot;
        }
    }
}

void *map_get(const struct map *map, struct span key)
{
    return map->count ? find(map, key, hash_of(key))->value : NULL;
}

static bool grow(struct map *map)
{
    struct map bigger = {.capacity = map->capacity ? map->capacity * 2 : 64};
    if (!arena_budget_take(map->budget, bigger.capacity * sizeof(*bigger.slots))) {
        return false;
    }
    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots) {
        arena_budget_give(map->budget, bigger.capacity * sizeof(*bigger.slots));
        return false;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].value) {
            *find(&bigger, map->slots[i].key, map->slots[i].hash) = map->slots[i];
        }
    }
    arena_budget_give(map->budget, map->capacity * sizeof(*map->slots));
    free(map->slots);
    map->slots = bigger.slots;
    map->capacity = bigger.capacity;
    return true;
}

bool map_put(struct map *map, struct span key, void *value)
{
    /* at most three quarters full, so that a search soon finds a free slot */
    if (map->count >= map->capacity / 4 * 3 && !grow(map)) {
        return false;
    }
    uint64_t hash = hash_of(key);
    struct map_slot *slot = find(map, key, hash);
    if (!slot->value) {
        if (map->count >= map->max_entries) {
            return false;
        }
        map->count++;
    }
    *slot = (struct map_slot){.hash = hash, .key = key, .value = value};
    return true;
}

/* Move entries after the gap into it if a search for them would end there. */
static void close_gap(struct map *map, size_t gap)
{
    size_t mask = map->capacity - 1;
    for (size_t i = (gap + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
        size_t home = (size_t)map->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            map->slots[gap] = map->slots[i];
            gap = i;
        }
    }
    map->slots[gap] = (struct map_slot){.value = NULL};
}

void *map_remove(struct map *map, struct span key)
{
    struct map_slot *slot = map->count ? find(map, key, hash_of(key)) : NULL;
    void *value = slot ? slot->value : NULL;
    if (value) {
        map->count--;
        close_gap(map, (size_t)(slot - map->slots));
    }
    return value;
}

const struct map_slot *map_next(const struct map *map, size_t *cursor)
{
    while (*cursor < map->capacity) {
        const struct map_slot *slot = &map->slots[(*cursor)++];
        if (slot->value) {
            return slot;
        }
    }
    return NULL;
}
