#ifndef ETWSHIP_BASE_ARENA_H
#define ETWSHIP_BASE_ARENA_H

#include <stdatomic.h>

#include "base/span.h"

/*
 * Memory that is freed all at once: a chain of blocks with bump allocation and a fixed maximum.
 * Allocations are aligned for any type. Not thread-safe.
 */
struct arena_block;

/* Shared limit for several arenas and other memory that is charged to it. Thread-safe. */
struct arena_budget {
    size_t max_bytes;
    atomic_size_t used_bytes;
    atomic_bool has_refused; /* a request was refused */
};

struct arena {
    struct arena_block *blocks;
    uint8_t *at;
    uint8_t *end;
    size_t used_bytes;
    size_t max_bytes;
    bool is_small;               /* one of many: its first blocks are small */
    struct arena_budget *budget; /* borrowed; NULL: only max_bytes limits */
};

void arena_init(struct arena *arena, size_t max_bytes);

/* Like arena_init, charging ${budget}, which may be NULL and must outlive the arena. */
void arena_init_in(struct arena *arena, size_t max_bytes, struct arena_budget *budget);

/* Like arena_init_in, for one of many arenas that mostly hold little: the first block is small, and
 * each further one doubles the total, up to the usual block size. */
void arena_init_small(struct arena *arena, size_t max_bytes, struct arena_budget *budget);

/* Charge ${size} bytes to ${budget} (may be NULL). False, with nothing charged, if that exceeds
 * what is left. arena_budget_give() returns them. */
bool arena_budget_take(struct arena_budget *budget, size_t size);
void arena_budget_give(struct arena_budget *budget, size_t size);

/* Bytes left of ${budget}; SIZE_MAX if it is NULL. */
size_t arena_budget_left(const struct arena_budget *budget);
void arena_fini(struct arena *arena);

/* Free all allocations, but keep some memory for reuse. */
void arena_reset(struct arena *arena);

/* Zeroed memory, or NULL at the maximum or if the system has none. ${size} may be 0. */
void *arena_alloc(struct arena *arena, size_t size);

/* Zeroed memory for ${count} elements of ${size} bytes, checked for overflow. */
void *arena_alloc_array(struct arena *arena, size_t count, size_t size);

/* Copy ${bytes}, followed by a NUL. False if the arena is full. */
bool arena_copy(struct arena *arena, struct span bytes, struct span *ret_copy);

#endif
