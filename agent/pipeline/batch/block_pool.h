#ifndef ETWSHIP_PIPELINE_BLOCK_POOL_H
#define ETWSHIP_PIPELINE_BLOCK_POOL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Large blocks of memory that one thread takes and another gives back, again and again. Kept here
 * they stay mapped; the C library gives them back to the system and faults in every page anew. What
 * is taken and what is kept count together, so that keeping never needs more than the most that is
 * in use at a time may need anyway. A block is malloc'd memory like any other: it may be grown
 * before it is given back. Any thread.
 */
struct block_pool;

/* Keeps blocks as long as these and the taken ones are at most ${max_bytes}. NULL: out of memory. */
struct block_pool *block_pool_create(size_t max_bytes);
void block_pool_destroy(struct block_pool *pool); /* NULL is fine; with what is kept */

/* A block of at least ${size} bytes and at most twice as many, to be given back; NULL: out of memory.
 * ${pool} NULL: malloc. */
void *block_pool_take(struct block_pool *pool, size_t size, size_t *ret_capacity);

/* Keep a block of ${capacity} bytes, or free it if it is small or there are enough. ${taken}: the
 * capacity that it was taken with, 0 if it is not from here. ${pool} NULL: free. */
void block_pool_give(struct block_pool *pool, void *block, size_t taken, size_t capacity);

/* Free what was not needed since the last call. False if nothing is kept any more. */
bool block_pool_trim(struct block_pool *pool);

#endif
