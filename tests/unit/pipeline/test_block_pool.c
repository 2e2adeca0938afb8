#include "pipeline/batch/block_pool.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* The sanitizers find leaks and double frees. */
enum { BLOCK = 100000 };

static void *take(struct block_pool *pool, size_t size, size_t expected_capacity)
{
    size_t capacity = 0;
    void *block = block_pool_take(pool, size, &capacity);
    assert_non_null(block);
    assert_int_equal(capacity, expected_capacity);
    memset(block, 1, capacity);
    return block;
}

static void a_block_comes_back_from_the_pool(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(10 * BLOCK);
    void *first = take(pool, BLOCK, BLOCK);
    block_pool_give(pool, first, BLOCK, BLOCK);
    assert_ptr_equal(take(pool, BLOCK / 4 * 3, BLOCK), first);
    block_pool_give(pool, first, BLOCK, BLOCK);
    block_pool_destroy(pool);
}

static void a_block_that_is_too_small_or_far_too_large_is_left_there(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(100 * BLOCK);
    void *small = take(pool, BLOCK, BLOCK);
    void *large = take(pool, 50 * BLOCK, 50 * BLOCK);
    block_pool_give(pool, small, BLOCK, BLOCK);
    block_pool_give(pool, large, 50 * BLOCK, 50 * BLOCK);
    void *other = take(pool, 2 * BLOCK, 2 * BLOCK);
    block_pool_give(pool, other, 2 * BLOCK, 2 * BLOCK);
    assert_ptr_equal(take(pool, 30 * BLOCK, 50 * BLOCK), large);
    block_pool_give(pool, large, 50 * BLOCK, 50 * BLOCK);
    block_pool_destroy(pool);
}

static void more_than_its_maximum_is_freed(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(2 * BLOCK);
    void *blocks[5];
    for (int i = 0; i < 5; i++) {
        blocks[i] = take(pool, BLOCK, BLOCK);
    }
    for (int i = 0; i < 5; i++) {
        block_pool_give(pool, blocks[i], BLOCK, BLOCK);
    }
    assert_ptr_equal(take(pool, BLOCK, BLOCK), blocks[4]);
    assert_ptr_equal(take(pool, BLOCK, BLOCK), blocks[3]);
    block_pool_give(pool, blocks[3], BLOCK, BLOCK);
    block_pool_give(pool, blocks[4], BLOCK, BLOCK);
    block_pool_destroy(pool);
}

static void what_is_taken_counts_like_what_is_kept(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(3 * BLOCK);
    void *first = take(pool, BLOCK, BLOCK);
    void *second = take(pool, BLOCK, BLOCK);
    block_pool_give(pool, first, BLOCK, BLOCK);
    block_pool_give(pool, second, BLOCK, BLOCK);
    /* Two blocks are kept, and there is room for one: a request for another size gives up the older
     * one. */
    void *other = take(pool, 3 * BLOCK / 2, 3 * BLOCK / 2);
    assert_ptr_equal(take(pool, BLOCK, BLOCK), second);
    assert_false(block_pool_trim(pool));
    block_pool_give(pool, second, BLOCK, BLOCK);
    block_pool_give(pool, other, 3 * BLOCK / 2, 3 * BLOCK / 2);
    block_pool_destroy(pool);
}

static void a_block_that_has_grown_meanwhile_counts_as_what_it_is(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(4 * BLOCK);
    void *block = take(pool, BLOCK, BLOCK);
    block_pool_give(pool, realloc(block, 3 * BLOCK), BLOCK, 3 * BLOCK);
    block = take(pool, 2 * BLOCK, 3 * BLOCK);
    block_pool_give(pool, realloc(block, 5 * BLOCK), 3 * BLOCK, 5 * BLOCK);
    assert_false(block_pool_trim(pool));
    /* A block that was never taken from here. */
    block_pool_give(pool, malloc(2 * BLOCK), 0, 2 * BLOCK);
    assert_true(block_pool_trim(pool));
    block_pool_destroy(pool);
}

static void memory_unused_for_a_while_is_freed(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(10 * BLOCK);
    void *idle = take(pool, BLOCK, BLOCK);
    void *busy = take(pool, BLOCK, BLOCK);
    block_pool_give(pool, idle, BLOCK, BLOCK);
    block_pool_give(pool, busy, BLOCK, BLOCK);
    assert_true(block_pool_trim(pool)); /* both were needed before */
    assert_ptr_equal(take(pool, BLOCK, BLOCK), busy);
    block_pool_give(pool, busy, BLOCK, BLOCK);
    assert_true(block_pool_trim(pool)); /* one was not */
    assert_ptr_equal(take(pool, BLOCK, BLOCK), busy);
    assert_true(!block_pool_trim(pool)); /* it was the only one */
    block_pool_give(pool, busy, BLOCK, BLOCK);
    assert_true(block_pool_trim(pool));
    assert_false(block_pool_trim(pool));
    block_pool_destroy(pool);
}

static void small_blocks_are_not_kept(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(10 * BLOCK);
    block_pool_give(pool, take(pool, 100, 100), 100, 100);
    assert_false(block_pool_trim(pool));
    block_pool_destroy(pool);
}

static void without_a_pool_blocks_are_plain_memory(void **state)
{
    (void)state;
    block_pool_give(NULL, take(NULL, 10, 10), 10, 10);
    block_pool_give(NULL, NULL, 0, 0);
    block_pool_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_comes_back_from_the_pool),
        cmocka_unit_test(a_block_that_is_too_small_or_far_too_large_is_left_there),
        cmocka_unit_test(more_than_its_maximum_is_freed),
        cmocka_unit_test(what_is_taken_counts_like_what_is_kept),
        cmocka_unit_test(a_block_that_has_grown_meanwhile_counts_as_what_it_is),
        cmocka_unit_test(memory_unused_for_a_while_is_freed),
        cmocka_unit_test(small_blocks_are_not_kept),
        cmocka_unit_test(without_a_pool_blocks_are_plain_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
