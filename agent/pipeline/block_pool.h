#ifndef ETWSHIP_PIPELINE_BLOCK_POOL_H
#define ETWSHIP_PIPELINE_BLOCK_POOL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Large blocks of memory that one thread takes and another gives back, again and again. Kept here
 * they stay mapped; the C library gives them back to the system and faults in every page anew. A
 * block is malloc'd memory like any other: it may be freed or grown instead of being given back. Any
 * thread.
 */
struct block_pool;

/* Keeps at most ${max_bytes}. NULL: out of memory. */
struct block_pool *block_pool_create(size_t max_bytes);
void block_pool_destroy(struct block_pool *pool); /* NULL is fine */

/* A block of at least ${size} bytes; NULL: out of memory. ${pool} NULL: malloc. */
void *block_pool_take(struct block_pool *pool, size_t size, size_t *ret_capacity);

/* Keep it, or free it if it is small or there are enough. ${pool} NULL: free. */
void block_pool_give(struct block_pool *pool, void *block, size_t capacity);

#endif
