#include "base/arena.h"

#include <stdlib.h>

struct arena_block {
    struct arena_block *next;
    max_align_t data[];
};

enum { BLOCK_BYTES = 16 * 1024, ALIGNMENT = _Alignof(max_align_t) };

void arena_init(struct arena *arena, size_t max_bytes)
{
    *arena = (struct arena){.max_bytes = max_bytes};
}

void arena_fini(struct arena *arena)
{
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena_init(arena, arena->max_bytes);
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
        free(block->next);
        block->next = next;
    }
    memset(data, 0, (size_t)(arena->at - data));
    arena->at = data;
}

static bool add_block(struct arena *arena, size_t size)
{
    size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    if (bytes > arena->max_bytes - arena->used_bytes) {
        bytes = size;
        if (bytes > arena->max_bytes - arena->used_bytes) {
            return false;
        }
    }
    struct arena_block *block = calloc(1, sizeof(*block) + bytes);
    if (!block) {
        return false;
    }
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
