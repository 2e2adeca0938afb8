#include "support/await.h"
#include "support/pipeline_rig.h"

static void the_ledger_balance_at_every_moment_under_faults(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.refuses_connect = true}, {.verdict = OUTPUT_RETRY},
        {.verdict = OUTPUT_MIXED, .delivers = 0x5555, .rejects = 0x2a}, {.verdict = OUTPUT_RETRY},
        {.verdict = OUTPUT_RECONNECT}, {.refuses_connect = true}, {.verdict = OUTPUT_DELIVERED},
        {.verdict = OUTPUT_REJECTED}, {.verdict = OUTPUT_MIXED, .delivers = UINT64_MAX}};
    struct rig rig;
    rig_init(&rig, 2, 2, (const size_t[]){0, 1, 1}, 3);
    rig.settings.worker_count = 2;
    rig_script(&rig, 0, steps, sizeof(steps) / sizeof(steps[0]));
    rig_script(&rig, 1, steps + 1, 5);
    rig_start(&rig);
    struct feeder feeders[2] = {{.rig = &rig, .session = 0, .count = 50000},
        {.rig = &rig, .session = 1, .count = 50000, .width = 90}};
    struct plat_thread *threads[2] = {start_feeding(&feeders[0]), start_feeding(&feeders[1])};
    while (output_counts(&rig, 2).acked < 50000) {
        check_ledger(&rig);
    }
    plat_thread_join(threads[0]);
    plat_thread_join(threads[1]);
    rig_finish(&rig);
    struct output_counts counts = output_counts(&rig, 0);
    assert_int_equal(counts.offered, 100000);
    assert_true(counts.dropped[OUTPUT_DROP_REJECTED] > 3);
    assert_true(counts.retries >= 6);
    assert_int_equal(fake_output_counts(rig.fakes[0]).records, counts.acked + counts.own_acked);
    assert_int_equal(fake_output_counts(rig.fakes[0]).rejected,
        counts.dropped[OUTPUT_DROP_REJECTED] + counts.own_dropped);
    check_received(&rig, 2, 0, 1, 50000);
    check_received(&rig, 2, 1, 1, 50000);
    rig_fini(&rig);
}

static void a_blocked_output_does_not_delay_another(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 30000, 0));
    pipeline_finish_source(rig.pipeline, 0, false);
    fake_output_wait_records(rig.fakes[1], 29000); /* the rest may be in open slabs */
    assert_int_equal(fake_output_counts(rig.fakes[0]).records, 0);
    check_ledger(&rig);
    fake_output_let_go(rig.fakes[0]);
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 30000);
    check_received(&rig, 1, 0, 1, 30000);
    rig_fini(&rig);
}

static void memory_stays_in_its_budget_while_an_output_is_blocked(void **state)
{
    (void)state;
    enum { MEMORY = 16 * 1024 * 1024, EVENTS = 100000, WIDTH = 1000 };
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.settings.memory_bytes = MEMORY;
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = EVENTS, .width = WIDTH}; /* 100 MB of text */
    struct plat_thread *thread = start_feeding(&feeder);
    struct spool_usage usage = wait_until_full(&rig);
    assert_true(usage.bytes + pipeline_queue_bytes(rig.pipeline) <= MEMORY);
    check_ledger(&rig);
    fake_output_let_go(rig.fakes[0]);
    plat_thread_join(thread);
    assert_true(feeder.went_on);
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, EVENTS);
    rig_fini(&rig);
}

/* Three outputs over two streams, with several workers each: one hangs, one cannot be reached, one
 * refuses because of its set-up. */
