#include "store/store.h"
#include "support/await.h"
#include "support/pipeline_rig.h"
#include "support/temp_folder.h"

/* Runs of a pipeline over one store: the next run delivers what the previous one did not. */

struct runs {
    struct rig rig;
    char folder[TEMP_FOLDER_BYTES];
    char path[TEMP_FOLDER_BYTES + 32];
    struct store *store;
    uint64_t staged; /* of session 0, at the last commit */
};

static bool on_stage(void *self, struct store *store, bool all, struct error *err)
{
    (void)all;
    struct runs *runs = self;
    runs->staged = pipeline_staged(runs->rig.pipeline, 0);
    uint8_t state[8] = {(uint8_t)runs->staged};
    return store_source_state(store, span_text("one"), span_make(state, sizeof(state)), err);
}

static void runs_init(struct runs *runs, size_t sessions, const size_t *outputs, size_t count)
{
    static const char *const keys[] = {"first", "second", "third", "fourth"};
    rig_init(&runs->rig, sessions, 1, outputs, count);
    runs->store = NULL;
    runs->staged = 0;
    assert_int_equal(temp_folder_make(runs->folder, "runs"), 0);
    snprintf(runs->path, sizeof(runs->path), "%s/spool", runs->folder);
    runs->rig.streams[0].key = keys[0];
    runs->rig.settings.store = (struct pipeline_store){.sync_interval_ns = UINT64_C(5000000),
        .sync_bytes = 1024 * 1024,
        .stage = on_stage,
        .self = runs};
}

static void run_begin(struct runs *runs)
{
    struct error err = {0};
    const struct store_settings settings = {.folder = runs->path};
    runs->store = store_open(&settings, &err);
    assert_string_equal(err.text, "");
    runs->rig.settings.store.store = runs->store;
    rig_start(&runs->rig);
}

/* Its sources have ended; all events were delivered, or the pipeline was cancelled. */
static void run_end(struct runs *runs)
{
    for (size_t i = 0; i < runs->rig.settings.session_count; i++) {
        pipeline_finish_source(runs->rig.pipeline, i, false);
    }
    assert_true(pipeline_drain(runs->rig.pipeline));
    check_ledger(&runs->rig);
}

static void run_close(struct runs *runs)
{
    pipeline_destroy(runs->rig.pipeline);
    runs->rig.pipeline = NULL;
    store_close(runs->store);
}

static void runs_fini(struct runs *runs)
{
    for (size_t i = 0; i < runs->rig.settings.output_count; i++) {
        assert_int_equal(fake_output_counts(runs->rig.fakes[i]).misused, 0);
        fake_output_destroy(runs->rig.fakes[i]);
    }
    assert_int_equal(temp_folder_remove(runs->folder), 0);
}

static void what_a_stop_leaves_is_delivered_by_the_next_run(void **state)
{
    (void)state;
    enum { EVENTS = 20000 };
    struct runs runs;
    runs_init(&runs, 1, (const size_t[]){0, 0}, 2);
    rig_script(&runs.rig, 0, NULL, 0);
    fake_output_hold(runs.rig.fakes[0]);
    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, EVENTS, 0));
    fake_output_wait_records(runs.rig.fakes[1], EVENTS / 2);
    pipeline_finish_source(runs.rig.pipeline, 0, false);
    pipeline_cancel(runs.rig.pipeline);
    assert_true(pipeline_drain(runs.rig.pipeline));
    check_ledger(&runs.rig);
    struct output_counts counts = output_counts(&runs.rig, 0);
    for (int i = 0; i < OUTPUT_DROP_COUNT; i++) {
        assert_int_equal(counts.dropped[i], 0);
    }
    run_close(&runs);
    fake_output_let_go(runs.rig.fakes[0]);

    /* The file is read again, and enters once. */
    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, EVENTS, 0));
    run_end(&runs);
    assert_int_equal(output_counts(&runs.rig, 0).pending, 0);
    assert_int_equal(runs.staged, EVENTS);
    run_close(&runs);
    check_received(&runs.rig, 0, 0, 1, EVENTS);
    check_received(&runs.rig, 1, 0, 1, EVENTS);

    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, EVENTS, 0));
    run_end(&runs);
    assert_int_equal(output_counts(&runs.rig, 0).offered, 0);
    run_close(&runs);
    check_received(&runs.rig, 0, 0, 1, EVENTS);
    runs_fini(&runs);
}

