#include "pipeline/batch/routes.h"

#include <stdlib.h>

#include "base/grow.h"

enum { MAX_ARENA_BYTES = 64 * 1024 * 1024 };

void routes_init(struct routes *routes)
{
    *routes = (struct routes){.count = 0};
    arena_init(&routes->arena, MAX_ARENA_BYTES);
    map_init(&routes->map, ROUTES_MAX_NAMES);
}

void routes_fini(struct routes *routes)
{
    map_fini(&routes->map);
    arena_fini(&routes->arena);
    free(routes->names);
    free(routes->indexes);
    *routes = (struct routes){.count = 0};
}

/* Index of ${name}, added if it is new; UINT32_MAX: out of memory. */
static uint32_t index_of(struct routes *routes, struct span name)
{
    /* Most records go where the one before went. */
    if (routes->count) {
        uint32_t last = routes->indexes[routes->count - 1];
        if (span_equal(routes->names[last], name)) {
            return last;
        }
    }
    void *known = map_get(&routes->map, name);
    if (known) {
        return (uint32_t)((uintptr_t)known - 1);
    }
    struct span copy;
    if (!grow_list(&routes->names, routes->name_count, &routes->name_capacity, sizeof(name)) ||
        !arena_copy(&routes->arena, name, &copy) ||
        !map_put(&routes->map, copy, (void *)(uintptr_t)(routes->name_count + 1))) {
        return UINT32_MAX;
    }
    routes->names[routes->name_count] = copy;
    return (uint32_t)routes->name_count++;
}

static bool add_index(struct routes *routes, uint32_t index)
{
    bool has_room = grow_list(&routes->indexes, routes->count, &routes->capacity, sizeof(index));
    if (has_room) {
        routes->indexes[routes->count++] = index;
    }
    return has_room;
}

bool routes_add(struct routes *routes, struct span name)
{
    uint32_t index = index_of(routes, name);
    return index != UINT32_MAX && add_index(routes, index);
}

bool routes_append(struct routes *routes, const struct routes *from, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        if (!routes_add(routes, from->names[from->indexes[i]])) {
            return false;
        }
    }
    return true;
}

size_t routes_bytes(const struct routes *routes)
{
    return routes->arena.used_bytes + routes->map.capacity * sizeof(struct map_slot) +
           routes->name_capacity * sizeof(struct span) + routes->capacity * sizeof(uint32_t);
}

size_t routes_size(const struct routes *routes)
{
    return routes->arena.used_bytes + (routes->name_count + routes->count) * sizeof(uint32_t);
}
