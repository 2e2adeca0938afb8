#include "pipeline/spool/spool_durable_own.h"
#include "unit/pipeline/spool_rig.h"

/* Batches that an output holds for later, in a spool on a disk. */

static void put_down(struct spool_rig *rig, const struct spool_item *item, size_t count)
{
    rig->spool->ops->put_down(rig->spool, 0, item, count);
}

static enum spool_pick pick_up(struct spool_rig *rig, struct spool_item *item)
{
    return rig->spool->ops->pick_up(rig->spool, 0, item);
}

static void a_batch_that_is_put_down_leaves_memory_and_is_read_again(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    rig_append(&rig, 0, 1, 5);
    rig_append(&rig, 0, 6, 9);
    struct spool_item first = rig_expect(&rig, 0, 1, 5);
    struct spool_item second = rig_expect(&rig, 0, 6, 9);
    put_down(&rig, &first, 2);
    put_down(&rig, &second, 4);
    assert_int_equal(spool_cache_bytes(spool_durable_of(rig.spool)->cache), 0);
    assert_int_equal(pick_up(&rig, &second), SPOOL_PICKED);
    assert_int_equal(rig_record(&second, 0), 6);
    rig_ack(&rig, 0, &second);
    assert_int_equal(pick_up(&rig, &first), SPOOL_PICKED);
    assert_int_equal(rig_record(&first, 4), 5);
    put_down(&rig, &first, 1);
    rig_ack(&rig, 0, &first); /* also without being picked up */
    rig_checkpoint(&rig, 0, "", true);
    rig_reopen(&rig);
    assert_int_equal(rig.backlogs[0].batches, 0);
    rig_fini(&rig);
}

static void another_output_still_gets_what_one_has_put_down(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig.readers[1] = (struct spool_reader){.name = "b", .route = SIZE_MAX, .stream_hash = 11};
    rig.reader_count = 2;
    rig_open(&rig);
    rig_append(&rig, 0, 1, 5);
    struct spool_item item = rig_expect(&rig, 0, 1, 5);
    put_down(&rig, &item, 5);
    for (int i = 0; i < 3; i++) { /* from memory, in which the other output has it */
        assert_int_equal(pick_up(&rig, &item), SPOOL_PICKED);
        put_down(&rig, &item, 5);
    }
    rig_take(&rig, 1, 1, 5);
    assert_int_equal(spool_cache_bytes(spool_durable_of(rig.spool)->cache), 0);
    assert_int_equal(pick_up(&rig, &item), SPOOL_PICKED);
    rig_ack(&rig, 0, &item);
    assert_int_equal(spool_cache_bytes(spool_durable_of(rig.spool)->cache), 0);
    rig_fini(&rig);
}

static void what_is_left_of_it_comes_after_a_crash(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    rig_append(&rig, 0, 1, 5);
    rig_append(&rig, 0, 6, 9);
    struct spool_item item = rig_expect(&rig, 0, 1, 5);
    rig.spool->ops->note_left(rig.spool, 0, &item, (const uint32_t[]){1, 3}, 2);
    put_down(&rig, &item, 2);
    rig_take(&rig, 0, 6, 9);
    rig_checkpoint(&rig, 0, "", true);
    rig_crash(&rig);
    item = rig_expect(&rig, 0, 1, 5);
    assert_int_equal(item.left_count, 2);
    assert_int_equal(item.left[0], 1);
    assert_int_equal(item.left[1], 3);
    put_down(&rig, &item, 2);
    assert_int_equal(pick_up(&rig, &item), SPOOL_PICKED);
    assert_int_equal(item.left[1], 3);
    rig_ack(&rig, 0, &item);
    rig_expect_nothing(&rig, 0);
    rig_fini(&rig);
}

