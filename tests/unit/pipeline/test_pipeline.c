#include "support/pipeline_rig.h"

static void every_event_reaches_every_output_in_order(void **state)
{
    (void)state;
    static const size_t workers[] = {1, 2, 5};
    for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
        struct rig rig;
        rig_init(&rig, 1, 2, (const size_t[]){0, 0, 1}, 3);
        rig.settings.worker_count = workers[w];
        rig_start(&rig);
        assert_true(rig_push(&rig, 0, 20000, 0));
        rig_finish(&rig);
        for (size_t i = 0; i < 3; i++) {
            check_received(&rig, i, 0, 1, 20000);
            struct output_counts counts = output_counts(&rig, i);
            assert_int_equal(counts.offered, 20000);
            assert_int_equal(counts.acked, 20000);
        }
        struct session_counts counts = session_counts(&rig, 0);
        assert_int_equal(counts.received, 20000);
        assert_int_equal(counts.accepted, 20000);
        assert_int_equal(counts.decode.raw, 20000);
        assert_int_equal(pipeline_source_counts(rig.pipeline, 0).seen, 20000);
        rig_fini(&rig);
    }
}

static void nothing_at_all_is_delivered_as_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig_start(&rig);
    rig_finish(&rig);
    assert_int_equal(output_counts(&rig, 0).offered, 0);
    rig_fini(&rig);
}

static void a_slab_that_becomes_very_large_goes_out_in_parts(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig.settings.worker_count = 3;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 300, 100000));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 300);
    check_received(&rig, 1, 0, 1, 300);
    rig_fini(&rig);
}

static void several_workers_of_an_output_share_its_batches(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY}, {.verdict = OUTPUT_RETRY},
        {.verdict = OUTPUT_RECONNECT}, {.verdict = OUTPUT_RETRY}};
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.outputs[0].workers = 4;
    rig_script(&rig, 0, steps, 4);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 50000, 0));
    rig_finish(&rig);
    assert_int_equal(output_counts(&rig, 0).acked, 50000);
    assert_int_equal(fake_output_counts(rig.fakes[0]).created, 4);
    uint64_t sequences[MAX_SESSIONS + 1];
    struct buf checkpoint;
    buf_init(&checkpoint, 100);
    outlet_progress(pipeline_outlet(rig.pipeline, 0), 0, sequences, &checkpoint);
    assert_int_equal(sequences[0], 50000);
    buf_fini(&checkpoint);
    rig_fini(&rig);
}

static void batches_keep_to_their_limits(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.streams[0].max_events = 7;
    rig.streams[0].max_age_ns = UINT64_C(3600) * 1000000000;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 70000, 0));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 70000);
    assert_int_equal(fake_output_counts(rig.fakes[0]).sends, 10000);
    rig_fini(&rig);

    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.streams[0].max_bytes = 1000; /* nine lines of 101 bytes */
    rig.streams[0].max_age_ns = UINT64_C(3600) * 1000000000;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 9000, 100));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 9000);
    assert_int_equal(fake_output_counts(rig.fakes[0]).sends, 1000);
    rig_fini(&rig);
}

static void a_record_longer_than_a_batch_is_a_batch(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.streams[0].max_bytes = 1000;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10, 5000));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 10);
    assert_int_equal(fake_output_counts(rig.fakes[0]).sends, 10);
    rig_fini(&rig);
}

static void age_seals_a_batch_that_does_not_fill(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10, 0));
    struct input_sink sink;
    pipeline_sink(rig.pipeline, 0, &sink);
    sink.pause(sink.self);
    fake_output_wait_records(rig.fakes[0], 10); /* while the source continues */
    rig_finish(&rig);
    rig_fini(&rig);
}