static void memory_stays_in_its_budget_while_every_output_is_down(void **state)
{
    (void)state;
    enum { MEMORY = 24 * 1024 * 1024, EVENTS = 100000, WIDTH = 1000, STEPS = 20000 };
    struct fake_step *wrong = calloc(STEPS, sizeof(*wrong));
    struct fake_step *gone = calloc(STEPS, sizeof(*gone));
    assert_true(wrong && gone);
    for (size_t i = 0; i < STEPS; i++) {
        wrong[i] = (struct fake_step){.verdict = OUTPUT_RETRY, .degraded = true};
        gone[i] = (struct fake_step){.verdict = OUTPUT_RECONNECT, .wait_ms = 1};
    }
    struct rig rig;
    rig_init(&rig, 1, 2, (const size_t[]){0, 0, 1}, 3);
    rig.settings.memory_bytes = MEMORY;
    for (size_t i = 0; i < 3; i++) {
        rig.outputs[i].workers = 2;
        rig.outputs[i].retry.max_ms = 100;
        rig_script(&rig, i, i == 1 ? wrong : gone, i ? STEPS : 0);
    }
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = EVENTS, .width = WIDTH};
    struct plat_thread *thread = start_feeding(&feeder);
    struct spool_usage usage = wait_until_full(&rig);
    assert_true(usage.bytes + pipeline_queue_bytes(rig.pipeline) <= MEMORY);
    check_ledger(&rig);
    AWAIT(output_counts(&rig, 1).degraded);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(output_counts(&rig, i).acked, 0);
        fake_output_script(rig.fakes[i], NULL, 0);
    }
    fake_output_let_go(rig.fakes[0]);
    plat_thread_join(thread);
    assert_true(feeder.went_on);
    rig_finish(&rig);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fake_output_counts(rig.fakes[i]).records, EVENTS);
        assert_false(output_counts(&rig, i).degraded);
    }
    rig_fini(&rig);
    free(wrong);
    free(gone);
}

static atomic_uint refused;

static void refuse_event(struct event_writer *writer, const struct event *event, struct buf *out)
{
    (void)writer;
    (void)event;
    out->failed = true;
    atomic_fetch_add(&refused, 1);
}

static void a_stop_ends_the_wait_for_memory_to_write_an_event(void **state)
{
    (void)state;
    struct event_format format = fake_format;
    format.event = refuse_event;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.streams[0].shape.format = &format;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 1000, 0));
    pipeline_finish_source(rig.pipeline, 0, false);
    AWAIT(atomic_load(&refused) > 4); /* it is tried again */
    pipeline_cancel(rig.pipeline);
    assert_true(pipeline_drain(rig.pipeline));
    check_ledger(&rig);
    struct session_counts counts = session_counts(&rig, 0);
    assert_int_equal(counts.received, 1000);
    assert_int_equal(counts.dropped[SESSION_DROP_STOPPED], 1000);
    rig_fini(&rig);
}

static void a_stop_gives_up_on_an_output_that_does_not_answer(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10000, 0));
    pipeline_finish_source(rig.pipeline, 0, false);
    fake_output_wait_records(rig.fakes[1], 10000);
    pipeline_cancel(rig.pipeline);
    assert_true(pipeline_drain(rig.pipeline));
    check_ledger(&rig);
    struct output_counts counts = output_counts(&rig, 0);
    assert_int_equal(counts.acked, 0);
    assert_int_equal(counts.dropped[OUTPUT_DROP_STOPPED], 10000);
    assert_int_equal(output_counts(&rig, 1).acked, 10000);
    /* The next run delivers what this one did not. */
    uint64_t sequences[MAX_SESSIONS + 1];
    struct buf checkpoint;
    buf_init(&checkpoint, 1000);
    outlet_progress(pipeline_outlet(rig.pipeline, 0), 0, sequences, &checkpoint);
    assert_int_equal(sequences[0], 0);
    outlet_progress(pipeline_outlet(rig.pipeline, 1), 0, sequences, &checkpoint);
    assert_int_equal(sequences[0], 10000);
    buf_fini(&checkpoint);
    rig_fini(&rig);
}

