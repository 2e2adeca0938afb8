#define _GNU_SOURCE

#include "input/windows/etw_session.h"

#include "etw_rig.h"
#include "input/windows/etw_consume.h"
#include "input/windows/etw_kept.h"
#include "platform/plat_file.h"
#include "support/etw_sim/etw_sim.h"
#include "support/temp_folder.h"

/* Live sessions in a simulated Windows: what its documentation says about each call is the
 * simulator's business, what becomes of the session ours. */

#define NAME "etwship-test"

static struct guid provider_guid = {{0x77, 1, 2, 3}};
static const char provider_text[] = "03020177-0000-0000-0000-000000000000";

static struct etw_sim_provider *add_provider(struct rig *rig)
{
    return etw_sim_provider_add(
        rig->sim, &(struct etw_sim_provider_options){
                      .guid = provider_guid, .name = "Test-Provider", .pid = 900});
}

static bool is_enabled(struct rig *rig, const void *name)
{
    struct etw_sim_enablement enablement;
    return etw_sim_enabled(rig->sim, name, &provider_guid, &enablement) && rig_reads(rig, name);
}

static void start(struct rig *rig)
{
    struct provider_spec spec = rig_spec(provider_text);
    static struct provider_spec kept; /* outlives the session */
    kept = spec;
    rig_start_as(rig, ETW_PLAN_REALTIME, NULL, &kept, 1);
}

static void write_events(struct etw_sim_provider *provider, uint64_t count)
{
    struct etw_sim_event event = {.descriptor = {.id = 7, .level = 4}};
    assert_int_equal(etw_sim_burst(provider, &event, 0, count, 0), count);
}

static void assert_nothing_left(struct rig *rig)
{
    assert_int_equal(etw_sim_session_count(rig->sim), 0);
    assert_int_equal(etw_sim_open_traces(rig->sim), 0);
}

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
    assert_int_equal(rig.events, 100); /* what was in buffers came, the header did not */
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
    for (int clock = LIVE_CLOCK_QPC; clock <= LIVE_CLOCK_SYSTEM; clock++) {
        struct rig rig;
        rig_init(&rig, &(struct etw_sim_options){.perf_frequency = 2441406});
        rig.settings.session.clock = clock;
        struct etw_sim_provider *provider = add_provider(&rig);
        start(&rig);
        rig_await(&rig, is_enabled, NAME);
        etw_sim_advance(rig.sim, 2500);
        uint64_t before = etw_sim_filetime(rig.sim);
        write_events(provider, 1);
        uint64_t after = etw_sim_filetime(rig.sim);
        rig_stop(&rig);
        assert_int_equal(rig.events, 1);
        assert_true(rig.last.time + 20 >= before && rig.last.time <= after + 20);
        rig_fini(&rig);
    }
}

static _Atomic uint64_t set_forward; /* the system's time, by so much */
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

static void a_session_that_somebody_stops_is_started_again(void **state)
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
    rig_await(&rig, rig_has_note, "was stopped by somebody else");
    rig_await(&rig, rig_has_gap, "session_stopped");
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 10);
    rig_stop(&rig);
    assert_int_equal(rig.events, 20);
    assert_int_equal(rig_lost(&rig, "session_stopped", NULL), 0); /* nobody knows how many */
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
    assert_true(
        rig_has_note(&rig, "no OpenTraceFromRealTimeLogger. events are delivered one by one"));
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
    assert_false(rig_has_note(&rig, "somebody else"));
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

/* ---- providers ------------------------------------------------------------------------------------- */

static void a_provider_that_comes_later_is_read(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = etw_sim_provider_add(
        rig.sim, &(struct etw_sim_provider_options){.guid = provider_guid, .unregistered = true});
    start(&rig);
    rig_await(&rig, rig_reads, NAME);
    etw_sim_provider_register(provider);
    write_events(provider, 3);
    rig_stop(&rig);
    assert_int_equal(rig.events, 3);
    rig_fini(&rig);
}