static void gaps_go_through_every_stream_and_are_counted_apart(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 2, (const size_t[]){0, 1}, 2);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10, 0));
    struct input_sink sink;
    pipeline_sink(rig.pipeline, 0, &sink);
    struct gap gap = {
        .stage = "etw", .reason = "events_lost", .unit = "events", .count = 12, .exact = true};
    sink.gap(sink.self, &gap);
    assert_true(rig_push(&rig, 0, 10, 0));
    rig_finish(&rig);
    for (size_t i = 0; i < 2; i++) {
        assert_true(has_line(&rig, i, "0:10\ngap etw/events_lost 12 #11\n0:12\n"));
        struct output_counts counts = output_counts(&rig, i);
        assert_int_equal(counts.offered, 20);
        assert_int_equal(counts.acked, 20);
        assert_int_equal(counts.own_acked, 1);
    }
    assert_int_equal(session_counts(&rig, 0).gaps, 1);
    rig_fini(&rig);
}

static void the_agent_reports_on_itself_through_every_stream(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 2, (const size_t[]){0, 1}, 2);
    rig_start(&rig);
    struct status status = {.counters = span_text("{\"a\":1}"), .message = span_text("fine")};
    pipeline_report(rig.pipeline, &status, 1);
    fake_output_wait_records(rig.fakes[0], 1);
    assert_true(rig_push(&rig, 0, 10, 0));
    rig_finish(&rig);
    for (size_t i = 0; i < 2; i++) {
        assert_true(has_line(&rig, i, "status 1 {\"a\":1} fine\n"));
        assert_int_equal(output_counts(&rig, i).own_acked, 1);
        assert_int_equal(output_counts(&rig, i).acked, 10);
    }
    rig_fini(&rig);
}

static void records_are_routed_by_their_outputs_template(void **state)
{
    (void)state;
    struct error err;
    struct event_template *by_thread = event_template_create(
        span_text("t/{process.thread.id}"), EVENT_TEMPLATE_PATH, &err);
    struct event_template *fixed = event_template_create(
        span_text("all"), EVENT_TEMPLATE_PATH, &err);
    assert_non_null(by_thread);
    struct rig rig;
    rig_init(&rig, 2, 1, (const size_t[]){0, 0}, 2);
    rig.streams[0].shape.routes[0] = by_thread;
    rig.streams[0].shape.routes[1] = fixed;
    rig.streams[0].shape.route_count = 2;
    for (size_t i = 0; i < 2; i++) {
        rig.fake_settings[i].route = "x";
        rig.outputs[i].route = i;
    }
    rig_start(&rig);
    for (size_t i = 0; i < 100; i++) {
        assert_true(rig_push(&rig, i % 2, 10, 0));
    }
    rig_finish(&rig);
    char *text = fake_output_text(rig.fakes[0]);
    size_t lines = 0;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        assert_memory_equal(line, line[2] == '0' ? "t/0\t0:" : "t/1\t1:", 6);
        lines++;
    }
    assert_int_equal(lines, 1000);
    free(text);
    assert_true(has_line(&rig, 1, "all\t0:1\n"));
    rig_fini(&rig);
    event_template_destroy(by_thread);
    event_template_destroy(fixed);
}

static void a_limit_ends_the_source_and_ships_what_came_before(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.sessions[0].max_events = 7;
    rig_start(&rig);
    assert_false(rig_push(&rig, 0, 20, 0));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 7);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_reaches_every_output_in_order),
        cmocka_unit_test(nothing_at_all_is_delivered_as_nothing),
        cmocka_unit_test(a_slab_that_becomes_very_large_goes_out_in_parts),
        cmocka_unit_test(several_workers_of_an_output_share_its_batches),
        cmocka_unit_test(batches_keep_to_their_limits),
        cmocka_unit_test(a_record_longer_than_a_batch_is_a_batch),
        cmocka_unit_test(age_seals_a_batch_that_does_not_fill),
        cmocka_unit_test(gaps_go_through_every_stream_and_are_counted_apart),
        cmocka_unit_test(the_agent_reports_on_itself_through_every_stream),
        cmocka_unit_test(records_are_routed_by_their_outputs_template),
        cmocka_unit_test(a_limit_ends_the_source_and_ships_what_came_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
