#include "pipeline/batch/delivered.h"
#include "support/test.h"

/* The events that an output has delivered, over several runs that each began its session again. */

static void what_it_had_holds_for_later_batches(void **state)
{
    (void)state;
    struct delivered delivered = {.count = 0};
    assert_int_equal(delivered_number(&delivered), 0);
    assert_false(delivered_covers(&delivered, 1, 1));
    delivered_set(&delivered, 100, 10);
    assert_int_equal(delivered_number(&delivered), 100);
    assert_true(delivered_covers(&delivered, 11, 100));
    assert_false(delivered_covers(&delivered, 11, 101));
    assert_false(delivered_covers(&delivered, 10, 1));
}

static void what_is_said_again_changes_nothing(void **state)
{
    (void)state;
    struct delivered delivered = {.count = 0};
    delivered_set(&delivered, 100, 10);
    delivered_set(&delivered, 100, 50);
    assert_true(delivered_covers(&delivered, 11, 100));
}

/* Batches 11 to 50 have waited: of these the output has exactly what it had when they came. */
static void what_it_had_first_still_holds_in_between(void **state)
{
    (void)state;
    struct delivered delivered = {.count = 0};
    delivered_set(&delivered, 100, 10);
    delivered_set(&delivered, 200, 50);
    assert_int_equal(delivered_number(&delivered), 200);
    assert_true(delivered_covers(&delivered, 11, 100));
    assert_false(delivered_covers(&delivered, 50, 101));
    assert_true(delivered_covers(&delivered, 51, 200));
    assert_false(delivered_covers(&delivered, 10, 1));
}

/* After a position was set back, nothing beyond it is left out. */
static void it_may_turn_out_to_have_had_less(void **state)
{
    (void)state;
    struct delivered delivered = {.count = 0};
    delivered_set(&delivered, 100, 10);
    delivered_set(&delivered, 200, 50);
    delivered_set(&delivered, 150, 70);
    assert_int_equal(delivered_number(&delivered), 150);
    assert_false(delivered_covers(&delivered, 71, 151));
    assert_true(delivered_covers(&delivered, 51, 150));
    assert_true(delivered_covers(&delivered, 11, 100));
    delivered_set(&delivered, 60, 80);
    assert_false(delivered_covers(&delivered, 90, 61));
    assert_true(delivered_covers(&delivered, 11, 60));
    assert_false(delivered_covers(&delivered, 10, 60));
    delivered_set(&delivered, 0, 90);
    assert_int_equal(delivered_number(&delivered), 0);
    assert_false(delivered_covers(&delivered, 1000, 1));
}

/* A spool that was lost counts from 1 again. */
static void a_step_that_says_less_than_the_new_one_goes(void **state)
{
    (void)state;
    struct delivered delivered = {.count = 0};
    delivered_set(&delivered, 100, 50);
    delivered_set(&delivered, 200, 10);
    assert_int_equal(delivered.count, 1);
    assert_true(delivered_covers(&delivered, 11, 200));
}

static void of_too_many_steps_first_and_last_stay(void **state)
{
    (void)state;
    struct delivered delivered = {.count = 0};
    for (uint64_t i = 1; i <= DELIVERED_STEPS + 3; i++) {
        delivered_set(&delivered, i * 100, i * 10);
    }
    assert_int_equal(delivered.count, DELIVERED_STEPS);
    assert_true(delivered_covers(&delivered, 11, 100));
    assert_true(
        delivered_covers(&delivered, (DELIVERED_STEPS + 3) * 10 + 1, (DELIVERED_STEPS + 3) * 100));
    assert_false(
        delivered_covers(&delivered, (DELIVERED_STEPS + 3) * 10, (DELIVERED_STEPS + 3) * 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_had_holds_for_later_batches),
        cmocka_unit_test(what_is_said_again_changes_nothing),
        cmocka_unit_test(what_it_had_first_still_holds_in_between),
        cmocka_unit_test(it_may_turn_out_to_have_had_less),
        cmocka_unit_test(a_step_that_says_less_than_the_new_one_goes),
        cmocka_unit_test(of_too_many_steps_first_and_last_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
