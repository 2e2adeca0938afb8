#include "pipeline/block_pool.h"

#include <string.h>

#include "support/test.h"

enum { BLOCK = 100000 };

static void a_block_comes_back_from_the_pool(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(10 * BLOCK);
    size_t capacity = 0;
    void *first = block_pool_take(pool, BLOCK, &capacity);
    assert_int_equal(capacity, BLOCK);
    memset(first, 1, capacity);
    block_pool_give(pool, first, capacity);
    assert_ptr_equal(block_pool_take(pool, BLOCK / 4 * 3, &capacity), first);
    assert_int_equal(capacity, BLOCK);
    block_pool_give(pool, first, capacity);
    block_pool_destroy(pool);
}

static void a_block_that_is_too_small_or_far_too_large_is_left_there(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(100 * BLOCK);
    size_t capacity = 0;
    void *small = block_pool_take(pool, BLOCK, &capacity);
    void *large = block_pool_take(pool, 50 * BLOCK, &capacity);
    block_pool_give(pool, small, BLOCK);
    block_pool_give(pool, large, 50 * BLOCK);
    void *other = block_pool_take(pool, 2 * BLOCK, &capacity);
    assert_int_equal(capacity, 2 * BLOCK);
    block_pool_give(pool, other, capacity);
    block_pool_destroy(pool);
}

/* Leaks and double frees are for the sanitizers to see. */
static void more_than_its_maximum_is_freed(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_create(2 * BLOCK);
    void *blocks[5];
    size_t capacity = 0;
    for (int i = 0; i < 5; i++) {
        blocks[i] = block_pool_take(pool, BLOCK, &capacity);
    }
    for (int i = 0; i < 5; i++) {
        block_pool_give(pool, blocks[i], BLOCK);
    }
    assert_ptr_equal(block_pool_take(pool, BLOCK, &capacity), blocks[1]);
    assert_ptr_equal(block_pool_take(pool, BLOCK, &capacity), blocks[0]);
    block_pool_give(pool, blocks[0], BLOCK);
    block_pool_give(pool, blocks[1], BLOCK);
    block_pool_destroy(pool);
}

static void without_a_pool_blocks_are_plain_memory(void **state)
{
    (void)state;
    size_t capacity = 0;
    void *block = block_pool_take(NULL, 10, &capacity);
    assert_int_equal(capacity, 10);
    block_pool_give(NULL, block, capacity);
    block_pool_give(NULL, NULL, 0);
    block_pool_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_comes_back_from_the_pool),
        cmocka_unit_test(a_block_that_is_too_small_or_far_too_large_is_left_there),
        cmocka_unit_test(more_than_its_maximum_is_freed),
        cmocka_unit_test(without_a_pool_blocks_are_plain_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
