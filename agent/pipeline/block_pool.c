#include "pipeline/block_pool.h"

#include <stdlib.h>

#include "platform/plat_thread.h"

enum { MAX_BLOCKS = 64, MIN_BLOCK_BYTES = 64 * 1024, LARGEST_WASTE = 8 };

struct block {
    void *memory;
    size_t capacity;
};

struct block_pool {
    struct plat_mutex mutex;
    struct block
        blocks[MAX_BLOCKS]; /* the one given back last is taken first: it is in the cache */
    size_t count;
    size_t bytes;
    size_t max_bytes;
};

struct block_pool *block_pool_create(size_t max_bytes)
{
    struct block_pool *pool = calloc(1, sizeof(*pool));
    if (pool) {
        plat_mutex_init(&pool->mutex);
        pool->max_bytes = max_bytes;
    }
    return pool;
}

void block_pool_destroy(struct block_pool *pool)
{
    if (pool) {
        for (size_t i = 0; i < pool->count; i++) {
            free(pool->blocks[i].memory);
        }
        plat_mutex_fini(&pool->mutex);
        free(pool);
    }
}

static bool fits(const struct block *block, size_t size)
{
    return block->capacity >= size && block->capacity / LARGEST_WASTE <= size;
}

void *block_pool_take(struct block_pool *pool, size_t size, size_t *ret_capacity)
{
    struct block found = {.memory = NULL};
    if (pool && size >= MIN_BLOCK_BYTES) {
        plat_mutex_lock(&pool->mutex);
        for (size_t i = pool->count; i-- > 0 && !found.memory;) {
            if (fits(&pool->blocks[i], size)) {
                found = pool->blocks[i];
                for (pool->count--; i < pool->count; i++) {
                    pool->blocks[i] = pool->blocks[i + 1];
                }
                pool->bytes -= found.capacity;
                break;
            }
        }
        plat_mutex_unlock(&pool->mutex);
    }
    if (!found.memory) {
        found = (struct block){.memory = malloc(size), .capacity = size};
    }
    if (found.memory) {
        *ret_capacity = found.capacity;
    }
    return found.memory;
}

void block_pool_give(struct block_pool *pool, void *block, size_t capacity)
{
    bool kept = false;
    if (pool && block && capacity >= MIN_BLOCK_BYTES) {
        plat_mutex_lock(&pool->mutex);
        kept = pool->count < MAX_BLOCKS && pool->bytes + capacity <= pool->max_bytes;
        if (kept) {
            pool->blocks[pool->count++] = (struct block){.memory = block, .capacity = capacity};
            pool->bytes += capacity;
        }
        plat_mutex_unlock(&pool->mutex);
    }
    if (!kept) {
        free(block);
    }
}
