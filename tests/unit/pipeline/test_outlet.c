#include "outlet_rig.h"

/* After a restart a batch may contain delivered events in the middle of others, and then arrives in
 * two deliveries. */
static void a_checkpoint_stored_between_two_parts_of_a_batch_knows_the_first(void **state)
{
    (void)state;
    struct rig rig;
    struct error err = {0};
    setup(&rig, (const uint64_t[]){0, 20}, true);
    ledger_offer(rig.ledger, 0, 9, 0, false);
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    add_events(batch, 0, 3, 3);
    add_events(batch, 1, 5, 20); /* delivered before */
    add_events(batch, 0, 2, 5);
    add_events(batch, 1, 4, 24);
    rig.spool->ops->append(rig.spool, 0, batch);
    rig.spool->ops->close(rig.spool);
    assert_true(outlet_start(rig.outlet, &err));
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(rig.saves, 2);
    char *text = fake_output_text(rig.fake);
    assert_string_equal(text, "0\n0\n0\n0\n0\n1\n1\n1\n1\n");
    free(text);
    struct output_counts counts;
    ledger_look(rig.ledger, NULL, &counts);
    assert_int_equal(counts.acked, 9);
    assert_int_equal(counts.pending, 0);
    teardown(&rig);
}

/* Numbers of a session below the output's position say nothing about batches that waited before
 * them. */
static void what_was_had_is_left_out_of_later_batches_only(void **state)
{
    (void)state;
    struct rig rig;
    setup_behind(
        &rig, (const uint64_t[]){20, 20}, (const uint64_t[]){2, 1}, false, 1, false, SHORT_MS);
    add_batch(&rig, 0, 3, 3);
    add_batch(&rig, 1, 2, 20);
    add_batch(&rig, 0, 5, 8);
    add_batch(&rig, 0, 1, 21);
    add_batch(&rig, 1, 4, 9);
    run_to_the_end(&rig);
    char *text = fake_output_text(rig.fake);
    assert_string_equal(text, "0\n0\n0\n0\n");
    free(text);
    teardown(&rig);
}

/* Events that it delivered later say nothing about batches in between either. */
static void what_was_had_twice_is_left_out_as_it_was_each_time(void **state)
{
    (void)state;
    struct rig rig;
    setup_behind(
        &rig, (const uint64_t[]){10, 0}, (const uint64_t[]){1, 0}, false, 1, false, SHORT_MS);
    delivered_set(&rig.steps[0], 20, 3);
    add_batch(&rig, 0, 1, 5);
    add_batch(&rig, 0, 2, 10); /* delivered */
    add_batch(&rig, 0, 3, 15);
    add_batch(&rig, 0, 4, 18); /* delivered */
    add_batch(&rig, 0, 5, 21);
    run_to_the_end(&rig);
    char *text = fake_output_text(rig.fake);
    assert_string_equal(text, "0\n0\n0\n0\n0\n0\n0\n0\n0\n");
    free(text);
    teardown(&rig);
}

/* Losses of a batch count for the sessions of its records. */
static void what_is_lost_is_lost_to_its_session(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {.verdict = OUTPUT_MIXED, .delivers = 1, .rejects = 0x64},
        {.verdict = OUTPUT_MIXED, .rejects = 2}};
    /* Records 0 to 2 and 8 to 9 are of session 0, 3 to 7 of session 1. Records 2, 5 and 6 are
     * rejected, then the second of the rest, 3. */
    static const uint64_t lost[SESSIONS] = {1, 3};
    static const uint64_t from[SESSIONS] = {100, 200};
    struct rig rig;
    struct error err = {0};
    setup(&rig, (const uint64_t[]){0, 0}, false);
    fake_output_script(rig.fake, steps, 2);
    rig.warns = true;
    ledger_offer(rig.ledger, 0, 10, 0, false);
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    add_events(batch, 0, 3, 3);
    add_events(batch, 1, 5, 5);
    add_events(batch, 0, 2, 5);
    rig.spool->ops->append(rig.spool, 0, batch);
    rig.spool->ops->close(rig.spool);
    assert_true(outlet_start(rig.outlet, &err));
    assert_true(outlet_join(rig.outlet));
    losses_close(rig.losses);
    slab_queue_close(rig.queue);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        struct slab *slab = slab_queue_pop(rig.queue, 0);
        assert_non_null(slab);
        assert_int_equal(slab->session, i);
        assert_int_equal(slab->gap.count, lost[i]);
        assert_int_equal(slab->gap.from, from[i]);
        assert_string_equal(slab->gap.output, "fake");
        slab_destroy(slab);
    }
    assert_null(slab_queue_pop(rig.queue, 0));
    struct output_counts counts;
    ledger_look(rig.ledger, NULL, &counts);
    assert_int_equal(counts.dropped[OUTPUT_DROP_REJECTED], 4);
    assert_int_equal(counts.acked, 6);
    teardown(&rig);
}