static void a_stop_releases_a_source_that_waits_for_room(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.settings.memory_bytes = 8 * 1024 * 1024;
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = 1000000, .width = 2000};
    struct plat_thread *thread = start_feeding(&feeder);
    wait_until_full(&rig);
    pipeline_cancel(rig.pipeline);
    plat_thread_join(thread);
    assert_false(feeder.went_on);
    pipeline_finish_source(rig.pipeline, 0, true);
    assert_true(pipeline_drain(rig.pipeline));
    check_ledger(&rig);
    struct session_counts counts = session_counts(&rig, 0);
    assert_int_equal(counts.received, pipeline_source_counts(rig.pipeline, 0).seen);
    assert_false(pipeline_source_counts(rig.pipeline, 0).complete);
    assert_true(counts.dropped[SESSION_DROP_STOPPED] > 0);
    rig_fini(&rig);
}

static void an_output_that_has_ended_takes_nothing_and_delays_no_other(void **state)
{
    (void)state;
    static const struct fake_step dies[] = {
        {.verdict = OUTPUT_DELIVERED}, {.verdict = OUTPUT_FATAL, .closed = true}};
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig_script(&rig, 0, dies, 2);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 30000, 0));
    rig_finish(&rig);
    struct output_counts counts = output_counts(&rig, 0);
    assert_true(counts.acked > 0);
    assert_int_equal(counts.acked + counts.dropped[OUTPUT_DROP_ENDED], 30000);
    assert_int_equal(atomic_load(&rig.ended), 1);
    assert_int_equal(atomic_load(&rig.closed), 1);
    assert_true(outlet_closed(pipeline_outlet(rig.pipeline, 0)));
    check_received(&rig, 1, 0, 1, 30000);
    rig_fini(&rig);
}

static void outputs_go_on_where_each_had_come_to(void **state)
{
    (void)state;
    for (size_t workers = 1; workers < 4; workers++) {
        struct rig rig;
        rig_init(&rig, 2, 2, (const size_t[]){0, 0, 1, 0}, 4);
        rig.settings.worker_count = workers;
        static const uint64_t had[2][4] = {{5000, 12345, 7000, 0}, {0, 19999, 20000, 3}};
        for (size_t s = 0; s < 2; s++) {
            for (size_t o = 0; o < 4; o++) {
                rig.resume[s * 4 + o] = had[s][o];
            }
        }
        rig.settings.resume = rig.resume;
        rig_start(&rig);
        struct feeder feeders[2] = {{.rig = &rig, .session = 0, .count = 20000},
            {.rig = &rig, .session = 1, .count = 20000}};
        struct plat_thread *threads[2] = {start_feeding(&feeders[0]), start_feeding(&feeders[1])};
        plat_thread_join(threads[0]);
        plat_thread_join(threads[1]);
        rig_finish(&rig);
        for (size_t o = 0; o < 4; o++) {
            for (size_t s = 0; s < 2; s++) {
                check_received(&rig, o, s, had[s][o] + 1, 20000);
            }
            assert_int_equal(output_counts(&rig, o).offered, 40000 - had[0][o] - had[1][o]);
            uint64_t sequences[MAX_SESSIONS + 1];
            struct buf checkpoint;
            buf_init(&checkpoint, 1000);
            outlet_progress(pipeline_outlet(rig.pipeline, o), 0, sequences, &checkpoint);
            assert_int_equal(sequences[0], 20000);
            assert_int_equal(sequences[1], 20000);
            buf_fini(&checkpoint);
        }
        rig_fini(&rig);
    }
}

/* Delivering again from the state stored at any moment gives every event once. */
static void a_stored_position_and_its_checkpoint_belong_together(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = 50000};
    struct plat_thread *thread = start_feeding(&feeder);
    uint64_t change = 0;
    uint64_t sequences[MAX_SESSIONS + 1] = {0};
    size_t looks = 0;
    while (sequences[0] < 45000) {
        struct buf checkpoint;
        buf_init(&checkpoint, 100);
        uint64_t now = outlet_progress(
            pipeline_outlet(rig.pipeline, 0), change, sequences, &checkpoint);
        if (now != change && checkpoint.size) {
            /* The fake's checkpoint is its length: the lines 0:1 … 0:N. */
            size_t bytes = 0;
            for (uint64_t i = 1; i <= sequences[0]; i++) {
                bytes += (size_t)(4 + (i > 9) + (i > 99) + (i > 999) + (i > 9999));
            }
            buf_add_byte(&checkpoint, 0);
            assert_int_equal(strtoull((char *)checkpoint.data, NULL, 10), bytes);
            looks++;
        }
        change = now;
        buf_fini(&checkpoint);
    }
    assert_true(looks > 0);
    plat_thread_join(thread);
    rig_finish(&rig);
    rig_fini(&rig);
}