static void a_refused_provider_is_told_and_the_others_are_read(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct guid guarded;
    assert_true(guid_parse(span_text("f4e1897c-bb5d-5668-f1d8-040f4d8dd344"), &guarded));
    etw_sim_provider_add(rig.sim, &(struct etw_sim_provider_options){
                                      .guid = guarded, .enable_error = ETW_ERROR_ACCESS_DENIED});
    struct etw_sim_provider *provider = add_provider(&rig);
    struct provider_spec specs[] = {
        rig_spec("f4e1897c-bb5d-5668-f1d8-040f4d8dd344"), rig_spec(provider_text)};
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, specs, 2);
    rig_await(&rig, is_enabled, NAME);
    rig_await(&rig, rig_has_note, "protected processes (PPL");
    write_events(provider, 3);
    rig_stop(&rig);
    assert_int_equal(rig.events, 3);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void entries_of_one_provider_become_one_request(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add_provider(&rig);
    struct provider_spec specs[] = {rig_spec("03020177-0000-0000-0000-000000000000:2:5:0x1"),
        rig_spec("03020177-0000-0000-0000-000000000000:4::0x2")};
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, specs, 2);
    rig_await(&rig, is_enabled, NAME);
    struct etw_sim_enablement got;
    assert_true(etw_sim_enabled(rig.sim, NAME, &provider_guid, &got));
    assert_int_equal(got.level, 4);
    assert_int_equal(got.any, 3);
    assert_int_equal(got.filter_count, 0); /* ids only if all have them */
    rig_stop(&rig);
    rig_fini(&rig);
}

static void states_are_asked_for_when_somebody_listens(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    struct provider_spec spec = rig_spec(provider_text);
    spec.capture_at_start = true;
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_enabled, NAME);
    struct etw_sim_provider_state got;
    rig_stop(&rig);
    etw_sim_provider_get(provider, &got);
    assert_int_equal(got.capture_states, 1);
    rig_fini(&rig);
}

static bool is_captured_twice(struct rig *rig, const void *what)
{
    struct etw_sim_enablement got;
    (void)what;
    return etw_sim_enabled(rig->sim, NAME, &provider_guid, &got) && got.captures >= 2;
}

static void states_are_asked_for_again_after_a_while(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add_provider(&rig);
    struct provider_spec spec = rig_spec(provider_text);
    spec.capture_every_ns = 1000000;
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_captured_twice, NULL);
    rig_stop(&rig);
    rig_fini(&rig);
}

static void a_classic_provider_is_taken_from_nobody_who_was_not_named(void **state)
{
    (void)state;
    for (int take_over = 0; take_over <= 1; take_over++) {
        struct rig rig;
        rig_init(&rig, NULL);
        etw_sim_provider_add(
            rig.sim, &(struct etw_sim_provider_options){
                         .guid = provider_guid, .kind = ETW_SIM_CLASSIC, .pid = 900});
        uint64_t theirs = etw_sim_session_add(rig.sim,
            &(struct etw_sim_session_options){.name = "Theirs", .mode = ETW_MODE_REAL_TIME}, NULL);
        assert_int_equal(etw_sim_api(rig.sim)->EnableTraceEx2(
                             theirs, &provider_guid, 1, 5, UINT32_MAX, 0, 0, NULL),
            0);
        struct provider_spec spec = rig_spec(provider_text);
        spec.take_over = take_over;
        rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
        struct etw_sim_enablement got;
        if (take_over) {
            rig_await(&rig, is_enabled, NAME);
            assert_true(rig_has_note(&rig, "is taken from the session Theirs"));
        } else {
            rig_await(&rig, rig_has_note, "serves one session at a time, now Theirs");
            assert_true(etw_sim_enabled(rig.sim, "Theirs", &provider_guid, &got));
        }
        rig_stop(&rig);
        rig_fini(&rig);
    }
}

/* ---- what runs already ------------------------------------------------------------------------------ */

static uint64_t add_existing(struct rig *rig, const char *name)
{
    uint64_t handle = etw_sim_session_add(rig->sim,
        &(struct etw_sim_session_options){.name = name, .mode = ETW_MODE_REAL_TIME}, NULL);
    assert_true(handle != 0);
    return handle;
}

static void what_an_earlier_run_left_is_replaced(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    uint64_t old = add_existing(&rig, NAME);
    add_existing(&rig, "Theirs");
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(rig.sim, NAME, &info));
    assert_true(info.handle != old || rig_has_note(&rig, "stopped " NAME));
    write_events(provider, 5);
    rig_stop(&rig);
    assert_int_equal(rig.events, 5);
    assert_true(etw_sim_session_runs(rig.sim, "Theirs"));
    rig_fini(&rig);
}

