#ifndef ETWSHIP_SCHEMA_SCHEMA_SHELVES_H
#define ETWSHIP_SCHEMA_SCHEMA_SHELVES_H

#include "base/arena.h"
#include "base/map.h"
#include "event/model/record.h"

/*
 * Memory for definitions that events carry, one shelf per provider. Any process may write events
 * under any GUID, with as many types as it likes. So no provider gets more than half of the memory.
 * When all of it is used, the least recently used shelves are emptied until a quarter is free: a
 * flood evicts its own definitions and rarely used ones. Not thread-safe.
 *
 * The cache remembers answers, so shelves in use are rarely asked. It drops its answers whenever
 * schema_shelves_gone grows: when a shelf is emptied, and when the last quarter of the memory is
 * reached, so that definitions in use are requested again before anything is evicted.
 */
struct schema_shelf {
    struct guid provider;
    struct arena arena;         /* memory of everything on the shelf */
    void *items;                /* list that belongs to the user of the shelf; NULL: empty */
    size_t charged;             /* size of the arena as accounted */
    struct schema_shelf *newer; /* by time of last use */
    struct schema_shelf *older;
};

struct schema_shelves {
    struct map by_provider;
    struct schema_shelf *newest;
    struct schema_shelf *oldest;
    size_t bytes;
    size_t max_bytes;
    uint64_t dropped; /* number of times that a shelf was emptied */
    bool is_low;      /* the last quarter is in use */
    struct guid last; /* provider of the shelf emptied last */
    /* Called before the memory of ${shelf} is freed. The callee drops all pointers into it. */
    void (*drop)(void *self, struct schema_shelf *shelf);
    void *self;
};

enum { SCHEMA_SHELVES_MAX = 65536 };

/* Value for schema_losses.gone. */
static inline uint64_t schema_shelves_gone(const struct schema_shelves *shelves)
{
    return shelves->dropped + shelves->is_low;
}

/* ${max_bytes}: limit of all shelves together. */
void schema_shelves_init(struct schema_shelves *shelves, size_t max_bytes,
    void (*drop)(void *self, struct schema_shelf *shelf), void *self);
void schema_shelves_fini(struct schema_shelves *shelves); /* does not call drop */

/*
 * Open the shelf of ${provider}, creating it if necessary, and mark it as recently used. Its arena
 * grows as far as the limits of provider and total allow. The caller closes it with
 * schema_shelves_close. NULL: no memory.
 */
struct schema_shelf *schema_shelves_open(
    struct schema_shelves *shelves, const struct guid *provider);
void schema_shelves_close(struct schema_shelves *shelves, struct schema_shelf *shelf);

/* Mark the shelf of ${provider}, if there is one, as recently used. */
void schema_shelves_touch(struct schema_shelves *shelves, const struct guid *provider);

/*
 * Make room after an allocation on the open ${shelf} failed: empty other shelves if all memory is
 * used; else empty this one if ${also_own}. False if nothing was done because it would not help.
 */
bool schema_shelves_make_room(
    struct schema_shelves *shelves, struct schema_shelf *shelf, bool also_own);

#endif
