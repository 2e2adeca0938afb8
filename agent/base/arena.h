#ifndef ETWSHIP_BASE_ARENA_H
#define ETWSHIP_BASE_ARENA_H

#include "base/span.h"

/*
 * Memory that is freed all at once: a chain of blocks, bump-allocated, with a maximum from birth.
 * Allocations are aligned for any type. One thread at a time.
 */
struct arena_block;

struct arena {
    struct arena_block *blocks;
    uint8_t *at;
    uint8_t *end;
    size_t used_bytes;
    size_t max_bytes;
};

void arena_init(struct arena *arena, size_t max_bytes);
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
