#include "schema/source/schema_shelves.h"

#include <stdlib.h>

/*
 * A shelf's arena may grow by the memory that is left in total, up to the share of one provider.
 * Its growth is measured when the shelf is closed: only one shelf is open at a time.
 */
enum { PROVIDER_SHARE = 2, FREE_SHARE = 4, SHELF_BYTES = sizeof(struct schema_shelf) + 64 };

void schema_shelves_init(struct schema_shelves *shelves, size_t max_bytes,
    void (*drop)(void *self, struct schema_shelf *shelf), void *self)
{
    *shelves = (struct schema_shelves){.max_bytes = max_bytes, .drop = drop, .self = self};
    map_init(&shelves->by_provider, SCHEMA_SHELVES_MAX);
}

static struct span key_of(const struct guid *provider)
{
    return span_make(provider->bytes, sizeof(provider->bytes));
}

static void unlink_shelf(struct schema_shelves *shelves, struct schema_shelf *shelf)
{
    *(shelf->newer ? &shelf->newer->older : &shelves->newest) = shelf->older;
    *(shelf->older ? &shelf->older->newer : &shelves->oldest) = shelf->newer;
}

static void link_newest(struct schema_shelves *shelves, struct schema_shelf *shelf)
{
    shelf->newer = NULL;
    shelf->older = shelves->newest;
    *(shelves->newest ? &shelves->newest->newer : &shelves->oldest) = shelf;
    shelves->newest = shelf;
}

void schema_shelves_fini(struct schema_shelves *shelves)
{
    struct schema_shelf *shelf = shelves->newest;
    while (shelf) {
        struct schema_shelf *next = shelf->older;
        arena_fini(&shelf->arena);
        free(shelf);
        shelf = next;
    }
    map_fini(&shelves->by_provider);
}

static void charge(struct schema_shelves *shelves, struct schema_shelf *shelf)
{
    shelves->bytes += shelf->arena.used_bytes - shelf->charged;
    shelf->charged = shelf->arena.used_bytes;
    shelves->is_low |= shelves->bytes > shelves->max_bytes - shelves->max_bytes / FREE_SHARE;
}

static void empty(struct schema_shelves *shelves, struct schema_shelf *shelf)
{
    shelves->drop(shelves->self, shelf);
    shelves->dropped++;
    shelves->last = shelf->provider;
    shelf->items = NULL;
    arena_fini(&shelf->arena);
    charge(shelves, shelf);
}

static void destroy(struct schema_shelves *shelves, struct schema_shelf *shelf)
{
    if (shelf->items) {
        empty(shelves, shelf);
    }
    arena_fini(&shelf->arena);
    charge(shelves, shelf);
    map_remove(&shelves->by_provider, key_of(&shelf->provider));
    unlink_shelf(shelves, shelf);
    shelves->bytes -= SHELF_BYTES;
    free(shelf);
}

/* Empty the oldest shelves except ${keep} until a quarter of the memory is free. False if there are
 * no others. */
static bool drop_oldest(struct schema_shelves *shelves, const struct schema_shelf *keep)
{
    size_t wanted = shelves->max_bytes - shelves->max_bytes / FREE_SHARE;
    bool any = false;
    while (shelves->oldest && shelves->oldest != keep && (!any || shelves->bytes > wanted)) {
        destroy(shelves, shelves->oldest);
        any = true;
    }
    return any;
}

static size_t left(const struct schema_shelves *shelves)
{
    return shelves->max_bytes > shelves->bytes ? shelves->max_bytes - shelves->bytes : 0;
}

static void allow(struct schema_shelves *shelves, struct schema_shelf *shelf)
{
    size_t max = shelf->arena.used_bytes + left(shelves);
    size_t share = shelves->max_bytes / PROVIDER_SHARE;
    shelf->arena.max_bytes = max < share ? max : share;
}

static struct schema_shelf *make(struct schema_shelves *shelves, const struct guid *provider)
{
    bool is_full = shelves->by_provider.count >= SCHEMA_SHELVES_MAX || left(shelves) < SHELF_BYTES;
    if (is_full && !drop_oldest(shelves, NULL)) {
        return NULL;
    }
    struct schema_shelf *shelf = calloc(1, sizeof(*shelf));
    if (!shelf) {
        return NULL;
    }
    shelf->provider = *provider;
    arena_init_small(&shelf->arena, 0, NULL);
    if (!map_put(&shelves->by_provider, key_of(&shelf->provider), shelf)) {
        free(shelf);
        return NULL;
    }
    shelves->bytes += SHELF_BYTES;
    link_newest(shelves, shelf);
    return shelf;
}

static void touch(struct schema_shelves *shelves, struct schema_shelf *shelf)
{
    if (shelf && shelf != shelves->newest) {
        unlink_shelf(shelves, shelf);
        link_newest(shelves, shelf);
    }
}

void schema_shelves_touch(struct schema_shelves *shelves, const struct guid *provider)
{
    touch(shelves, map_get(&shelves->by_provider, key_of(provider)));
}

struct schema_shelf *schema_shelves_open(
    struct schema_shelves *shelves, const struct guid *provider)
{
    struct schema_shelf *shelf = map_get(&shelves->by_provider, key_of(provider));
    touch(shelves, shelf);
    shelf = shelf ? shelf : make(shelves, provider);
    if (shelf) {
        allow(shelves, shelf);
    }
    return shelf;
}

void schema_shelves_close(struct schema_shelves *shelves, struct schema_shelf *shelf)
{
    charge(shelves, shelf);
}

bool schema_shelves_make_room(
    struct schema_shelves *shelves, struct schema_shelf *shelf, bool also_own)
{
    charge(shelves, shelf);
    size_t share = shelves->max_bytes / PROVIDER_SHARE;
    bool is_others = shelf->arena.max_bytes < share;
    bool made = is_others && drop_oldest(shelves, shelf);
    if (!made && also_own && shelf->arena.used_bytes) {
        empty(shelves, shelf);
        made = true;
    }
    allow(shelves, shelf);
    return made;
}