/* A spool that remembers the rest of a batch. */
static struct buf noted;

static void on_note_left(struct spool *spool, size_t cursor, const struct spool_item *item,
    const uint32_t *records, size_t count)
{
    (void)spool;
    (void)cursor;
    (void)item;
    for (size_t i = 0; i < count; i++) {
        buf_printf(&noted, "%u ", (unsigned)records[i]);
    }
    buf_add_text(&noted, ";");
}

/* The next run would send all unsent events, whatever lies between them. */
static void what_is_left_of_a_batch_is_left_of_all_of_it(void **state)
{
    (void)state;
    const struct fake_step takes_one = {.verdict = OUTPUT_MIXED, .delivers = 1};
    const struct fake_step takes_all = {.verdict = OUTPUT_DELIVERED};
    const struct {
        struct fake_step steps[4];
        const char *noted;
    } cases[] = {
        {{takes_one, takes_all, takes_all}, "1 2 8 9 ;8 9 ;"},
        {{takes_all, takes_one, takes_all}, "9 ;"},
        {{takes_one, takes_all, takes_one, takes_all}, "1 2 8 9 ;8 9 ;9 ;"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        buf_init(&noted, 10000);
        setup_with(&rig, (const uint64_t[]){0, 20}, false, 2, true); /* no checkpoint of two */
        rig.warns = true;
        struct spool_ops ops = *rig.spool->ops;
        ops.note_left = on_note_left;
        rig.spool->ops = &ops;
        fake_output_script(rig.fake, cases[i].steps, 4);
        ledger_offer(rig.ledger, 0, 5, 0, false);
        struct batch *batch = batch_create(0, NULL, 0);
        assert_non_null(batch);
        add_events(batch, 0, 3, 3);
        add_events(batch, 1, 5, 20); /* delivered before */
        add_events(batch, 0, 2, 5);
        rig.spool->ops->append(rig.spool, 0, batch);
        run_to_the_end(&rig);
        assert_span(buf_span(&noted), cases[i].noted);
        teardown(&rig);
        buf_fini(&noted);
    }
}

static void what_is_refused_is_kept_and_is_no_loss(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {.verdict = OUTPUT_MIXED, .delivers = 1, .rejects = 2, .reason = "wrong type"},
        {.verdict = OUTPUT_REJECTED}};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 2);
    add_batch(&rig, 1, 3, 3);
    run_to_the_end(&rig);
    assert_span(buf_span(&rig.kept), "fake 400 wrong type  1;fake 0   1;");
    struct output_counts counts = counts_of(&rig);
    assert_int_equal(counts.acked, 1);
    assert_int_equal(counts.dead_lettered, 2);
    assert_int_equal(counts.dropped[OUTPUT_DROP_REJECTED], 0);
    assert_span(buf_span(&rig.warnings), "refused;retry;");
    /* No gap comes. */
    losses_close(rig.losses);
    slab_queue_close(rig.queue);
    assert_null(slab_queue_pop(rig.queue, 0));
    teardown(&rig);
}

