#include "pipeline/deliver/delivery_part.h"

#include "support/test.h"

/* A destination has rejected some records, and does not say which. */

static void kept_ones_that_arrived_count_as_delivered(void **state)
{
    (void)state;
    /* 3 of 100 are rejected: 97 have arrived. */
    const struct output_report report = {.rejected_but_arrived = 97, .rejected_maybe_arrived = 97};
    struct delivery_counts counts = {.delivered = 5, .dead_lettered = 110};
    delivery_part_count(&report, 100, 10, &counts);
    assert_int_equal(counts.dead_lettered, 13);
    assert_int_equal(counts.delivered, 102);
    assert_int_equal(counts.maybe_duplicates, 0);
}

static void what_cannot_be_kept_comes_again_and_may_be_there_twice(void **state)
{
    (void)state;
    /* 50 of the 100 are kept. It is unknown whether the 3 are among these, so these do not count as
     * delivered. */
    const struct output_report report = {.rejected_but_arrived = 97, .rejected_maybe_arrived = 97};
    struct delivery_counts counts = {.delivered = 5, .dead_lettered = 60};
    delivery_part_count(&report, 100, 10, &counts);
    assert_int_equal(counts.dead_lettered, 13);
    assert_int_equal(counts.delivered, 52);
    assert_int_equal(counts.maybe_duplicates, 50);
    /* 2 of 3 are rejected, and none is kept: one may come twice. */
    const struct output_report few = {.rejected_but_arrived = 1, .rejected_maybe_arrived = 1};
    counts = (struct delivery_counts){.delivered = 5};
    delivery_part_count(&few, 3, 0, &counts);
    assert_int_equal(counts.dead_lettered, 0);
    assert_int_equal(counts.delivered, 5);
    assert_int_equal(counts.maybe_duplicates, 1);
    /* Their fate is unknown (500): none counts as delivered, and all may have arrived. */
    const struct output_report unknown = {.rejected_maybe_arrived = 3};
    counts = (struct delivery_counts){.dead_lettered = 1};
    delivery_part_count(&unknown, 3, 0, &counts);
    assert_int_equal(counts.dead_lettered, 1);
    assert_int_equal(counts.delivered, 0);
    assert_int_equal(counts.maybe_duplicates, 2);
}

static void where_no_dead_letters_are_kept_as_many_are_no_loss(void **state)
{
    (void)state;
    const struct output_report report = {.rejected_but_arrived = 2};
    enum record_status statuses[] = {
        RECORD_RETRY, RECORD_REJECTED, RECORD_REJECTED, RECORD_DELIVERED, RECORD_REJECTED};
    assert_int_equal(delivery_part_rejected(statuses, 5), 3);
    delivery_part_take(&report, statuses, 5);
    assert_int_equal(statuses[0], RECORD_RETRY);
    assert_int_equal(statuses[1], RECORD_DELIVERED);
    assert_int_equal(statuses[2], RECORD_DELIVERED);
    assert_int_equal(statuses[4], RECORD_REJECTED);
    assert_int_equal(delivery_part_rejected(statuses, 5), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_ones_that_arrived_count_as_delivered),
        cmocka_unit_test(what_cannot_be_kept_comes_again_and_may_be_there_twice),
        cmocka_unit_test(where_no_dead_letters_are_kept_as_many_are_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