static void the_end_of_all_sources_does_not_wait_for_the_next_commit(void **state)
{
    (void)state;
    struct runs runs;
    runs_init(&runs, 1, (const size_t[]){0}, 1);
    runs.rig.settings.store.sync_interval_ns = UINT64_C(
        3600000000000000); /* longer than any test */
    runs.rig.settings.store.sync_bytes = 1024 * 1024 * 1024;
    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, 1000, 0));
    run_end(&runs);
    assert_int_equal(output_counts(&runs.rig, 0).pending, 0);
    run_close(&runs);
    check_received(&runs.rig, 0, 0, 1, 1000);
    runs_fini(&runs);
}

static void what_an_ended_output_does_not_take_waits_for_the_next_run(void **state)
{
    (void)state;
    enum { EVENTS = 5000 };
    static const struct fake_step steps[] = {
        {.verdict = OUTPUT_DELIVERED}, {.verdict = OUTPUT_FATAL}};
    struct runs runs;
    runs_init(&runs, 1, (const size_t[]){0}, 1);
    rig_script(&runs.rig, 0, steps, 2);
    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, EVENTS, 0));
    run_end(&runs); /* and no thread waits for it */
    struct output_counts counts = output_counts(&runs.rig, 0);
    assert_true(counts.pending > 0);
    assert_int_equal(counts.dropped[OUTPUT_DROP_ENDED], 0);
    run_close(&runs);
    run_begin(&runs);
    struct output_counts again = output_counts(&runs.rig, 0);
    assert_int_equal(again.offered, counts.pending);
    run_end(&runs);
    run_close(&runs);
    check_received(&runs.rig, 0, 0, 1, EVENTS);
    runs_fini(&runs);
}

/* Refused records without room for dead letters: a gap tells the other output, in any of the
 * runs. */
static void what_an_output_has_lost_is_told_in_the_next_run_if_not_in_this(void **state)
{
    (void)state;
    enum { EVENTS = 5000, ENOUGH = 200 };
    static struct fake_step steps[ENOUGH];
    for (size_t i = 0; i < ENOUGH; i++) {
        steps[i] = (struct fake_step){.verdict = OUTPUT_REJECTED};
    }
    struct runs runs;
    runs_init(&runs, 1, (const size_t[]){0, 0}, 2);
    runs.rig.settings.gap_age_ns = UINT64_C(3600000000000);
    rig_script(&runs.rig, 0, steps, ENOUGH);
    rig_script(&runs.rig, 1, NULL, 0);
    fake_output_hold(runs.rig.fakes[1]);
    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, EVENTS, 0));
    pipeline_finish_source(runs.rig.pipeline, 0, false);
    AWAIT(output_counts(&runs.rig, 0).dropped[OUTPUT_DROP_REJECTED] >= EVENTS);
    pipeline_cancel(runs.rig.pipeline);
    assert_true(pipeline_drain(runs.rig.pipeline));
    run_close(&runs);
    fake_output_let_go(runs.rig.fakes[1]);
    fake_output_script(runs.rig.fakes[0], NULL, 0);
    run_begin(&runs);
    run_end(&runs);
    run_close(&runs);
    check_received(&runs.rig, 1, 0, 1, EVENTS);
    assert_int_equal(gap_sum(&runs.rig, 1, "output/rejected", "a"), EVENTS);
    runs_fini(&runs);
}

/* Several workers, none of which has a checkpoint that could take events back. */
static void of_a_batch_only_what_is_left_is_sent_by_the_next_run(void **state)
{
    (void)state;
    enum { EVENTS = 100 };
    static const struct fake_step steps[] = {{.verdict = OUTPUT_MIXED, .delivers = 0xff}};
    struct runs runs;
    runs_init(&runs, 1, (const size_t[]){0}, 1);
    runs.rig.outputs[0].workers = 2;
    runs.rig.outputs[0].retry = (struct delivery_retry){.min_ms = 3600000, .max_ms = 3600000};
    rig_script(&runs.rig, 0, steps, 1);
    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, EVENTS, 0));
    pipeline_finish_source(runs.rig.pipeline, 0, false);
    fake_output_wait_records(runs.rig.fakes[0], 8); /* usually the next try comes in an hour */
    pipeline_cancel(runs.rig.pipeline);
    assert_true(pipeline_drain(runs.rig.pipeline));
    check_ledger(&runs.rig);
    assert_int_equal(output_counts(&runs.rig, 0).acked, 8);
    run_close(&runs);
    run_begin(&runs);
    assert_int_equal(output_counts(&runs.rig, 0).offered, EVENTS);
    run_end(&runs);
    assert_int_equal(output_counts(&runs.rig, 0).pending, 0);
    run_close(&runs);
    check_received(&runs.rig, 0, 0, 1, EVENTS);
    assert_int_equal(fake_output_counts(runs.rig.fakes[0]).records, EVENTS);
    runs_fini(&runs);
}