static void what_runs_already_can_be_taken_over_or_refused(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add_provider(&rig);
    uint64_t old = add_existing(&rig, NAME);
    rig.settings.session.on_existing = LIVE_EXISTING_FAIL;
    start(&rig);
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_FAILED);
    assert_non_null(strstr(rig.error.text, "on_existing is fail"));
    etw_session_destroy(rig.session);
    assert_true(etw_sim_session_runs(rig.sim, NAME));

    rig.settings.session.on_existing = LIVE_EXISTING_ATTACH;
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(rig.sim, NAME, &info));
    assert_true(info.handle == old);
    rig_stop(&rig);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void somebody_elses_session_is_read_and_left(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    uint64_t theirs = add_existing(&rig, "Theirs");
    assert_int_equal(
        etw_sim_api(rig.sim)->EnableTraceEx2(theirs, &provider_guid, 1, 0, 0, 0, 0, NULL), 0);
    struct live_attach settings = {.session = "Theirs"};
    struct provider_spec spec = rig_spec(provider_text);
    rig_start_as(&rig, ETW_PLAN_ATTACH, &settings, &spec, 1);
    rig_await(&rig, rig_reads, "Theirs");
    write_events(provider, 5);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    rig_stop(&rig);
    assert_int_equal(rig.events, 5);
    assert_true(etw_sim_session_runs(rig.sim, "Theirs"));
    struct etw_sim_enablement got;
    assert_true(etw_sim_enabled(rig.sim, "Theirs", &provider_guid, &got));
    assert_int_equal(got.enables, 1); /* theirs, not ours */
    assert_int_equal(etw_sim_open_traces(rig.sim), 0);
    rig_fini(&rig);
}

static void a_session_that_is_not_there_yet_is_waited_for(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct live_attach settings = {.session = "Theirs"};
    rig_start_as(&rig, ETW_PLAN_ATTACH, &settings, NULL, 0);
    rig_await(&rig, rig_has_note, "trying again");
    add_existing(&rig, "Theirs");
    rig_await(&rig, rig_reads, "Theirs");
    rig_stop(&rig);
    rig_fini(&rig);
}

static void where_the_agent_did_not_run_events_may_be_missing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.last_time = 134000000000000000;
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_stop(&rig);
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].stage, "agent");
    assert_string_equal(rig.gaps[0].reason, "not_running");
    assert_int_equal(rig.gaps[0].count, 0);
    assert_false(rig.gaps[0].exact);
    assert_int_equal(rig.gaps[0].from, 134000000000000000);
    assert_true(rig.gaps[0].to > rig.gaps[0].from);
    rig_fini(&rig);
}

/* ---- sessions that outlive the agent --------------------------------------------------------------- */

static char folder[TEMP_FOLDER_BYTES];

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "session");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void a_kept_session_bridges_a_restart(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.settings.session.keep_on_restart = true;
    rig.data_dir = folder;
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 10);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    rig_stop(&rig);
    assert_true(etw_sim_session_runs(rig.sim, NAME));
    assert_int_equal(etw_sim_open_traces(rig.sim), 0);
    write_events(provider, 10); /* nobody reads */
    struct etw_sim_session_info before;
    assert_true(etw_sim_session_get(rig.sim, NAME, &before));

    rig.last_time = 134000000000000000;
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 10);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    struct etw_sim_session_info after;
    assert_true(etw_sim_session_get(rig.sim, NAME, &after));
    assert_true(after.handle == before.handle);
    rig_stop(&rig);
    assert_int_equal(rig.events, 30);
    assert_int_equal(rig.gap_count, 0); /* nothing is missing, so nothing says so */

    /* Set up in another way it is of no use. */
    rig.settings.session.buffers.size_bytes = 128 * 1024;
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    assert_true(rig_has_gap(&rig, "not_running"));
    assert_true(rig_has_note(&rig, "stopped " NAME));
    rig_stop(&rig);
    rig_fini(&rig);
}

static void nothing_is_kept_that_would_not_be_known_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.settings.session.keep_on_restart = true;
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, rig_has_note, "! keep_on_restart: without agent.data_dir");
    rig_stop(&rig);
    assert_nothing_left(&rig);

    /* Whatever runs is attached to: so it can be kept. */
    rig.settings.session.on_existing = LIVE_EXISTING_ATTACH;
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_stop(&rig);
    assert_true(etw_sim_session_runs(rig.sim, NAME));
    rig_fini(&rig);
}

