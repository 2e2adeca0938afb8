#include "support/await.h"
#include "support/pipeline_rig.h"

/* Losses of outputs become gaps. Their sum is exactly the number that the ledger counts as
 * dropped. */

/* Gaps told ${taker} of all events that ${loser} dropped for this reason. */
static void check_told(struct rig *rig, size_t loser, enum output_drop reason, size_t taker)
{
    char what[64];
    snprintf(what, sizeof(what), "output/%s", ledger_output_drop_reason(reason));
    assert_int_equal(gap_sum(rig, taker, what, rig->outputs[loser].name),
        output_counts(rig, loser).dropped[reason]);
}

static size_t count_gaps(struct rig *rig, size_t output)
{
    char *text = fake_output_text(rig->fakes[output]);
    size_t count = 0;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        count += strncmp(line, "gap ", 4) == 0;
    }
    free(text);
    return count;
}

static void what_a_destination_refuses_is_told_to_all_outputs(void **state)
{
    (void)state;
    /* The first batch has events. Of later batches, which may be a gap, only the second and later
     * records are refused. */
    static const struct fake_step steps[] = {{.verdict = OUTPUT_REJECTED},
        {.verdict = OUTPUT_RETRY}, {.verdict = OUTPUT_MIXED, .delivers = 0x5555, .rejects = 0x2a}};
    struct rig rig;
    rig_init(&rig, 2, 2, (const size_t[]){0, 0, 1}, 3);
    rig.settings.worker_count = 2;
    rig_script(&rig, 0, steps, sizeof(steps) / sizeof(steps[0]));
    rig_start(&rig);
    for (size_t i = 0; i < 100; i++) {
        assert_true(rig_push(&rig, i % 2, 300, 0));
    }
    rig_finish(&rig);
    struct output_counts counts = output_counts(&rig, 0);
    assert_true(counts.dropped[OUTPUT_DROP_REJECTED] > 3);
    assert_int_equal(counts.acked + counts.dropped[OUTPUT_DROP_REJECTED], 30000);
    for (size_t i = 0; i < 3; i++) {
        check_told(&rig, 0, OUTPUT_DROP_REJECTED, i);
        assert_int_equal(output_counts(&rig, i).own_acked, count_gaps(&rig, i));
    }
    assert_int_equal(
        session_counts(&rig, 0).gaps + session_counts(&rig, 1).gaps, count_gaps(&rig, 2));
    rig_fini(&rig);
}

static void each_output_tells_of_its_own_losses(void **state)
{
    (void)state;
    static const struct fake_step refuses_all[] = {{.verdict = OUTPUT_REJECTED}};
    static const struct fake_step refuses_some[] = {
        {.verdict = OUTPUT_MIXED, .delivers = 1, .rejects = 0xfe}};
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig.streams[0].max_events = 100;
    rig_script(&rig, 0, refuses_all, 1);
    rig_script(&rig, 1, refuses_some, 1);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 1000, 0));
    rig_finish(&rig);
    for (size_t loser = 0; loser < 2; loser++) {
        for (size_t taker = 0; taker < 2; taker++) {
            check_told(&rig, loser, OUTPUT_DROP_REJECTED, taker);
        }
    }
    rig_fini(&rig);
}

static void what_grew_too_old_is_told(void **state)
{
    (void)state;
    static const struct fake_step fails[] = {
        {.verdict = OUTPUT_RETRY}, {.verdict = OUTPUT_MIXED, .delivers = 1, .rejects = 2}};
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig.outputs[0].retry.max_age_ns = 1;
    rig_script(&rig, 0, fails, 2);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 5000, 0));
    rig_finish(&rig);
    assert_true(output_counts(&rig, 0).dropped[OUTPUT_DROP_TOO_OLD] > 0);
    check_told(&rig, 0, OUTPUT_DROP_TOO_OLD, 0);
    check_told(&rig, 0, OUTPUT_DROP_TOO_OLD, 1);
    check_told(&rig, 0, OUTPUT_DROP_REJECTED, 1);
    rig_fini(&rig);
}