static void a_live_session_loses_events_but_never_the_count_of_them(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 2, (const size_t[]){0, 1}, 2);
    rig.sessions[0].replayable = false;
    rig.settings.memory_bytes = 8 * 1024 * 1024;
    rig.settings.worker_count = 2;
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    for (int i = 0; i < 30; i++) {
        assert_true(rig_push(&rig, 0, 1000, 1000)); /* a megabyte of text, each time */
        struct input_sink sink;
        pipeline_sink(rig.pipeline, 0, &sink);
        sink.pause(sink.self);
        check_ledger(&rig);
    }
    fake_output_let_go(rig.fakes[0]);
    assert_true(rig_push(&rig, 0, 10000, 1000));
    rig_finish(&rig);
    struct session_counts counts = session_counts(&rig, 0);
    uint64_t dropped = counts.dropped[SESSION_DROP_FULL];
    assert_int_equal(counts.received, pipeline_source_counts(rig.pipeline, 0).seen);
    assert_int_equal(counts.accepted + dropped, counts.received);
    assert_true(dropped > 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(output_counts(&rig, i).acked, counts.accepted);
        assert_int_equal(output_counts(&rig, i).own_acked, counts.gaps);
        char *text = fake_output_text(rig.fakes[i]);
        uint64_t in_gaps = 0;
        for (char *at = text; (at = strstr(at, "gap queue/full ")); at++) {
            in_gaps += strtoull(at + strlen("gap queue/full "), NULL, 10);
        }
        free(text);
        assert_int_equal(in_gaps, dropped);
    }
    rig_fini(&rig);
}

/* Like the agent: a save takes the state of every output. */
static bool save_all(void *self, struct error *err)
{
    struct rig *rig = self;
    (void)err;
    for (size_t i = 0; i < rig->settings.output_count; i++) {
        uint64_t sequences[MAX_SESSIONS + 1] = {0};
        struct buf checkpoint;
        buf_init(&checkpoint, 100);
        outlet_progress(pipeline_outlet(rig->pipeline, i), 0, sequences, &checkpoint);
        assert_int_equal(sequences[0], 100);
        buf_fini(&checkpoint);
    }
    atomic_fetch_add(&rig->saves, 1);
    return true;
}

static void outputs_that_save_as_they_end_find_the_state_of_all(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0, 0}, 3);
    rig.settings.save = save_all;
    for (size_t i = 0; i < 3; i++) {
        rig.fake_settings[i].saves_last = true;
    }
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 100, 0));
    rig_finish(&rig);
    rig_fini(&rig);
    assert_int_equal(rig.saves, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ledger_balance_at_every_moment_under_faults),
        cmocka_unit_test(a_blocked_output_does_not_delay_another),
        cmocka_unit_test(memory_stays_in_its_budget_while_an_output_is_blocked),
        cmocka_unit_test(memory_stays_in_its_budget_while_every_output_is_down),
        cmocka_unit_test(a_stop_ends_the_wait_for_memory_to_write_an_event),
        cmocka_unit_test(a_stop_gives_up_on_an_output_that_does_not_answer),
        cmocka_unit_test(a_stop_releases_a_source_that_waits_for_room),
        cmocka_unit_test(an_output_that_has_ended_takes_nothing_and_delays_no_other),
        cmocka_unit_test(outputs_go_on_where_each_had_come_to),
        cmocka_unit_test(a_stored_position_and_its_checkpoint_belong_together),
        cmocka_unit_test(a_live_session_loses_events_but_never_the_count_of_them),
        cmocka_unit_test(outputs_that_save_as_they_end_find_the_state_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
