#include "support/test.h"

#include <stdalign.h>

#include "base/arena.h"

enum { SMALL = 16 * 1024, LARGE = 64 * 1024, MIB = 1024 * 1024 };

static void memory_is_zeroed_aligned_and_disjoint(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, MIB);
    uint8_t *last = NULL;
    for (size_t size = 0; size < 300; size++) {
        uint8_t *memory = arena_alloc(&arena, size);
        assert_non_null(memory);
        assert_ptr_not_equal(memory, last);
        assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xff, size);
        last = memory;
    }
    arena_fini(&arena);
}

static void an_arena_never_exceeds_its_maximum(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 40000);
    assert_null(arena_alloc(&arena, 40001));
    assert_null(arena_alloc(&arena, SIZE_MAX));
    size_t got = 0;
    while (arena_alloc(&arena, 1000)) {
        got += 1000;
        assert_true(got <= 40000);
    }
    assert_true(got >= 30000);
    assert_true(arena.used_bytes <= 40000);
    arena_fini(&arena);
}

static void a_large_block_is_fine_up_to_the_maximum(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, LARGE);
    assert_non_null(arena_alloc(&arena, LARGE));
    assert_null(arena_alloc(&arena, 1));
    arena_fini(&arena);
}

static void an_array_whose_size_overflows_is_refused(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    assert_null(arena_alloc_array(&arena, SIZE_MAX / 2 + 1, 2));
    assert_null(arena_alloc_array(&arena, 3, SIZE_MAX / 2));
    assert_non_null(arena_alloc_array(&arena, 0, 8));
    assert_non_null(arena_alloc_array(&arena, 8, 0));
    arena_fini(&arena);
}

static void a_copy_has_a_terminator_and_lives_in_the_arena(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, SMALL);
    char text[] = "name";
    struct span copy = {0};
    assert_true(arena_copy(&arena, span_text(text), &copy));
    text[0] = 'X';
    assert_span(copy, "name");
    assert_int_equal(copy.data[4], 0);
    assert_true(arena_copy(&arena, span_make(NULL, 0), &copy));
    assert_int_equal(copy.size, 0);

    struct span untouched = copy;
    static const uint8_t large[SMALL];
    assert_false(arena_copy(&arena, span_make(large, sizeof(large)), &copy));
    assert_ptr_equal(copy.data, untouched.data);
    arena_fini(&arena);
}

static void after_fini_an_arena_can_be_used_again(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1000);
    assert_non_null(arena_alloc(&arena, 900));
    assert_null(arena_alloc(&arena, 900));
    arena_fini(&arena);
    assert_non_null(arena_alloc(&arena, 900));
    arena_fini(&arena);
}

static void a_small_arena_takes_little_for_little(void **state)
{
    (void)state;
    struct arena arena;
    arena_init_small(&arena, MIB, NULL);
    assert_non_null(arena_alloc(&arena, 100));
    assert_true(arena.used_bytes <= 1024);
    size_t got = 100;
    while (arena_alloc(&arena, 100)) {
        got += 100;
        assert_true(arena.used_bytes <= 2 * got + 2048 || arena.used_bytes <= got + 2 * SMALL);
    }
    assert_true(arena.used_bytes <= MIB);
    assert_true(got >= MIB / 4 * 3);
    arena_fini(&arena);
    assert_non_null(arena_alloc(&arena, 100));
    assert_true(arena.used_bytes <= 1024);
    arena_fini(&arena);
}

static void arenas_share_a_budget_and_give_it_back(void **state)
{
    (void)state;
    struct arena_budget budget = {.max_bytes = LARGE};
    struct arena arenas[2];
    for (size_t i = 0; i < 2; i++) {
        arena_init_small(&arenas[i], SIZE_MAX, &budget);
    }
    assert_non_null(arena_alloc(&arenas[0], LARGE / 2));
    assert_null(arena_alloc(&arenas[1], LARGE / 2)); /* heads of blocks count */
    assert_non_null(arena_alloc(&arenas[1], LARGE / 4));
    assert_true(budget.used_bytes <= LARGE && budget.used_bytes >= LARGE / 4 * 3);
    arena_fini(&arenas[0]);
    assert_true(arena_budget_take(&budget, LARGE / 2));
    assert_false(arena_budget_take(&budget, LARGE / 4));
    arena_budget_give(&budget, LARGE / 2);
    arena_fini(&arenas[1]);
    assert_int_equal(budget.used_bytes, 0);
    assert_true(budget.has_refused);
    assert_int_equal(arena_budget_left(&budget), LARGE);
    assert_true(arena_budget_take(NULL, SIZE_MAX));
    assert_int_equal(arena_budget_left(NULL), SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_disjoint),
        cmocka_unit_test(an_arena_never_exceeds_its_maximum),
        cmocka_unit_test(a_large_block_is_fine_up_to_the_maximum),
        cmocka_unit_test(an_array_whose_size_overflows_is_refused),
        cmocka_unit_test(a_copy_has_a_terminator_and_lives_in_the_arena),
        cmocka_unit_test(a_small_arena_takes_little_for_little),
        cmocka_unit_test(arenas_share_a_budget_and_give_it_back),
        cmocka_unit_test(after_fini_an_arena_can_be_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
