#include "pipeline/spool/spool_durable.h"

#include "unit/pipeline/spool_rig.h"

/* The state that one run leaves for the next: batches, positions, checkpoints, leftovers. */

static void what_was_committed_before_a_crash_is_delivered_after_it(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    rig_append(&rig, 0, 1, 3);
    rig_append(&rig, 0, 4, 4);
    rig_flush(&rig);
    rig_append(&rig, 0, 5, 9); /* not committed yet, perhaps */
    rig_crash(&rig);
    assert_true(rig.backlogs[0].batches >= 2);
    struct spool_item item = rig_expect(&rig, 0, 1, 3);
    assert_true(item.earlier);
    assert_null(item.left);
    rig_ack(&rig, 0, &item);
    rig_take(&rig, 0, 4, 4);
    rig_fini(&rig);
}

/* An output that got uncommitted records might get other records with these numbers later. */
static void nothing_is_handed_out_before_it_is_committed(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig.settings.sync_interval_ns = UINT64_C(3600000000000);
    rig_open(&rig);
    rig_append(&rig, 0, 1, 2);
    struct spool_item item;
    assert_int_equal(rig.spool->ops->next(rig.spool, 0, 0, &item), SPOOL_NOTHING);
    rig_flush(&rig);
    item = rig_expect(&rig, 0, 1, 2);
    assert_false(item.earlier);
    assert_int_equal(item.stream_hash, 11);
    assert_int_equal(item.route, SIZE_MAX);
    rig_ack(&rig, 0, &item);
    rig_fini(&rig);
}

static void a_commit_comes_by_itself_after_the_interval(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    rig_append(&rig, 0, 1, 2);
    rig_take(&rig, 0, 1, 2); /* waits for as long as it takes */
    rig_fini(&rig);
}

static void enough_bytes_are_committed_at_once(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig.settings.sync_interval_ns = UINT64_C(3600000000000);
    rig.settings.sync_bytes = 50000;
    rig_open(&rig);
    rig.spool->ops->append(rig.spool, 0, rig_batch(RIG_FILE, 1, 100, 600));
    rig_take(&rig, 0, 1, 100);
    rig_fini(&rig);
}

static void records_are_numbered_over_all_streams_and_runs(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig.readers[1] = (struct spool_reader){.name = "b", .stream = 1, .route = SIZE_MAX};
    rig.reader_count = 2;
    rig_open(&rig);
    rig_append(&rig, 0, 1, 3);
    rig_append(&rig, 1, 1, 3);
    rig_append(&rig, 0, 4, 5);
    struct spool_item first = rig_expect(&rig, 0, 1, 3);
    struct spool_item other = rig_expect(&rig, 1, 1, 3);
    struct spool_item second = rig_expect(&rig, 0, 4, 5);
    assert_true(other.batch->first_record >= first.batch->first_record + 3);
    assert_true(second.batch->first_record >= other.batch->first_record + 3);
    uint64_t last = second.batch->first_record;
    uint64_t epoch = second.epoch;
    rig.spool->ops->ack(rig.spool, 0, &first, true);
    rig.spool->ops->ack(rig.spool, 0, &second, false);
    rig.spool->ops->ack(rig.spool, 1, &other, true);
    rig_checkpoint(&rig, 0, "", true);
    rig_reopen(&rig);
    rig_append(&rig, 0, 6, 6);
    second = rig_expect(&rig, 0, 4, 5);
    assert_int_equal(second.batch->first_record, last);
    assert_true(second.epoch == epoch);
    struct spool_item third = rig_expect(&rig, 0, 6, 6);
    assert_true(third.epoch != epoch || third.batch->first_record >= last + 2);
    rig_ack(&rig, 0, &second);
    rig_ack(&rig, 0, &third);
    rig_fini(&rig);
}

/* Acks without a checkpoint are taken back, with what the output wrote since. */
static void acks_count_with_the_checkpoint_that_follows_them(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct error err = {0};
    struct buf checkpoint;
    buf_init(&checkpoint, 100);
    rig_init(&rig);
    rig_open(&rig);
    rig_append(&rig, 0, 1, 1);
    rig_append(&rig, 0, 2, 2);
    rig_append(&rig, 0, 3, 3);
    rig_take(&rig, 0, 1, 1);
    rig_checkpoint(&rig, 0, "wrote 1", true);
    rig_take(&rig, 0, 2, 2);
    rig_flush(&rig);
    rig_crash(&rig);
    assert_true(rig.spool->ops->first_checkpoint(rig.spool, 0, &checkpoint, &err));
    assert_span(buf_span(&checkpoint), "wrote 1");
    rig_take(&rig, 0, 2, 2);
    rig_take(&rig, 0, 3, 3);
    buf_fini(&checkpoint);
    rig_fini(&rig);
}