/* A segment file is damaged in its middle. */
static void damage(struct spool_rig *rig)
{
    for (uint64_t id = 0; id < 100; id++) {
        char path[TEMP_FOLDER_BYTES + 64];
        snprintf(path, sizeof(path), "%s/%016llx.seg", rig->path, (unsigned long long)id);
        struct span content = disk_model_content(rig->model, path);
        if (content.size > 20000) {
            assert_true(disk_model_flip(rig->model, path, content.size / 2, 0x10));
            return;
        }
    }
    fail_msg("no file is so long");
}

static void of_what_cannot_be_read_again_only_what_was_left_is_lost(void **state)
{
    (void)state;
    enum { WIDTH = 8000 };
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    rig.spool->ops->append(rig.spool, 0, rig_batch(RIG_FILE, 1, 5, WIDTH));
    struct spool_item item = rig_expect(&rig, 0, 1, 5);
    put_down(&rig, &item, 2);
    damage(&rig);
    assert_int_equal(pick_up(&rig, &item), SPOOL_PICK_GONE);
    rig_append(&rig, 0, 6, 9);
    rig_take(&rig, 0, 6, 9);
    rig_flush(&rig);
    assert_int_equal(atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_DAMAGED]), 2);
    rig_checkpoint(&rig, 0, "", true);
    rig_reopen(&rig);
    assert_int_equal(rig.backlogs[0].batches, 0);
    rig_fini(&rig);
}

/* Live batches of ${WIDE} bytes a record into a small spool, until the first one is given up. */
static void of_what_makes_room_only_what_was_left_is_lost(void **state)
{
    (void)state;
    enum { WIDE = 1000, RECORDS = 8 };
    struct spool_rig rig;
    struct error err;
    rig_init(&rig);
    rig.store_settings.max_bytes = 512 * 1024;
    rig.settings.on_full = SPOOL_FULL_DROP_OLDEST;
    rig_open(&rig);
    rig.spool->ops->append(rig.spool, 0, rig_batch(RIG_LIVE, 1, RECORDS, WIDE));
    struct spool_item held = rig_expect(&rig, 0, 1, RECORDS);
    struct spool_item in_hand;
    uint64_t number = held.batch->number;
    assert_true(held.bytes > RECORDS * WIDE);
    rig.spool->ops->note_left(rig.spool, 0, &held, (const uint32_t[]){1, 3}, 2);
    put_down(&rig, &held, 2);
    rig.spool->ops->append(rig.spool, 0, rig_batch(RIG_LIVE, RECORDS + 1, 2 * RECORDS, WIDE));
    in_hand = rig_expect(&rig, 0, RECORDS + 1, 2 * RECORDS);
    assert_int_equal(rig.spool->ops->next_gone(rig.spool, 0), 0);
    uint64_t lost = 0;
    for (uint64_t i = 2; i < 200 && !lost; i++) {
        rig.spool->ops->append(
            rig.spool, 0, rig_batch(RIG_LIVE, i * RECORDS + 1, (i + 1) * RECORDS, WIDE));
        rig.spool->ops->flush(rig.spool, &err);
        lost = atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_FULL]);
    }
    assert_int_equal(lost % RECORDS, 2); /* and the rest of its segment, but not what is in hand */
    assert_int_equal(rig.spool->ops->next_gone(rig.spool, 0), number);
    assert_int_equal(rig.spool->ops->next_gone(rig.spool, 0), 0); /* once */
    assert_int_equal(rig_record(&in_hand, 0), RECORDS + 1);
    assert_int_equal(pick_up(&rig, &held), SPOOL_PICK_GONE);
    rig_ack(&rig, 0, &in_hand);
    rig_checkpoint(&rig, 0, "", true);
    rig_reopen(&rig);
    assert_int_equal(rig.backlogs[0].records % RECORDS, 0);
    rig_fini(&rig);
}

