#define _GNU_SOURCE

#include "etw_session_rig.h"
#include "support/etw_sim/etw_sim.h"

/* Live sessions in a simulated Windows. The simulator does what Windows' documentation says of each
 * call; the tests check how the session reacts. */

static void events_are_read_until_the_session_is_stopped(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 100);
    rig_stop(&rig);
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_int_equal(rig.events, 100); /* the events in buffers came, the header did not */
    assert_int_equal(rig.first_value, 0);
    assert_int_equal(rig.last_value, 99);
    assert_int_equal(rig.last.kind, RECORD_EVENT);
    assert_int_equal(rig.last.descriptor.id, 7);
    assert_int_equal(rig.last.process_id, 900);
    assert_int_equal(rig.gap_count, 0);
    assert_nothing_left(&rig);
    struct etw_sim_provider_state after;
    etw_sim_provider_get(provider, &after);
    assert_false(after.enabled);
    rig_fini(&rig);
}

static void times_are_those_of_the_session(void **state)
{
    (void)state;
    static const struct {
        int clock;
        bool no_frequency; /* the session does not give the counter's frequency; the system does */
    } rows[] = {{LIVE_CLOCK_QPC, false}, {LIVE_CLOCK_QPC, true}, {LIVE_CLOCK_SYSTEM, false},
        {LIVE_CLOCK_SYSTEM, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig rig;
        rig_init(&rig, &(struct etw_sim_options){
                           .perf_frequency = 2441406, .no_perf_freq = rows[i].no_frequency});
        rig.timing.poll_ms = RIG_WAIT_MS; /* no poll corrects a wrong reading meanwhile */
        rig.settings.session.clock = rows[i].clock;
        struct etw_sim_provider *provider = add_provider(&rig);
        start(&rig);
        rig_await(&rig, is_enabled, NAME);
        etw_sim_advance(rig.sim, 2500);
        uint64_t before = etw_sim_filetime(rig.sim);
        write_events(provider, 1);
        uint64_t after = etw_sim_filetime(rig.sim);
        assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
        rig_stop(&rig);
        assert_int_equal(rig.events, 1);
        assert_true(rig.last.time + 20 >= before && rig.last.time <= after + 20);
        rig_fini(&rig);
    }
}

static _Atomic uint64_t set_forward; /* the system's time is set forward by this */
static const struct etw_api *simulated;

static void shifted_now(int64_t *ret_counter, uint64_t *ret_filetime)
{
    simulated->now(ret_counter, ret_filetime);
    *ret_filetime += set_forward;
}

static bool tells_the_new_time(struct rig *rig, const void *provider)
{
    struct etw_sim_event event = {.descriptor = {.id = 7}};
    etw_sim_write((struct etw_sim_provider *)(uintptr_t)provider, &event);
    assert_true(etw_sim_settle(rig->sim, RIG_WAIT_MS));
    plat_mutex_lock(&rig->mutex);
    uint64_t time = rig->last.time;
    plat_mutex_unlock(&rig->mutex);
    return time >= etw_sim_filetime(rig->sim) + set_forward - 1000;
}

static void times_follow_the_systems_when_that_is_set(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    simulated = etw_sim_api(rig.sim);
    struct etw_api table = *simulated;
    table.now = shifted_now;
    set_forward = 0;
    etw_api_use(&table);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_await(&rig, tells_the_new_time, provider);
    set_forward = 50000000;
    rig_await(&rig, tells_the_new_time, provider);
    rig_stop(&rig);
    rig_fini(&rig);
}

static void what_etw_lost_is_counted_exactly(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.processors = 1});
    rig.settings.session.buffers.min = 2;
    rig.settings.session.buffers.max = 2;
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    etw_sim_hold_logger(rig.sim, true);
    struct etw_sim_event event = {.descriptor = {.id = 7}};
    uint64_t written = etw_sim_burst(provider, &event, 0, 20000, 0);
    assert_true(written < 20000);
    etw_sim_hold_logger(rig.sim, false);
    rig_await(&rig, rig_has_gap, "events_lost");
    rig_stop(&rig);
    assert_int_equal(rig_events(&rig) + rig_lost(&rig, "events_lost", NULL), 20000);
    for (size_t i = 0; i < rig.gap_count; i++) {
        assert_string_equal(rig.gaps[i].stage, "etw");
        assert_true(rig.gaps[i].exact);
        assert_true(rig.gaps[i].from <= rig.gaps[i].to);
    }
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void lost_buffers_are_told_in_buffers_and_only_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.processors = 1});
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    etw_sim_lose_buffers(rig.sim, NAME, 2, false);
    write_events(provider, 5000);
    rig_stop(&rig);
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(rig.sim, NAME, &info));
    assert_int_equal(info.counts.buffers_lost, 2);
    assert_int_equal(rig_lost(&rig, "realtime_buffers_lost", NULL), 2);
    assert_int_equal(rig_lost(&rig, "rt_lost_buffer", NULL), 0);
    assert_int_equal(rig_events(&rig) + info.counts.in_lost_buffers, 5000);
    rig_fini(&rig);
}