static void what_a_kept_session_lost_meanwhile_is_told_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.processors = 1});
    rig.settings.session.keep_on_restart = true;
    rig.settings.session.buffers.min = 2;
    rig.settings.session.buffers.max = 2;
    rig.data_dir = folder;
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_stop(&rig);
    etw_sim_hold_logger(rig.sim, true);
    struct etw_sim_event event = {.descriptor = {.id = 7}};
    uint64_t written = etw_sim_burst(provider, &event, 0, 20000, 0);
    etw_sim_hold_logger(rig.sim, false);
    assert_true(written < 20000);
    for (int i = 0; i < 2; i++) {
        start(&rig);
        rig_await(&rig, is_enabled, NAME);
        rig_await(&rig, rig_has_gap, "events_lost");
        assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
        rig_stop(&rig);
    }
    assert_int_equal(rig.events + rig_lost(&rig, "events_lost", NULL), 20000);
    rig_fini(&rig);
}

static void counters_of_an_earlier_session_of_the_name_are_not_taken_for_its_own(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_kept kept = {.handle = 77, .events_lost = 1000, .real_time_buffers_lost = 5};
    assert_true(etw_kept_save(folder, "test", &kept, NULL));
    rig.settings.session.on_existing = LIVE_EXISTING_ATTACH;
    rig.data_dir = folder;
    add_provider(&rig);
    add_existing(&rig, NAME);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_stop(&rig);
    assert_int_equal(rig.gap_count, 0);
    etw_kept_forget(folder, "test");
    rig_fini(&rig);
}

/* ---- kernel events and files -------------------------------------------------------------------------- */

static struct live_kernel kernel_settings(struct rig *rig)
{
    static const char *flags[] = {"process"};
    return (struct live_kernel){.session = rig->settings.session, .groups = {.flags = {flags, 1}}};
}

static bool write_process_start(struct rig *rig)
{
    struct etw_sim_kernel_event event = {
        .hook_id = 0x0301, .version = 4, .process_id = 4, .thread_id = 8, .form = 2};
    return etw_sim_kernel_write(rig->sim, &event) == 0;
}

static void kernel_events_come_in_a_session_of_our_own(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct live_kernel settings = kernel_settings(&rig);
    rig_start_as(&rig, ETW_PLAN_SYSTEM, &settings, NULL, 0);
    rig_await(&rig, rig_reads, NAME);
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(rig.sim, NAME, &info));
    assert_true(info.system);
    assert_int_equal(info.group_mask[0], 1);
    assert_true(write_process_start(&rig));
    rig_stop(&rig);
    assert_true(rig.events >= 1);
    assert_int_equal(rig.last.kind, RECORD_KERNEL);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void the_kernel_logger_of_somebody_else_is_never_stopped(void **state)
{
    (void)state;
    for (int in_use = LIVE_IN_USE_FAIL; in_use <= LIVE_IN_USE_UPDATE; in_use++) {
        struct rig rig;
        rig_init(&rig, NULL);
        uint32_t code = 0;
        assert_true(etw_sim_session_add(rig.sim,
                        &(struct etw_sim_session_options){.name = ETW_KERNEL_LOGGER,
                            .guid = etw_kernel_guid,
                            .mode = ETW_MODE_REAL_TIME,
                            .enable_flags = 0x10000},
                        &code) != 0);
        struct live_kernel settings = kernel_settings(&rig);
        settings.in_use = in_use;
        rig_start_as(&rig, ETW_PLAN_KERNEL, &settings, NULL, 0);
        struct etw_sim_session_info info;
        if (in_use == LIVE_IN_USE_FAIL) {
            rig_await(&rig, rig_has_note, "somebody else runs the NT Kernel Logger");
        } else {
            rig_await(&rig, rig_reads, ETW_KERNEL_LOGGER);
            assert_true(etw_sim_session_get(rig.sim, ETW_KERNEL_LOGGER, &info));
            assert_int_equal(info.group_mask[0], in_use == LIVE_IN_USE_UPDATE ? 0x10001 : 0x10000);
        }
        rig_stop(&rig);
        assert_true(etw_sim_session_runs(rig.sim, ETW_KERNEL_LOGGER));
        rig_fini(&rig);
    }
}