/* Several workers ack in any order; one of them may never ack. */
static void acks_out_of_order_are_remembered_one_by_one(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct spool_item items[6];
    rig_init(&rig);
    rig_open(&rig);
    for (uint64_t i = 1; i <= 6; i++) {
        rig_append(&rig, 0, i, i);
    }
    for (uint64_t i = 1; i <= 5; i++) {
        items[i] = rig_expect(&rig, 0, i, i);
    }
    rig_ack(&rig, 0, &items[5]);
    rig_ack(&rig, 0, &items[1]);
    rig_ack(&rig, 0, &items[3]);
    rig.spool->ops->ack(rig.spool, 0, &items[4], false);
    rig_checkpoint(&rig, 0, "", true);
    rig.spool->ops->ack(rig.spool, 0, &items[2], true); /* after the checkpoint */
    rig_crash(&rig);
    /* Whether the last one was committed is unknown. */
    assert_in_range(rig.backlogs[0].batches, 3, 4);
    assert_in_range(rig.backlogs[0].records, 3, 4);
    /* Whatever the order in this run, what the other run settled stays settled. */
    items[2] = rig_expect(&rig, 0, 2, 2);
    items[4] = rig_expect(&rig, 0, 4, 4);
    rig_ack(&rig, 0, &items[4]);
    rig_checkpoint(&rig, 0, "", true);
    rig.spool->ops->ack(rig.spool, 0, &items[2], false);
    rig_crash(&rig);
    rig_take(&rig, 0, 2, 2);
    rig_take(&rig, 0, 6, 6);
    rig_checkpoint(&rig, 0, "", true);
    rig_reopen(&rig);
    /* The crash may come before or after the commit of the batch. */
    rig_append(&rig, 0, 7, 7);
    struct spool_item item = rig_next(&rig, 0);
    while (rig_record(&item, 0) == 999999) {
        rig_ack(&rig, 0, &item);
        item = rig_next(&rig, 0);
    }
    assert_int_equal(rig_record(&item, 0), 7);
    rig_ack(&rig, 0, &item);
    rig_fini(&rig);
}

static void of_a_batch_that_was_partly_accepted_the_rest_comes_again(void **state)
{
    (void)state;
    static const uint32_t first[] = {1, 3, 4};
    static const uint32_t second[] = {1, 4};
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    rig_append(&rig, 0, 1, 5);
    struct spool_item item = rig_expect(&rig, 0, 1, 5);
    rig.spool->ops->note_left(rig.spool, 0, &item, first, 3);
    rig.spool->ops->note_left(rig.spool, 0, &item, second, 2);
    rig_flush(&rig);
    rig.spool->ops->ack(rig.spool, 0, &item, false);
    rig_crash(&rig);
    item = rig_expect(&rig, 0, 1, 5);
    assert_int_equal(item.left_count, 2);
    assert_int_equal(item.left[0], 1);
    assert_int_equal(item.left[1], 4);
    rig_ack(&rig, 0, &item);
    rig_fini(&rig);
}

static void a_stop_with_a_backlog_loses_nothing(void **state)
{
    (void)state;
    enum { BATCHES = 500 };
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    for (uint64_t i = 1; i <= BATCHES; i++) {
        rig_append(&rig, 0, i, i);
    }
    rig_close(&rig); /* at once */
    rig_open(&rig);
    assert_int_equal(rig.backlogs[0].batches, BATCHES);
    assert_int_equal(rig.backlogs[0].records, BATCHES);
    for (uint64_t i = 1; i <= BATCHES; i++) {
        rig_take(&rig, 0, i, i);
    }
    rig_expect_nothing(&rig, 0);
    rig_fini(&rig);
}

