#include "etw_heap_rig.h"

#include "etw/session/etw_heap.h"
#include "input/windows/etw_targets.h"
#include "support/etw_sim/etw_sim.h"

/* ---- what is launched ------------------------------------------------------------------------ */

static void a_program_is_traced_from_its_start_to_its_end(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.data_dir = folder;
    rig.last_time = 134000000000000000;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    struct etw_sim_session_info info = info_of(&rig);
    assert_int_equal(info.pid_count, 1);
    assert_int_equal(info.stack_ids, 2);
    assert_true(guid_equal(&info.guid, &etw_heap_guid));
    assert_true(is_flagged(&rig, NULL));
    assert_true(is_file("etw-test.launched"));

    allocate(&rig, pid + 1); /* another program */
    allocate(&rig, pid);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    assert_int_equal(rig_events(&rig), 2); /* with its stack */
    rig_await(&rig, is_not_flagged, NULL); /* while the program still runs */
    assert_false(has_ended(pid));

    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    assert_true(rig_has_note(&rig, "has ended with exit code 5"));
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    assert_false(is_file("etw-test.launched"));
    assert_int_equal(rig.gap_count, 0); /* no event is missing before it */
    rig_fini(&rig);
}

static void what_it_writes_to_the_last_is_read(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.heap_allocs = 1000});
    let_it_end(); /* at once */
    settings.stacks.count = 0;
    start_heap(&rig);
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    assert_int_equal(rig.events, 1000);
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    assert_true(is_not_flagged(&rig, NULL));
    rig_fini(&rig);
}

static void a_stop_leaves_the_program_and_a_restart_goes_on_with_it(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.data_dir = folder;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    rig_stop(&rig);
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_true(rig_has_note(&rig, "continues"));
    assert_true(is_not_flagged(&rig, NULL)); /* no event has come */
    assert_nothing_left(&rig);
    assert_false(has_ended(pid));

    start_heap(&rig);
    rig_await(&rig, rig_has_note, "launched by an earlier run");
    rig_await(&rig, rig_reads, NAME);
    assert_int_equal(info_of(&rig).pids[0], pid);
    assert_true(is_not_flagged(&rig, NULL));
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);

    /* It has ended: the next start launches it again. */
    start_heap(&rig);
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);
    rig_fini(&rig);
}

/* As a reload does. */
static void pass_on(struct rig *rig, struct buf *takeover)
{
    etw_session_pass_on(rig->session);
    etw_session_stop(rig->session);
    rig_join(rig);
    buf_reset(takeover);
    etw_session_write_takeover(rig->session, takeover);
    etw_session_destroy(rig->session);
    rig->session = NULL;
    rig->takeover = buf_span(takeover);
    buf_reset(&rig->notes);
}

static void a_reload_goes_on_with_the_program_until_it_has_ended(void **state)
{
    (void)state;
    struct rig rig;
    struct buf takeover;
    struct buf last;
    rig_init(&rig, NULL); /* without a folder */
    buf_init(&takeover, 4096);
    buf_init(&last, 4096);
    settings.on_stop = LIVE_ON_STOP_END;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    pass_on(&rig, &takeover);
    assert_false(has_ended(pid));
    assert_nothing_left(&rig);

    start_heap(&rig);
    rig_await(&rig, rig_has_note, "launched by an earlier configuration");
    rig_await(&rig, rig_reads, NAME);
    assert_int_equal(info_of(&rig).pids[0], pid);
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_write_takeover(rig.session, &last);
    etw_session_destroy(rig.session);
    rig.takeover = buf_span(&last);
    buf_reset(&rig.notes);

    start_heap(&rig); /* it is not launched again */
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    assert_false(rig_has_note(&rig, "launched"));
    etw_session_destroy(rig.session);
    settings.on_stop = LIVE_ON_STOP_LEAVE;
    buf_fini(&last);
    buf_fini(&takeover);
    rig_fini(&rig);
}

static void a_program_without_a_next_session_ends_as_on_stop_says(void **state)
{
    (void)state;
    struct rig rig;
    struct buf takeover;
    rig_init(&rig, NULL);
    buf_init(&takeover, 4096);
    settings.on_stop = LIVE_ON_STOP_END;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    pass_on(&rig, &takeover);
    assert_false(has_ended(pid));
    etw_targets_end_takeover(rig.takeover);
    rig_await(&rig, sees_end, &pid);
    settings.on_stop = LIVE_ON_STOP_LEAVE;
    buf_fini(&takeover);
    rig_fini(&rig);
}

