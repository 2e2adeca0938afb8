#include "pipeline/delivery_part.h"

#include "support/test.h"

/* Records of which a destination has rejected some, and does not say which. */

static void kept_ones_that_arrived_count_as_delivered(void **state)
{
    (void)state;
    struct output_report report = {.rejected_but_arrived = 97};
    struct delivery_counts counts = {.delivered = 5, .dead_lettered = 110};
    delivery_part_count(&report, 10, &counts);
    assert_int_equal(counts.dead_lettered, 13);
    assert_int_equal(counts.delivered, 102);
    /* Not more than were kept now: the rest comes again. */
    counts = (struct delivery_counts){.delivered = 5, .dead_lettered = 60};
    delivery_part_count(&report, 10, &counts);
    assert_int_equal(counts.dead_lettered, 10);
    assert_int_equal(counts.delivered, 55);
}

static void where_nobody_keeps_them_as_many_are_no_loss(void **state)
{
    (void)state;
    const struct output_report report = {.rejected_but_arrived = 2};
    enum record_status statuses[] = {
        RECORD_RETRY, RECORD_REJECTED, RECORD_REJECTED, RECORD_DELIVERED, RECORD_REJECTED};
    assert_true(delivery_part_any(statuses, 5));
    delivery_part_take(&report, statuses, 5);
    assert_int_equal(statuses[0], RECORD_RETRY);
    assert_int_equal(statuses[1], RECORD_DELIVERED);
    assert_int_equal(statuses[2], RECORD_DELIVERED);
    assert_int_equal(statuses[4], RECORD_REJECTED);
    assert_false(delivery_part_any(statuses, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_ones_that_arrived_count_as_delivered),
        cmocka_unit_test(where_nobody_keeps_them_as_many_are_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