static void a_closed_spool_ends_when_everything_was_handed_out(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct spool_item item;
    rig_init(&rig);
    rig.settings.sync_interval_ns = UINT64_C(3600000000000);
    rig_open(&rig);
    rig_append(&rig, 0, 1, 2);
    rig.spool->ops->close(rig.spool);
    rig_take(&rig, 0, 1, 2);
    assert_int_equal(rig.spool->ops->next(rig.spool, 0, UINT64_MAX / 2, &item), SPOOL_END);
    rig_fini(&rig);
}

/* After a change of format, filter or route: the waiting batches were written for the previous
 * one. */
static void what_was_written_for_another_stream_comes_first(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig.readers[0].route = 1;
    rig_open(&rig);
    rig_append(&rig, 0, 1, 2);
    rig_append(&rig, 0, 3, 4);
    rig_take(&rig, 0, 1, 2);
    rig_checkpoint(&rig, 0, "", true);
    rig_close(&rig);
    rig.readers[0] = (struct spool_reader){.name = "a", .stream = 1, .route = 0, .stream_hash = 12};
    rig_open(&rig);
    rig_append(&rig, 1, 5, 6);
    struct spool_item item = rig_expect(&rig, 0, 3, 4);
    assert_int_equal(item.route, 1);
    assert_int_equal(item.stream_hash, 11);
    assert_true(item.earlier);
    rig_ack(&rig, 0, &item);
    item = rig_expect(&rig, 0, 5, 6);
    assert_int_equal(item.route, 0);
    assert_int_equal(item.stream_hash, 12);
    assert_false(item.earlier);
    rig_ack(&rig, 0, &item);
    rig_expect_nothing(&rig, 0);
    rig_fini(&rig);
}

static void a_new_output_begins_behind_what_is_there(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    rig_append(&rig, 0, 1, 2);
    rig_close(&rig);
    rig.readers[1] = (struct spool_reader){.name = "tail", .route = SIZE_MAX};
    rig.readers[2] = (struct spool_reader){.name = "head", .route = SIZE_MAX, .from_head = true};
    rig.reader_count = 3;
    rig_open(&rig);
    rig_append(&rig, 0, 3, 4);
    rig_take(&rig, 1, 3, 4);
    rig_take(&rig, 2, 1, 2);
    rig_take(&rig, 2, 3, 4);
    rig_fini(&rig);
}

/* A session's sequence is in the spool with the batch that has brought it, or not at all. */
static void how_far_a_session_is_becomes_true_with_its_batches(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    assert_int_equal(spool_durable_sequence(rig.spool, RIG_FILE, 0), 0);
    rig_append(&rig, 0, 1, 7);
    rig_append(&rig, 1, 1, 3); /* no output reads it */
    struct batch *filtered = batch_create(0, NULL, 0);
    assert_non_null(filtered);
    assert_true(
        batch_mark(filtered, &(struct batch_segment){.session = RIG_FILE, .last_sequence = 20}));
    rig.spool->ops->append(rig.spool, 0, filtered);
    rig_flush(&rig);
    rig_append(&rig, 0, 21, 30);
    rig_crash(&rig);
    uint64_t sequence = spool_durable_sequence(rig.spool, RIG_FILE, 0);
    assert_true(sequence == 20 || sequence == 30);
    assert_int_equal(spool_durable_sequence(rig.spool, RIG_FILE, 1), 3);
    rig_take(&rig, 0, 1, 7);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_committed_before_a_crash_is_delivered_after_it),
        cmocka_unit_test(nothing_is_handed_out_before_it_is_committed),
        cmocka_unit_test(a_commit_comes_by_itself_after_the_interval),
        cmocka_unit_test(enough_bytes_are_committed_at_once),
        cmocka_unit_test(records_are_numbered_over_all_streams_and_runs),
        cmocka_unit_test(acks_count_with_the_checkpoint_that_follows_them),
        cmocka_unit_test(acks_out_of_order_are_remembered_one_by_one),
        cmocka_unit_test(of_a_batch_that_was_partly_accepted_the_rest_comes_again),
        cmocka_unit_test(a_stop_with_a_backlog_loses_nothing),
        cmocka_unit_test(a_closed_spool_ends_when_everything_was_handed_out),
        cmocka_unit_test(what_was_written_for_another_stream_comes_first),
        cmocka_unit_test(a_new_output_begins_behind_what_is_there),
        cmocka_unit_test(how_far_a_session_is_becomes_true_with_its_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
