#ifndef ETWSHIP_SCHEMA_SCHEMA_SHELVES_H
#define ETWSHIP_SCHEMA_SCHEMA_SHELVES_H

#include "base/arena.h"
#include "base/map.h"
#include "event/record.h"

/*
 * Memory for what events say of themselves, a shelf per provider. Any process may write events, under
 * any GUID, as many types as it likes. So no provider has more than half of the memory, and where
 * all of it is used, the shelves that were asked for least recently give way, until a quarter is free:
 * a flood is paid for by what it brings, and by what is hardly used. One thread at a time.
 *
 * The cache remembers answers, so what is in use is hardly asked for. It forgets them whenever
 * schema_shelves_gone grows: when a shelf is emptied, and when the last quarter is begun, so that what
 * is in use is asked for once more before anything has to go.
 */
struct schema_shelf {
    struct guid provider;
    struct arena arena;         /* everything on the shelf */
    void *items;                /* the user's list of them; NULL: empty */
    size_t charged;             /* of the arena, as the shelves know it */
    struct schema_shelf *newer; /* by when they were last asked for */
    struct schema_shelf *older;
};

struct schema_shelves {
    struct map by_provider;
    struct schema_shelf *newest;
    struct schema_shelf *oldest;
    size_t bytes;
    size_t max_bytes;
    uint64_t dropped; /* times that a shelf was emptied */
    bool is_low;      /* the last quarter was begun */
    struct guid last; /* whose */
    /* Called before what is on ${shelf} goes away: nothing may point to it any more. */
    void (*drop)(void *self, struct schema_shelf *shelf);
    void *self;
};

enum { SCHEMA_SHELVES_MAX = 65536 };

/* schema_losses.gone of what lies on the shelves. */
static inline uint64_t schema_shelves_gone(const struct schema_shelves *shelves)
{
    return shelves->dropped + shelves->is_low;
}

/* At most ${max_bytes} for all of them. */
void schema_shelves_init(struct schema_shelves *shelves, size_t max_bytes,
    void (*drop)(void *self, struct schema_shelf *shelf), void *self);
void schema_shelves_fini(struct schema_shelves *shelves); /* without a call of drop */

/*
 * The shelf of ${provider}, most recently asked for now, made if there is none; its arena takes as much
 * as provider and memory allow. Call schema_shelves_close when that is done. NULL: out of memory.
 */
struct schema_shelf *schema_shelves_open(
    struct schema_shelves *shelves, const struct guid *provider);
void schema_shelves_close(struct schema_shelves *shelves, struct schema_shelf *shelf);

/* The shelf of ${provider} if there is one, most recently asked for now; else NULL. */
struct schema_shelf *schema_shelves_find(
    struct schema_shelves *shelves, const struct guid *provider);

/*
 * What was to go on the open ${shelf} found no room there. Make some: other shelves give way where all
 * memory is used, else what is on this one, if ${also_own}. False: nothing was done, as it would not
 * help.
 */
bool schema_shelves_make_room(
    struct schema_shelves *shelves, struct schema_shelf *shelf, bool also_own);

#endif