static void an_output_with_another_stream_drains_the_one_before(void **state)
{
    (void)state;
    enum { EVENTS = 3000 };
    struct runs runs;
    runs_init(&runs, 1, (const size_t[]){0}, 1);
    rig_script(&runs.rig, 0, NULL, 0);
    fake_output_hold(runs.rig.fakes[0]);
    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, EVENTS, 0));
    pipeline_finish_source(runs.rig.pipeline, 0, false);
    pipeline_cancel(runs.rig.pipeline);
    assert_true(pipeline_drain(runs.rig.pipeline));
    uint64_t staged = runs.staged;
    run_close(&runs);
    fake_output_let_go(runs.rig.fakes[0]);
    runs.rig.streams[0].key = "another filter";
    runs.rig.resume[0] = staged; /* the application says that the new stream begins there */
    runs.rig.settings.resume = runs.rig.resume;
    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, EVENTS + 100, 0));
    run_end(&runs);
    run_close(&runs);
    check_received(&runs.rig, 0, 0, 1, EVENTS + 100);
    runs_fini(&runs);
}

struct drainer {
    struct pipeline *pipeline;
    atomic_bool done;
};

static void drain(void *self)
{
    struct drainer *drainer = self;
    pipeline_drain(drainer->pipeline);
    atomic_store_explicit(&drainer->done, true, memory_order_relaxed);
}

/* Like a reload, in which one thread drains and another one hands over. */
static void what_a_pipeline_that_makes_way_leaves_is_delivered_by_the_next(void **state)
{
    (void)state;
    enum { EVENTS = 5000 };
    struct runs runs;
    struct error err;
    runs_init(&runs, 1, (const size_t[]){0}, 1);
    rig_script(&runs.rig, 0, NULL, 0);
    fake_output_hold(runs.rig.fakes[0]);
    run_begin(&runs);
    assert_true(rig_push(&runs.rig, 0, EVENTS, 0));
    pipeline_finish_source(runs.rig.pipeline, 0, false);
    pipeline_expect_successor(runs.rig.pipeline);
    struct drainer drainer = {.pipeline = runs.rig.pipeline};
    struct plat_thread *thread = plat_thread_start("drain", drain, &drainer, &err);
    assert_non_null(thread);
    pipeline_hand_over(runs.rig.pipeline);
    fake_output_let_go(runs.rig.fakes[0]);
    while (!atomic_load_explicit(&drainer.done, memory_order_relaxed)) {
        pipeline_hand_over(runs.rig.pipeline); /* at any moment of it */
    }
    plat_thread_join(thread);
    uint64_t left = output_counts(&runs.rig, 0).pending;
    assert_true(left > 0);
    run_close(&runs);

    run_begin(&runs);
    assert_int_equal(output_counts(&runs.rig, 0).offered, left);
    run_end(&runs);
    run_close(&runs);
    check_received(&runs.rig, 0, 0, 1, EVENTS);
    runs_fini(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_stop_leaves_is_delivered_by_the_next_run),
        cmocka_unit_test(the_end_of_all_sources_does_not_wait_for_the_next_commit),
        cmocka_unit_test(what_an_ended_output_does_not_take_waits_for_the_next_run),
        cmocka_unit_test(what_an_output_has_lost_is_told_in_the_next_run_if_not_in_this),
        cmocka_unit_test(of_a_batch_only_what_is_left_is_sent_by_the_next_run),
        cmocka_unit_test(an_output_with_another_stream_drains_the_one_before),
        cmocka_unit_test(what_a_pipeline_that_makes_way_leaves_is_delivered_by_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
