#ifndef ETWSHIP_PIPELINE_ROUTES_H
#define ETWSHIP_PIPELINE_ROUTES_H

#include "base/arena.h"
#include "base/map.h"

/*
 * The rendered routes of one batch for one template, each once, and for every record which one it
 * goes to. One thread at a time.
 */
struct routes {
    struct arena arena;
    struct map map;     /* name -> its index + 1 */
    struct span *names; /* views into the arena */
    size_t name_count;
    size_t name_capacity;
    uint32_t *indexes; /* by record */
    size_t count;
    size_t capacity;
};

void routes_init(struct routes *routes);
void routes_fini(struct routes *routes);

/* The next record goes to ${name}, which is copied. False: out of memory, nothing added. */
bool routes_add(struct routes *routes, struct span name);

/* The next ${count} records go where those of ${from} go, from record ${first} on. False: out of
 * memory; then some may be added. */
bool routes_append(struct routes *routes, const struct routes *from, size_t first, size_t count);

/* No more names should come: at most ROUTES_MAX_NAMES can. */
enum { ROUTES_FULL_NAMES = 32768, ROUTES_MAX_NAMES = 65536 };

/* Bytes of memory that it holds. */
size_t routes_bytes(const struct routes *routes);

/* At least as many bytes as names and indexes take where they are written down. */
size_t routes_size(const struct routes *routes);

#endif
