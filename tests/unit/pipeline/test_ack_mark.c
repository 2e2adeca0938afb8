#include "pipeline/batch/ack_mark.h"

#include <stdlib.h>

#include "support/test.h"

enum { SESSIONS = 2 };

static void mark_batch(struct batch *batch, uint32_t session, uint64_t last_sequence)
{
    assert_true(batch_mark(
        batch, &(struct batch_segment){.session = session, .last_sequence = last_sequence}));
}

static struct batch *make_batch(uint64_t number, uint32_t session, uint64_t last_sequence)
{
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    batch->number = number;
    mark_batch(batch, session, last_sequence);
    return batch;
}

static bool settle(struct ack_mark *mark, uint64_t number, uint32_t session, uint64_t last_sequence)
{
    struct batch *batch = make_batch(number, session, last_sequence);
    bool noted = ack_mark_settle(mark, batch);
    batch_destroy(batch);
    return noted;
}

static void the_mark_moves_in_the_order_of_batches(void **state)
{
    (void)state;
    struct ack_mark mark;
    assert_true(ack_mark_init(&mark, SESSIONS, (const uint64_t[]){5, 0}));
    assert_int_equal(mark.acked[0], 5);
    assert_true(settle(&mark, 3, 0, 30));
    assert_true(settle(&mark, 2, 1, 20));
    assert_int_equal(mark.acked[0], 5);
    assert_int_equal(mark.acked[1], 0);
    assert_true(settle(&mark, 1, 0, 10));
    assert_int_equal(mark.acked[0], 30);
    assert_int_equal(mark.acked[1], 20);
    assert_true(settle(&mark, 5, 0, 50)); /* stays early */
    assert_int_equal(mark.acked[0], 30);
    ack_mark_fini(&mark);
}

static void a_batch_of_no_session_is_passed_over(void **state)
{
    (void)state;
    struct ack_mark mark;
    assert_true(ack_mark_init(&mark, SESSIONS, NULL));
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    batch->number = 2;
    assert_true(ack_mark_settle(&mark, batch));
    assert_true(settle(&mark, 3, 0, 30));
    assert_true(settle(&mark, 1, 0, 10));
    assert_int_equal(mark.acked[0], 30);
    batch_destroy(batch);
    ack_mark_fini(&mark);
}

static void parts_count_at_once_in_the_next_batch_alone(void **state)
{
    (void)state;
    struct ack_mark mark;
    assert_true(ack_mark_init(&mark, SESSIONS, NULL));
    struct batch *batch = make_batch(2, 0, 10);
    mark_batch(batch, 1, 7);
    ack_mark_settle_segments(&mark, batch, 1);
    assert_int_equal(mark.acked[0], 0);
    assert_true(settle(&mark, 1, 1, 3));
    ack_mark_settle_segments(&mark, batch, 1);
    assert_int_equal(mark.acked[0], 10);
    assert_int_equal(mark.acked[1], 3);
    batch_destroy(batch);
    ack_mark_fini(&mark);
}

static void one_that_is_too_far_ahead_is_not_noted(void **state)
{
    (void)state;
    struct ack_mark mark;
    assert_true(ack_mark_init(&mark, SESSIONS, NULL));
    uint64_t number = 2;
    while (settle(&mark, number, 0, number)) {
        number++;
    }
    assert_true(number > 100);
    assert_true(ack_mark_has_room(&mark, 0));
    assert_false(ack_mark_has_room(&mark, 1));
    assert_false(settle(&mark, number + 1, 0, number + 1));
    assert_true(settle(&mark, 1, 0, 1));
    assert_int_equal(mark.acked[0], number - 1);
    assert_true(ack_mark_has_room(&mark, 1));
    assert_true(settle(&mark, number, 0, number));
    assert_int_equal(mark.acked[0], number);
    ack_mark_fini(&mark);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mark_moves_in_the_order_of_batches),
        cmocka_unit_test(a_batch_of_no_session_is_passed_over),
        cmocka_unit_test(parts_count_at_once_in_the_next_batch_alone),
        cmocka_unit_test(one_that_is_too_far_ahead_is_not_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