static void an_output_acks_what_made_room(void **state)
{
    (void)state;
    enum { WIDE = 1000, RECORDS = 8 };
    struct spool_rig rig;
    struct error err;
    rig_init(&rig);
    rig.store_settings.max_bytes = 512 * 1024;
    rig.settings.on_full = SPOOL_FULL_DROP_OLDEST;
    rig_open(&rig);
    struct spool_item held[200];
    size_t count = 0;
    uint64_t gone = 0;
    for (uint64_t i = 0; i < 200; i++) { /* all new batches are held */
        rig.spool->ops->append(
            rig.spool, 0, rig_batch(RIG_LIVE, i * RECORDS + 1, (i + 1) * RECORDS, WIDE));
        rig.spool->ops->flush(rig.spool, &err);
        held[count] = rig_expect(&rig, 0, i * RECORDS + 1, (i + 1) * RECORDS);
        put_down(&rig, &held[count++], RECORDS);
        while (rig.spool->ops->next_gone(rig.spool, 0)) {
            rig_ack(&rig, 0, &held[gone++]); /* the oldest, in order */
        }
    }
    assert_true(gone > 100 && gone < 200);
    rig_flush(&rig);
    while (rig.spool->ops->next_gone(rig.spool, 0)) {
        rig_ack(&rig, 0, &held[gone++]);
    }
    assert_int_equal(atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_FULL]), gone * RECORDS);
    for (size_t i = gone; i < count; i++) {
        assert_int_equal(pick_up(&rig, &held[i]), SPOOL_PICKED);
        assert_int_equal(rig_record(&held[i], 0), i * RECORDS + 1);
        rig_ack(&rig, 0, &held[i]);
    }
    rig_checkpoint(&rig, 0, "", true);
    rig_reopen(&rig);
    assert_int_equal(rig.backlogs[0].batches, 0);
    rig_fini(&rig);
}

static void a_restless_cursor_does_not_wait_for_long(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct spool_item item;
    rig_init(&rig);
    rig_open(&rig);
    rig.spool->ops->set_restless(rig.spool, 0, true);
    assert_int_equal(rig.spool->ops->next(rig.spool, 0, UINT64_MAX, &item), SPOOL_NOTHING);
    rig.spool->ops->set_restless(rig.spool, 0, false);
    rig_append(&rig, 0, 1, 1);
    rig_take(&rig, 0, 1, 1);
    rig_fini(&rig);
}

/* Runs that end one after the other while the first batch is held: no run settles more in advance
 * than the store can record. */
static void what_is_settled_early_is_bounded_over_runs(void **state)
{
    (void)state;
    enum { PER_RUN = STORE_EARLY_MAX / 2 + 100 };
    struct spool_rig rig;
    struct spool_item item;
    rig_init(&rig);
    rig_open(&rig);
    uint64_t number = 0;
    uint64_t acked = 0;
    for (int run = 0; run < 2; run++) {
        for (size_t i = 0; i < PER_RUN; i++) {
            number++;
            rig_append(&rig, 0, number, number);
        }
        rig_flush(&rig);
        struct spool_item held = rig_expect(&rig, 0, 1, 1);
        put_down(&rig, &held, 1);
        uint64_t may = run == 0 ? PER_RUN - 1 : STORE_EARLY_MAX - 1;
        for (; acked < may; acked++) {
            item = rig_next(&rig, 0);
            rig_ack(&rig, 0, &item);
        }
        rig_expect_nothing(&rig, 0);
        rig_checkpoint(&rig, 0, "", true);
        rig_reopen(&rig);
    }
    rig_take(&rig, 0, 1, 1);
    for (uint64_t i = acked + 2; i <= number; i++) {
        rig_take(&rig, 0, i, i);
    }
    rig_expect_nothing(&rig, 0);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_that_is_put_down_leaves_memory_and_is_read_again),
        cmocka_unit_test(another_output_still_gets_what_one_has_put_down),
        cmocka_unit_test(what_is_left_of_it_comes_after_a_crash),
        cmocka_unit_test(of_what_cannot_be_read_again_only_what_was_left_is_lost),
        cmocka_unit_test(of_what_makes_room_only_what_was_left_is_lost),
        cmocka_unit_test(an_output_acks_what_made_room),
        cmocka_unit_test(a_restless_cursor_does_not_wait_for_long),
        cmocka_unit_test(what_is_settled_early_is_bounded_over_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