static void what_an_output_that_has_ended_does_not_take_is_told_to_the_others(void **state)
{
    (void)state;
    static const struct {
        struct fake_step dies;
        bool keeps; /* positions */
        bool told;
    } cases[] = {{{.verdict = OUTPUT_FATAL}, false, true},
        {{.verdict = OUTPUT_FATAL, .closed = true}, false, false},
        {{.verdict = OUTPUT_FATAL}, true, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
        rig.settings.save = cases[i].keeps ? on_save : NULL;
        rig_script(&rig, 0, &cases[i].dies, 1);
        rig_start(&rig);
        assert_true(rig_push(&rig, 0, 5000, 0));
        rig_finish(&rig);
        assert_int_equal(output_counts(&rig, 0).dropped[OUTPUT_DROP_ENDED], 5000);
        assert_int_equal(gap_sum(&rig, 1, "output/ended", "a"), cases[i].told ? 5000 : 0);
        rig_fini(&rig);
    }
}

/* The first of two outputs refuses all of 5000 events, in batches of 100. */
static void refuse_all(struct rig *rig, uint64_t max_age_ns, uint64_t gap_age_ns)
{
    enum { STEPS = 1000 };
    static struct fake_step refuses[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        refuses[i].verdict = OUTPUT_REJECTED;
    }
    rig_init(rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig->streams[0].max_events = 100;
    rig->streams[0].max_age_ns = max_age_ns ? max_age_ns : rig->streams[0].max_age_ns;
    rig->settings.gap_age_ns = gap_age_ns;
    rig_script(rig, 0, refuses, STEPS);
    rig_start(rig);
    assert_true(rig_push(rig, 0, 5000, 0));
    rig_finish(rig);
}

static void gaps_that_are_refused_make_no_gaps(void **state)
{
    (void)state;
    struct rig rig;
    refuse_all(&rig, UINT64_C(3600) * 1000000000, 1);
    struct output_counts counts = output_counts(&rig, 0);
    assert_int_equal(counts.dropped[OUTPUT_DROP_REJECTED], 5000);
    assert_true(counts.own_dropped > 0);
    assert_int_equal(counts.own_dropped, counts.own_offered);
    check_told(&rig, 0, OUTPUT_DROP_REJECTED, 1);
    assert_int_equal(count_gaps(&rig, 1), counts.own_offered);
    assert_true(counts.own_offered <= 51); /* a gap per batch, and what is open at the end */
    rig_fini(&rig);
}

static void one_gap_is_open_at_a_time(void **state)
{
    (void)state;
    struct rig rig;
    refuse_all(&rig, 0, UINT64_C(3600) * 1000000000);
    check_told(&rig, 0, OUTPUT_DROP_REJECTED, 1);
    assert_int_equal(count_gaps(&rig, 1), 2); /* the first at once, the rest at the end */
    rig_fini(&rig);
}

static void a_stop_tells_running_outputs_what_was_left_of_another(void **state)
{
    (void)state;
    for (int keeps = 0; keeps < 2; keeps++) {
        struct rig rig;
        rig_init(&rig, 2, 2, (const size_t[]){0, 0, 1}, 3);
        rig.settings.save = keeps ? on_save : NULL;
        rig.sessions[1].replayable = false; /* none of its events comes again */
        rig_script(&rig, 0, NULL, 0);
        fake_output_hold(rig.fakes[0]);
        rig_start(&rig);
        assert_true(rig_push(&rig, 0, 7000, 0));
        assert_true(rig_push(&rig, 1, 10, 0));
        pipeline_finish_source(rig.pipeline, 0, false);
        pipeline_finish_source(rig.pipeline, 1, false);
        fake_output_wait_records(rig.fakes[1], 7010);
        fake_output_wait_records(rig.fakes[2], 7010);
        pipeline_cancel(rig.pipeline);
        assert_true(pipeline_drain(rig.pipeline));
        check_ledger(&rig);
        struct output_counts counts = output_counts(&rig, 0);
        assert_int_equal(counts.dropped[OUTPUT_DROP_STOPPED], 7010);
        assert_true(counts.own_dropped > 0); /* it also dropped its gaps */
        assert_int_equal(counts.own_dropped, counts.own_offered);
        for (size_t i = 1; i < 3; i++) {
            assert_int_equal(gap_sum(&rig, i, "output/stopped", "a"), keeps ? 10 : 7010);
        }
        rig_fini(&rig);
    }
}

static void a_stop_tells_what_was_never_decoded(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 2, (const size_t[]){0, 1}, 2);
    rig.settings.memory_bytes = 8 * 1024 * 1024;
    rig.settings.save = NULL;
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = 1000000, .width = 2000};
    struct plat_thread *thread = start_feeding(&feeder);
    wait_until_full(&rig);
    pipeline_cancel(rig.pipeline);
    plat_thread_join(thread);
    pipeline_finish_source(rig.pipeline, 0, true);
    assert_true(pipeline_drain(rig.pipeline));
    check_ledger(&rig);
    uint64_t undecoded = session_counts(&rig, 0).dropped[SESSION_DROP_STOPPED];
    assert_true(undecoded > 0);
    assert_int_equal(gap_sum(&rig, 1, "queue/stopped", NULL), undecoded);
    check_told(&rig, 0, OUTPUT_DROP_STOPPED, 1);
    check_told(&rig, 1, OUTPUT_DROP_STOPPED, 1);
    rig_fini(&rig);
}