/* Any part of a batch is sent, any number of times. */
static void a_letter_says_which_record_it_is_of(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_REJECTED},
        {.verdict = OUTPUT_MIXED, .delivers = 1, .rejects = 2}, {.verdict = OUTPUT_REJECTED}};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 20}, false, 1, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 3);
    add_batch(&rig, 0, 2, 2);
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    ledger_offer(rig.ledger, 0, 3, 0, false);
    add_events(batch, 1, 5, 20); /* delivered before: records 2 to 6 */
    add_events(batch, 0, 3, 5);
    rig.spool->ops->append(rig.spool, 0, batch);
    run_to_the_end(&rig);
    assert_span(buf_span(&rig.kept_records), "0 1 8 9 ");
    teardown(&rig);
}

static void what_cannot_be_kept_is_tried_again(void **state)
{
    (void)state;
    static const struct fake_step refuses = {.verdict = OUTPUT_REJECTED};
    const struct fake_step steps[] = {refuses, refuses, refuses};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.warns = true;
    rig.keeps_that_fail = 2;
    fake_output_script(rig.fake, steps, 3);
    add_batch(&rig, 0, 2, 2);
    run_to_the_end(&rig);
    assert_span(buf_span(&rig.kept), "fake 0   0;fake 0   0;");
    struct output_counts counts = counts_of(&rig);
    assert_int_equal(counts.dead_lettered, 2);
    assert_int_equal(counts.retries, 2);
    teardown(&rig);
}

/* The queue and the spool do that, too. */
static void letters_of_recorded_sessions_alone_wait_for_room(void **state)
{
    (void)state;
    static const struct fake_step refuses = {.verdict = OUTPUT_REJECTED};
    const struct fake_step steps[] = {refuses, refuses, refuses};
    struct rig rig;
    rig_recorded[1] = true;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig_recorded[1] = false;
    rig.warns = true;
    fake_output_script(rig.fake, steps, 3);
    add_batch(&rig, 0, 2, 2);
    add_batch(&rig, 1, 3, 3);
    struct batch *both = batch_create(0, NULL, 0);
    assert_non_null(both);
    ledger_offer(rig.ledger, 0, 9, 0, false);
    add_events(both, 0, 4, 6);
    add_events(both, 1, 5, 8);
    rig.spool->ops->append(rig.spool, 0, both);
    run_to_the_end(&rig);
    assert_int_equal(counts_of(&rig).dead_lettered, 2 + 3 + 4 + 5);
    assert_int_equal(rig.waits, 3 + 5);
    teardown(&rig);
}

static void what_an_earlier_run_may_have_sent_is_repeated(void **state)
{
    (void)state;
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.repeats[1] = true;
    add_batch(&rig, 0, 1, 1);
    add_batch(&rig, 1, 1, 1);
    add_batch(&rig, 0, 1, 2);
    run_to_the_end(&rig);
    assert_int_equal(fake_output_counts(rig.fake).sends, 3);
    assert_int_equal(fake_output_counts(rig.fake).repeated, 1);
    teardown(&rig);
}

static void unexpected_duplicates_are_counted_and_warned_of(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_DELIVERED, .duplicates = 3}};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 5, 5);
    add_batch(&rig, 0, 5, 10);
    run_to_the_end(&rig);
    assert_int_equal(counts_of(&rig).unexpected_duplicates, 3);
    assert_int_equal(counts_of(&rig).acked, 10);
    assert_span(buf_span(&rig.warnings), "duplicates;");
    teardown(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_stored_between_two_parts_of_a_batch_knows_the_first),
        cmocka_unit_test(what_was_had_is_left_out_of_later_batches_only),
        cmocka_unit_test(what_was_had_twice_is_left_out_as_it_was_each_time),
        cmocka_unit_test(what_is_lost_is_lost_to_its_session),
        cmocka_unit_test(what_is_left_of_a_batch_is_left_of_all_of_it),
        cmocka_unit_test(what_is_refused_is_kept_and_is_no_loss),
        cmocka_unit_test(a_letter_says_which_record_it_is_of),
        cmocka_unit_test(what_cannot_be_kept_is_tried_again),
        cmocka_unit_test(letters_of_recorded_sessions_alone_wait_for_room),
        cmocka_unit_test(what_an_earlier_run_may_have_sent_is_repeated),
        cmocka_unit_test(unexpected_duplicates_are_counted_and_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
