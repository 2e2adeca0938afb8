#ifndef ETWSHIP_BASE_ARENA_H
#define ETWSHIP_BASE_ARENA_H

#include <stdatomic.h>

#include "base/span.h"

/*
 * Memory that is freed all at once: a chain of blocks, bump-allocated, with a maximum from birth.
 * Allocations are aligned for any type. One thread at a time.
 */
struct arena_block;

/* What several arenas, and other memory that is charged to it, may take together. Any thread. */
struct arena_budget {
    size_t max_bytes;
    atomic_size_t used_bytes;
    atomic_bool has_refused; /* something found no room */
};

struct arena {
    struct arena_block *blocks;
    uint8_t *at;
    uint8_t *end;
    size_t used_bytes;
    size_t max_bytes;
    bool is_small;               /* there are many of them: the first blocks are small */
    struct arena_budget *budget; /* borrowed; NULL: only the maximum counts */
};

void arena_init(struct arena *arena, size_t max_bytes);

/* The same, charged to ${budget}, which outlives it and may be NULL. */
void arena_init_in(struct arena *arena, size_t max_bytes, struct arena_budget *budget);

/* The same for one of many, most of which hold little: its first block is small, each further one
 * doubles what it has, up to the size of others' blocks. ${budget} outlives it, and may be NULL. */
void arena_init_small(struct arena *arena, size_t max_bytes, struct arena_budget *budget);

/* Charge ${size} bytes to ${budget}, which may be NULL. False, and nothing is charged, if that is more
 * than is left. And give them back. */
bool arena_budget_take(struct arena_budget *budget, size_t size);
void arena_budget_give(struct arena_budget *budget, size_t size);

/* What is left of ${budget}; SIZE_MAX if it is NULL. */
size_t arena_budget_left(const struct arena_budget *budget);
void arena_fini(struct arena *arena);

/* Forget what was allocated, and keep some memory for the next time. */
void arena_reset(struct arena *arena);

/* Zeroed memory, or NULL at the maximum or when the system has none. ${size} 0 is fine. */
void *arena_alloc(struct arena *arena, size_t size);

/* The same for ${count} elements of ${size} bytes, overflow checked. */
void *arena_alloc_array(struct arena *arena, size_t count, size_t size);

/* Copy ${bytes}, with a NUL behind the copy. False if there is no room. */
bool arena_copy(struct arena *arena, struct span bytes, struct span *ret_copy);

#endif
