#ifndef ETWSHIP_BASE_MAP_H
#define ETWSHIP_BASE_MAP_H

#include "base/arena.h"

/*
 * Hash map from byte strings to pointers: open addressing, XXH3, grown by doubling, with a fixed
 * maximum of entries. Keys are borrowed and must live as long as their entries (in the value, or in
 * an arena). Values are never NULL. One thread at a time, or many readers without a writer.
 */
struct map_slot {
    uint64_t hash;
    struct span key;
    void *value;
};

struct map {
    struct map_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    size_t max_entries;
    struct arena_budget
        *budget; /* borrowed, charged for the slots; NULL: only the maximum counts */
};

void map_init(struct map *map, size_t max_entries);

/* Like map_init, charging ${budget}, which may be NULL and must outlive the map. */
void map_init_in(struct map *map, size_t max_entries, struct arena_budget *budget);
void map_fini(struct map *map);
void map_clear(struct map *map);

void *map_get(const struct map *map, struct span key);

/* Add or replace. False when full or out of memory. */
bool map_put(struct map *map, struct span key, void *value);

/* Remove ${key} and return its value; NULL if there is none. Not during an iteration. */
void *map_remove(struct map *map, struct span key);

/* Iterate: start with *cursor = 0; NULL at the end. Order is unspecified. */
const struct map_slot *map_next(const struct map *map, size_t *cursor);

#endif
