#include "pipeline/batch/block_pool.h"

#include <stdlib.h>

#include "platform/plat_thread.h"

/*
 * The kept blocks are a list whose links lie in the blocks themselves. The one given back last is
 * taken first, as it is in the cache; the ones at the other end are unused for longest, and are
 * freed when a block of another size needs the room.
 */
enum {
    MIN_BLOCK_BYTES = 64 * 1024,
    LARGEST_WASTE = 2,
    LOOKED_AT = 32, /* blocks, before a new one is made */
};

struct kept {
    struct kept *older;
    struct kept *newer;
    size_t capacity;
};

struct block_pool {
    struct plat_mutex mutex;
    struct kept *newest;
    struct kept *oldest;
    size_t kept_bytes;
    size_t unneeded_bytes; /* the least that were kept since the last trim */
    size_t taken_bytes;
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

static void free_list(struct kept *block)
{
    while (block) {
        struct kept *older = block->older;
        free(block);
        block = older;
    }
}

void block_pool_destroy(struct block_pool *pool)
{
    if (pool) {
        free_list(pool->newest);
        plat_mutex_fini(&pool->mutex);
        free(pool);
    }
}

static void count_out(struct block_pool *pool, size_t bytes)
{
    pool->kept_bytes -= bytes;
    if (pool->kept_bytes < pool->unneeded_bytes) {
        pool->unneeded_bytes = pool->kept_bytes;
    }
}

static void unlink_block(struct block_pool *pool, struct kept *block)
{
    if (block->newer) {
        block->newer->older = block->older;
    } else {
        pool->newest = block->older;
    }
    if (block->older) {
        block->older->newer = block->newer;
    } else {
        pool->oldest = block->newer;
    }
    count_out(pool, block->capacity);
}

/* Take out the oldest blocks, together at least ${bytes} if there are as many; to be freed. */
static struct kept *cut_off(struct block_pool *pool, size_t bytes)
{
    struct kept *list = NULL;
    struct kept *rest = pool->oldest;
    size_t cut = 0;
    while (rest && cut < bytes) {
        cut += rest->capacity;
        list = rest;
        rest = rest->newer;
    }
    pool->oldest = rest;
    if (rest) {
        rest->older = NULL;
    } else {
        pool->newest = NULL;
    }
    count_out(pool, cut);
    return list;
}

static struct kept *take_kept(struct block_pool *pool, size_t size)
{
    struct kept *block = pool->newest;
    for (int i = 0; block && i < LOOKED_AT; i++) {
        if (block->capacity >= size && block->capacity / LARGEST_WASTE <= size) {
            unlink_block(pool, block);
            return block;
        }
        block = block->older;
    }
    return NULL;
}

static size_t excess_of(const struct block_pool *pool)
{
    size_t bytes = pool->taken_bytes + pool->kept_bytes;
    return bytes > pool->max_bytes ? bytes - pool->max_bytes : 0;
}

void *block_pool_take(struct block_pool *pool, size_t size, size_t *ret_capacity)
{
    if (!pool || size < MIN_BLOCK_BYTES) {
        void *memory = malloc(size);
        *ret_capacity = memory ? size : *ret_capacity;
        return memory;
    }
    plat_mutex_lock(&pool->mutex);
    struct kept *found = take_kept(pool, size);
    size_t capacity = found ? found->capacity : size;
    pool->taken_bytes += capacity;
    struct kept *excess = cut_off(pool, excess_of(pool));
    plat_mutex_unlock(&pool->mutex);
    free_list(excess);
    void *memory = found ? found : malloc(size);
    if (memory) {
        *ret_capacity = capacity;
    } else {
        block_pool_give(pool, NULL, capacity, 0);
    }
    return memory;
}

void block_pool_give(struct block_pool *pool, void *block, size_t taken, size_t capacity)
{
    if (!pool || (taken < MIN_BLOCK_BYTES && capacity < MIN_BLOCK_BYTES)) {
        free(block);
        return;
    }
    plat_mutex_lock(&pool->mutex);
    pool->taken_bytes -= taken < MIN_BLOCK_BYTES ? 0 : taken;
    bool keep = block && capacity >= MIN_BLOCK_BYTES &&
                pool->taken_bytes + pool->kept_bytes + capacity <= pool->max_bytes;
    if (keep) {
        struct kept *kept = block;
        *kept = (struct kept){.older = pool->newest, .capacity = capacity};
        if (pool->newest) {
            pool->newest->newer = kept;
        } else {
            pool->oldest = kept;
        }
        pool->newest = kept;
        pool->kept_bytes += capacity;
    }
    plat_mutex_unlock(&pool->mutex);
    if (!keep) {
        free(block);
    }
}

bool block_pool_trim(struct block_pool *pool)
{
    plat_mutex_lock(&pool->mutex);
    struct kept *excess = cut_off(pool, pool->unneeded_bytes);
    pool->unneeded_bytes = pool->kept_bytes;
    bool any = pool->kept_bytes > 0;
    plat_mutex_unlock(&pool->mutex);
    free_list(excess);
    return any;
}
