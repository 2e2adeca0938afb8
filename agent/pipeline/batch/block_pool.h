#ifndef ETWSHIP_PIPELINE_BLOCK_POOL_H
#define ETWSHIP_PIPELINE_BLOCK_POOL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Large blocks of memory that one thread takes and another returns, over and over. The pool keeps
 * them mapped; the C library would unmap them and fault in every page again. Taken and kept blocks
 * share one limit, so the pool never needs more memory than the blocks in use may need. A block is
 * ordinary malloc'd memory, which may grow before it is returned. Any thread.
 */
struct block_pool;

/* Keeps blocks as long as these and the taken ones are at most ${max_bytes}.
 * NULL: out of memory. */
struct block_pool *block_pool_create(size_t max_bytes);
void block_pool_destroy(struct block_pool *pool); /* NULL is fine; with what is kept */

/* A block of at least ${size} bytes and at most twice as many, to be given back; NULL: out of
 * memory. ${pool} NULL: malloc. */
void *block_pool_take(struct block_pool *pool, size_t size, size_t *ret_capacity);

/* Keep a block of ${capacity} bytes, or free it if it is small or there are enough. ${taken}: the
 * capacity that it was taken with, 0 if it is not from here. ${pool} NULL: free. */
void block_pool_give(struct block_pool *pool, void *block, size_t taken, size_t capacity);

/* Free what was not needed since the last call. False if nothing is kept any more. */
bool block_pool_trim(struct block_pool *pool);

#endif