static void a_session_that_another_program_stops_is_started_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 10);
    struct etw_session_state last;
    assert_true(etw_control_stop(NAME, &last, NULL));
    rig_await(&rig, rig_has_note, "was stopped by another program");
    rig_await(&rig, rig_has_gap, "session_stopped");
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 10);
    rig_stop(&rig);
    assert_int_equal(rig.events, 20);
    assert_int_equal(rig_lost(&rig, "session_stopped", NULL), 0); /* their number is unknown */
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void a_start_that_fails_is_tried_again_and_told_once(void **state)
{
    (void)state;
    static const char *const functions[] = {"StartTraceW", "OpenTraceW"};
    for (size_t i = 0; i < 2; i++) {
        struct rig rig;
        rig_init(&rig, NULL);
        struct etw_sim_provider *provider = add_provider(&rig);
        assert_true(etw_sim_fail(rig.sim, functions[i], 1, 3, ETW_ERROR_NO_SYSTEM_RESOURCES));
        start(&rig);
        rig_await(&rig, is_enabled, NAME);
        write_events(provider, 5);
        rig_stop(&rig);
        assert_int_equal(rig.events, 5);
        buf_add_byte(&rig.notes, 0);
        const char *first = strstr((const char *)rig.notes.data, "trying again");
        assert_non_null(first);
        assert_null(strstr(first + 1, "trying again"));
        assert_nothing_left(&rig);
        rig_fini(&rig);
    }
}

static void a_half_failed_start_leaves_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add_provider(&rig);
    assert_true(etw_sim_fail(rig.sim, "OpenTraceW", 1, 0, ETW_ERROR_ACCESS_DENIED));
    start(&rig);
    rig_await(&rig, rig_has_note, "trying again");
    rig_stop(&rig);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void missing_functions_degrade_the_session_alone(void **state)
{
    (void)state;
    static const char *const functions[] = {"TdhEnumerateProviders", "EnumerateTraceGuidsEx",
        "QueryAllTracesW", "TraceSetInformation", "TraceQueryInformation",
        "OpenTraceFromRealTimeLogger"};
    struct rig rig;
    rig_init(&rig, NULL);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        assert_true(etw_sim_remove(rig.sim, functions[i]));
    }
    rig.settings.session.delivery = LIVE_DELIVERY_RAW;
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 5);
    rig_stop(&rig);
    assert_int_equal(rig.events, 5);
    assert_true(rig_has_note(&rig, "no OpenTraceFromRealTimeLogger. single events are delivered"));
    rig_fini(&rig);
}

static void without_any_session_call_it_says_so_and_waits(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    assert_true(etw_sim_remove(rig.sim, "StartTraceW"));
    start(&rig);
    rig_await(&rig, rig_has_note, "StartTrace");
    rig_stop(&rig);
    assert_int_equal(rig.end, INPUT_STOPPED);
    rig_fini(&rig);
}

static void raw_buffers_bring_the_same_events(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.settings.session.delivery = LIVE_DELIVERY_RAW;
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 5000);
    rig_stop(&rig);
    assert_int_equal(rig.events, 5000);
    assert_int_equal(rig.last.descriptor.id, 7);
    assert_int_equal(rig.last.process_id, 900);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static bool has_all(struct rig *rig, const void *count)
{
    return rig_events(rig) == *(const uint64_t *)count;
}