static void the_kernel_logger_that_is_free_is_ours(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct live_kernel settings = kernel_settings(&rig);
    rig_start_as(&rig, ETW_PLAN_KERNEL, &settings, NULL, 0);
    rig_await(&rig, rig_reads, ETW_KERNEL_LOGGER);
    rig_stop(&rig);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static bool is_set_up(struct rig *rig, const void *name)
{
    struct etw_sim_enablement enablement;
    return etw_sim_enabled(rig->sim, name, &provider_guid, &enablement);
}

static void a_recorded_session_leaves_a_file_and_hands_events_on_if_asked(void **state)
{
    (void)state;
    for (int live = 0; live <= 1; live++) {
        struct rig rig;
        char path[TEMP_FOLDER_BYTES + 32];
        rig_init(&rig, NULL);
        snprintf(path, sizeof(path), "%s/live%d.etl", folder, live);
        struct live_record settings = {
            .session = rig.settings.session, .log_file = {.path = path}, .live = live};
        struct etw_sim_provider *provider = add_provider(&rig);
        struct provider_spec spec = rig_spec(provider_text);
        rig_start_as(&rig, ETW_PLAN_RECORD, &settings, &spec, 1);
        rig_await(&rig, live ? is_enabled : is_set_up, NAME);
        write_events(provider, 50);
        rig_stop(&rig);
        assert_int_equal(rig.events, live ? 50 : 0);
        struct etw_sim_session_info info;
        assert_true(etw_sim_session_get(rig.sim, NAME, &info));
        assert_int_equal(info.counts.in_file, 50);
        assert_int_equal(plat_path_kind(path), PLAT_PATH_FILE);
        assert_nothing_left(&rig);
        rig_fini(&rig);
    }
}

/* ---- again and again ------------------------------------------------------------------------------------ */

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
            etw_sim_session_count(rig.sim); /* let some time go by, more in each round */
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
    assert_true(rig_has_note(&rig, "it is given up"));
    uint64_t events = rig.events;
    write_events(provider, 3);
    assert_true(etw_control_stop(NAME, NULL, NULL));
    assert_true(etw_consume_reap(UINT64_MAX));
    assert_int_equal(rig.events, events); /* nothing came into a sink that is gone */
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
        cmocka_unit_test(a_session_that_somebody_stops_is_started_again),
        cmocka_unit_test(a_start_that_fails_is_tried_again_and_told_once),
        cmocka_unit_test(a_half_failed_start_leaves_nothing),
        cmocka_unit_test(missing_functions_degrade_the_session_alone),
        cmocka_unit_test(without_any_session_call_it_says_so_and_waits),
        cmocka_unit_test(raw_buffers_bring_the_same_events),
        cmocka_unit_test(the_sink_ends_the_session),
        cmocka_unit_test(the_sink_ends_a_session_without_events_too),
        cmocka_unit_test(a_provider_that_comes_later_is_read),
        cmocka_unit_test(a_refused_provider_is_told_and_the_others_are_read),
        cmocka_unit_test(entries_of_one_provider_become_one_request),
        cmocka_unit_test(states_are_asked_for_when_somebody_listens),
        cmocka_unit_test(states_are_asked_for_again_after_a_while),
        cmocka_unit_test(a_classic_provider_is_taken_from_nobody_who_was_not_named),
        cmocka_unit_test(what_an_earlier_run_left_is_replaced),
        cmocka_unit_test(what_runs_already_can_be_taken_over_or_refused),
        cmocka_unit_test(somebody_elses_session_is_read_and_left),
        cmocka_unit_test(a_session_that_is_not_there_yet_is_waited_for),
        cmocka_unit_test(where_the_agent_did_not_run_events_may_be_missing),
        cmocka_unit_test(a_kept_session_bridges_a_restart),
        cmocka_unit_test(nothing_is_kept_that_would_not_be_known_again),
        cmocka_unit_test(what_a_kept_session_lost_meanwhile_is_told_once),
        cmocka_unit_test(counters_of_an_earlier_session_of_the_name_are_not_taken_for_its_own),
        cmocka_unit_test(kernel_events_come_in_a_session_of_our_own),
        cmocka_unit_test(the_kernel_logger_of_somebody_else_is_never_stopped),
        cmocka_unit_test(the_kernel_logger_that_is_free_is_ours),
        cmocka_unit_test(a_recorded_session_leaves_a_file_and_hands_events_on_if_asked),
        cmocka_unit_test(two_hundred_rounds_leave_nothing),
        cmocka_unit_test(a_stop_at_any_moment_leaves_nothing),
        cmocka_unit_test(a_stop_comes_to_an_end_whatever_windows_does),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