static void another_command_line_is_another_program(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.data_dir = folder;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    rig_stop(&rig);
    buf_reset(&rig.notes);
    strcat(line, " ");
    start_heap(&rig);
    assert_true(await_launched(&rig) != pid);
    let_it_end();
    rig_join(&rig);
    etw_session_destroy(rig.session);
    rig_await(&rig, sees_end, &pid);
    rig_fini(&rig);
}

static void on_stop_the_program_can_be_ended(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.data_dir = folder;
    settings.on_stop = LIVE_ON_STOP_END;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    rig_stop(&rig);
    assert_true(rig_has_note(&rig, "as on_stop says"));
    rig_await(&rig, sees_end, &pid);
    assert_false(is_file("etw-test.launched"));
    rig_fini(&rig);
}

static void a_program_that_is_not_there_ends_the_session(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    settings.launch = "/no/such/app.exe";
    snprintf(key, sizeof(key), OPTIONS "app.exe");
    start_heap(&rig);
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_FAILED);
    assert_non_null(strstr(rig.error.text, "launch: /no/such/app.exe: cannot be started"));
    assert_true(is_not_flagged(&rig, NULL));
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void flags_that_cannot_be_set_keep_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    sim_registry_fail(registry, 1, 5);
    start_heap(&rig);
    await_launched(&rig);
    assert_true(rig_has_note(&rig, "heaps that"));
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);
    rig_fini(&rig);
}

static void a_session_that_is_stopped_by_others_comes_again_for_the_same_program(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    uint64_t first = info_of(&rig).handle;
    assert_true(etw_control_stop(NAME, NULL, NULL));
    rig_await(&rig, rig_has_gap, "session_stopped");
    rig_await(&rig, rig_reads, NAME);
    assert_true(info_of(&rig).handle != first);
    assert_int_equal(info_of(&rig).pids[0], pid);
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

/* ---- what windows refuses -------------------------------------------------------------------- */

static void while_there_is_another_heap_session_nothing_is_launched(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_session_state theirs;
    const struct etw_session_spec spec = {
        .name = "Theirs", .guid = etw_heap_guid, .mode = ETW_MODE_REAL_TIME, .buffer_kb = 64};
    const uint32_t pid = 4;
    assert_true(etw_heap_start(
        &spec, &(struct etw_heap_request){.pids = &pid, .pid_count = 1}, &theirs, NULL));
    start_heap(&rig);
    rig_await(&rig, rig_has_note, "only one session at a time can trace heaps, and 'Theirs' does");
    assert_true(rig_has_note(&rig, "trying again"));
    assert_false(rig_has_note(&rig, "launched"));
    assert_true(etw_control_stop("Theirs", NULL, NULL));
    await_launched(&rig);
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);
    rig_fini(&rig);
}

static void refusals_are_told_and_tried_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    etw_sim_fail(rig.sim, "StartTraceW", 1, 1, 14);
    start_heap(&rig);
    rig_await(&rig, rig_has_note, "no memory for 8 to 16 buffers of 64 KB");
    await_launched(&rig);
    let_it_end();
    rig_join(&rig);
    etw_session_destroy(rig.session);
    rig_fini(&rig);
}

static void a_stop_before_it_starts_leaves_no_program(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    etw_sim_fail(rig.sim, "StartTraceW", 1, 0, 5);
    start_heap(&rig);
    rig_await(&rig, rig_has_note, "only administrators may trace heaps");
    rig_stop(&rig);
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_true(is_not_flagged(&rig, NULL));
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

int main(int argc, char **argv)
{
    plat_process_init(&argc, &argv);
    if (argc == 2) {
        return play(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        HEAP_TEST(a_program_is_traced_from_its_start_to_its_end),
        HEAP_TEST(what_it_writes_to_the_last_is_read),
        HEAP_TEST(a_stop_leaves_the_program_and_a_restart_goes_on_with_it),
        HEAP_TEST(a_reload_goes_on_with_the_program_until_it_has_ended),
        HEAP_TEST(a_program_without_a_next_session_ends_as_on_stop_says),
        HEAP_TEST(another_command_line_is_another_program),
        HEAP_TEST(on_stop_the_program_can_be_ended),
        HEAP_TEST(a_program_that_is_not_there_ends_the_session),
        HEAP_TEST(flags_that_cannot_be_set_keep_nothing),
        HEAP_TEST(a_session_that_is_stopped_by_others_comes_again_for_the_same_program),
        HEAP_TEST(while_there_is_another_heap_session_nothing_is_launched),
        HEAP_TEST(refusals_are_told_and_tried_again),
        HEAP_TEST(a_stop_before_it_starts_leaves_no_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
