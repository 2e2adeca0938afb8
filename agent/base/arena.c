#include "base/arena.h"

#include <stdlib.h>

struct arena_block {
    struct arena_block *next;
    size_t size; /* including this header */
    max_align_t data[];
};

enum { BLOCK_BYTES = 16 * 1024, SMALL_BLOCK_BYTES = 1024, ALIGNMENT = _Alignof(max_align_t) };

void arena_init(struct arena *arena, size_t max_bytes)
{
    *arena = (struct arena){.max_bytes = max_bytes};
}

void arena_init_in(struct arena *arena, size_t max_bytes, struct arena_budget *budget)
{
    *arena = (struct arena){.max_bytes = max_bytes, .budget = budget};
}

void arena_init_small(struct arena *arena, size_t max_bytes, struct arena_budget *budget)
{
    *arena = (struct arena){.max_bytes = max_bytes, .is_small = true, .budget = budget};
}

bool arena_budget_take(struct arena_budget *budget, size_t size)
{
    size_t used = budget ? atomic_load_explicit(&budget->used_bytes, memory_order_relaxed) : 0;
    do {
        if (budget && (used > budget->max_bytes || size > budget->max_bytes - used)) {
            atomic_store_explicit(&budget->has_refused, true, memory_order_relaxed);
            return false;
        }
    } while (budget && !atomic_compare_exchange_weak(&budget->used_bytes, &used, used + size));
    return true;
}

void arena_budget_give(struct arena_budget *budget, size_t size)
{
    if (budget) {
        atomic_fetch_sub(&budget->used_bytes, size);
    }
}

size_t arena_budget_left(const struct arena_budget *budget)
{
    if (!budget) {
        return SIZE_MAX;
    }
    size_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
    return budget->max_bytes > used ? budget->max_bytes - used : 0;
}

static void free_block(struct arena *arena, struct arena_block *block)
{
    arena_budget_give(arena->budget, block->size);
    free(block);
}

void arena_fini(struct arena *arena)
{
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        free_block(arena, block);
        block = next;
    }
    *arena = (struct arena){
        .max_bytes = arena->max_bytes, .is_small = arena->is_small, .budget = arena->budget};
}

void arena_reset(struct arena *arena)
{
    struct arena_block *block = arena->blocks;
    if (!block) {
        return;
    }
    uint8_t *data = (uint8_t *)block->data;
    arena->used_bytes = (size_t)(arena->end - data);
    if (arena->used_bytes > BLOCK_BYTES) {
        arena_fini(arena);
        return;
    }
    while (block->next) {
        struct arena_block *next = block->next->next;
        free_block(arena, block->next);
        block->next = next;
    }
    memset(data, 0, (size_t)(arena->at - data));
    arena->at = data;
}

/* Size of the next block, unless one allocation needs more. */
static size_t usual_size(const struct arena *arena)
{
    if (!arena->is_small || arena->used_bytes > BLOCK_BYTES) {
        return BLOCK_BYTES;
    }
    return arena->used_bytes > SMALL_BLOCK_BYTES ? arena->used_bytes : SMALL_BLOCK_BYTES;
}

static bool add_block(struct arena *arena, size_t size)
{
    size_t usual = usual_size(arena);
    size_t left = arena->max_bytes > arena->used_bytes ? arena->max_bytes - arena->used_bytes : 0;
    size_t bytes = size > usual ? size : usual;
    if (bytes > left) {
        bytes = size;
        if (bytes > left) {
            return false;
        }
    }
    struct arena_block *block;
    if (bytes > SIZE_MAX - sizeof(*block) ||
        !arena_budget_take(arena->budget, sizeof(*block) + bytes)) {
        return false;
    }
    block = calloc(1, sizeof(*block) + bytes);
    if (!block) {
        arena_budget_give(arena->budget, sizeof(*block) + bytes);
        return false;
    }
    block->size = sizeof(*block) + bytes;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->at = (uint8_t *)block->data;
    arena->end = arena->at + bytes;
    arena->used_bytes += bytes;
    return true;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT) {
        return NULL;
    }
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (size == 0) {
        size = ALIGNMENT;
    }
    if (size > (size_t)(arena->end - arena->at) && !add_block(arena, size)) {
        return NULL;
    }
    void *memory = arena->at;
    arena->at += size;
    return memory;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        return NULL;
    }
    return arena_alloc(arena, count * size);
}

bool arena_copy(struct arena *arena, struct span bytes, struct span *ret_copy)
{
    uint8_t *copy = bytes.size < SIZE_MAX ? arena_alloc(arena, bytes.size + 1) : NULL;
    if (!copy) {
        return false;
    }
    if (bytes.size) {
        memcpy(copy, bytes.data, bytes.size);
    }
    *ret_copy = span_make(copy, bytes.size);
    return true;
}