static void the_gaps_of_one_run_move_no_position(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_REJECTED}};
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.resume[0] = 100;
    rig.settings.resume = rig.resume;
    rig_script(&rig, 0, steps, 1);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 150, 0));
    rig_finish(&rig);
    assert_true(has_line(&rig, 0, "gap output/rejected 50 #0 of a\n"));
    uint64_t sequences[MAX_SESSIONS + 1] = {0};
    struct buf checkpoint;
    buf_init(&checkpoint, 1000);
    outlet_progress(pipeline_outlet(rig.pipeline, 0), 0, sequences, &checkpoint);
    assert_int_equal(sequences[0], 150);
    buf_fini(&checkpoint);
    rig_fini(&rig);
}

static void retries_count_while_they_happen(void **state)
{
    (void)state;
    enum { STEPS = 20 };
    static struct fake_step fails[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        fails[i].verdict = OUTPUT_RETRY;
    }
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.outputs[0].retry = (struct delivery_retry){.min_ms = 3600 * 1000, .max_ms = 3600 * 1000};
    rig_script(&rig, 0, fails, STEPS);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10, 0));
    pipeline_finish_source(rig.pipeline, 0, false);
    AWAIT(output_counts(&rig, 0).retries > 0);
    assert_int_equal(output_counts(&rig, 0).pending, 10);
    pipeline_cancel(rig.pipeline);
    assert_true(pipeline_drain(rig.pipeline));
    check_ledger(&rig);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_destination_refuses_is_told_to_all_outputs),
        cmocka_unit_test(each_output_tells_of_its_own_losses),
        cmocka_unit_test(what_grew_too_old_is_told),
        cmocka_unit_test(what_an_output_that_has_ended_does_not_take_is_told_to_the_others),
        cmocka_unit_test(gaps_that_are_refused_make_no_gaps),
        cmocka_unit_test(one_gap_is_open_at_a_time),
        cmocka_unit_test(a_stop_tells_running_outputs_what_was_left_of_another),
        cmocka_unit_test(a_stop_tells_what_was_never_decoded),
        cmocka_unit_test(the_gaps_of_one_run_move_no_position),
        cmocka_unit_test(retries_count_while_they_happen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