/* The events are written on two processors in turn, so each buffer has only every other event. */
static void raw_buffers_of_processors_come_in_one_order_of_time(void **state)
{
    (void)state;
    struct rig rig;
    const uint64_t count = 2000;
    rig_init(&rig, NULL);
    rig.settings.session.delivery = LIVE_DELIVERY_RAW;
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    for (uint64_t i = 0; i < count; i++) {
        struct etw_sim_event event = {
            .descriptor = {.id = 7, .level = 4}, .cpu = (uint16_t)(i % 2)};
        assert_int_equal(etw_sim_burst(provider, &event, i, 1, 0), 1);
    }
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    assert_int_equal(rig_events(&rig), 0); /* older ones may be on their way */
    etw_sim_advance(rig.sim, 501);         /* the flush, and half a second */
    rig_await(&rig, has_all, &count);
    assert_int_equal(rig.disorders, 0);
    rig_stop(&rig);
    assert_false(rig_has_note(&rig, "after newer ones"));
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void the_sink_ends_the_session(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.stop_after = 7;
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 100);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    rig_join(&rig);
    etw_session_destroy(rig.session);
    assert_int_equal(rig.events, 7);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void the_sink_ends_a_session_without_events_too(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.pause_ends = true;
    add_provider(&rig);
    start(&rig);
    rig_join(&rig);
    etw_session_destroy(rig.session);
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_false(rig_has_note(&rig, "by another program"));
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

/* ---- again and again ------------------------------------------------------------------------- */

static void two_hundred_rounds_leave_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    for (uint64_t i = 0; i < 200; i++) {
        start(&rig);
        rig_await(&rig, is_enabled, NAME);
        write_events(provider, 10);
        rig_stop(&rig);
        assert_int_equal(rig.events, 10 * (i + 1));
        assert_nothing_left(&rig);
    }
    assert_int_equal(rig.gap_count, 0);
    rig_fini(&rig);
}

static void a_stop_at_any_moment_leaves_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add_provider(&rig);
    for (int i = 0; i < 100; i++) {
        start(&rig);
        for (int k = 0; k < i * 50; k++) {
            etw_sim_session_count(rig.sim); /* wait a little, longer in each round */
        }
        rig_stop(&rig);
        assert_nothing_left(&rig);
    }
    rig_fini(&rig);
}

static void a_stop_comes_to_an_end_whatever_windows_does(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.timing.stop_ms = 20;
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 3);
    etw_sim_fail_control(rig.sim, ETW_CONTROL_STOP, 1, 1, ETW_ERROR_ACCESS_DENIED);
    assert_true(etw_sim_fail(rig.sim, "CloseTrace", 1, 1, ETW_ERROR_INVALID_HANDLE));
    rig_stop(&rig);
    assert_true(rig_has_note(&rig, "the agent abandons the reader"));
    assert_true(rig_has_gap(&rig, "reader_failed"));
    uint64_t events = rig.events;
    write_events(provider, 3);
    assert_true(etw_control_stop(NAME, NULL, NULL));
    assert_true(etw_consume_reap(UINT64_MAX));
    assert_int_equal(rig.events, events); /* no event reached the sink that is gone */
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_read_until_the_session_is_stopped),
        cmocka_unit_test(times_are_those_of_the_session),
        cmocka_unit_test(times_follow_the_systems_when_that_is_set),
        cmocka_unit_test(what_etw_lost_is_counted_exactly),
        cmocka_unit_test(lost_buffers_are_told_in_buffers_and_only_once),
        cmocka_unit_test(a_session_that_another_program_stops_is_started_again),
        cmocka_unit_test(a_start_that_fails_is_tried_again_and_told_once),
        cmocka_unit_test(a_half_failed_start_leaves_nothing),
        cmocka_unit_test(missing_functions_degrade_the_session_alone),
        cmocka_unit_test(without_any_session_call_it_says_so_and_waits),
        cmocka_unit_test(raw_buffers_bring_the_same_events),
        cmocka_unit_test(raw_buffers_of_processors_come_in_one_order_of_time),
        cmocka_unit_test(the_sink_ends_the_session),
        cmocka_unit_test(the_sink_ends_a_session_without_events_too),
        cmocka_unit_test(two_hundred_rounds_leave_nothing),
        cmocka_unit_test(a_stop_at_any_moment_leaves_nothing),
        cmocka_unit_test(a_stop_comes_to_an_end_whatever_windows_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
