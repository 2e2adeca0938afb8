/* The behaviour of the layer over sessions and providers of the simulated Windows. The other tests
 * here look at bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "etw/enable/etw_enable.h"
#include "etw/enable/etw_registrations.h"
#include "etw/session/etw_kernel.h"
#include "support/etw_sim/etw_sim.h"
#include "support/test.h"

static struct etw_sim *sim;

static void begin_world(const struct etw_sim_options *options)
{
    sim = etw_sim_create(options, NULL);
    assert_non_null(sim);
    etw_api_use(etw_sim_api(sim));
}

static int end_world(void **state)
{
    (void)state;
    etw_api_use(NULL);
    etw_sim_destroy(sim);
    sim = NULL;
    return 0;
}

#define world_test(function) cmocka_unit_test_teardown(function, end_world)

static struct etw_session_state start(const char *name, uint32_t mode)
{
    struct etw_session_spec spec = {.name = name,
        .clock = 1,
        .buffer_kb = 64,
        .min_buffers = 8,
        .max_buffers = 28,
        .flush_ms = 1000,
        .mode = mode};
    struct etw_session_state session;
    struct error err;
    if (!etw_control_start(&spec, &session, &err)) {
        fail_msg("%s", err.text);
    }
    return session;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void a_started_session_says_what_became_of_it(void **state)
{
    struct etw_session_spec spec = {.name = "etwship-a",
        .clock = 2,
        .buffer_kb = 128,
        .min_buffers = 1,
        .max_buffers = 40,
        .flush_ms = 1500,
        .mode = ETW_MODE_REAL_TIME | ETW_MODE_INDEPENDENT_SESSION};
    struct etw_session_state session;
    (void)state;
    begin_world(&(struct etw_sim_options){.processors = 4});
    assert_true(etw_control_start(&spec, &session, NULL));
    assert_string_equal(session.name, "etwship-a");
    assert_string_equal(session.file, "");
    assert_int_equal(session.clock, 2);
    assert_int_equal(session.buffer_kb, 128);
    assert_int_equal(session.min_buffers, 8); /* two per processor */
    assert_int_equal(session.max_buffers, 40);
    assert_int_equal(session.flush_ms, 1500);
    struct etw_session_state asked;
    assert_true(etw_control_query("ETWSHIP-A", &asked, NULL));
    assert_int_equal(asked.handle, session.handle);
    assert_false(guid_is_zero(&asked.guid));
}

static void a_windows_without_timers_in_ms_gets_seconds(void **state)
{
    struct etw_session_spec spec = {
        .name = "etwship-a", .flush_ms = 1500, .mode = ETW_MODE_REAL_TIME};
    struct etw_session_state session;
    (void)state;
    begin_world(&(struct etw_sim_options){.no_ms_flush_timer = true});
    assert_true(etw_control_start(&spec, &session, NULL));
    assert_int_equal(session.flush_ms, 2000);
}

static void two_hundred_starts_and_stops_leave_nothing(void **state)
{
    (void)state;
    begin_world(&(struct etw_sim_options){.processors = 2});
    for (int i = 0; i < 200; i++) {
        struct etw_session_state last;
        start("etwship-a", ETW_MODE_REAL_TIME);
        assert_true(etw_control_stop("etwship-a", &last, NULL));
        assert_string_equal(last.name, "etwship-a");
    }
    assert_int_equal(etw_sim_session_count(sim), 0);
}

static void what_runs_already_is_named(void **state)
{
    struct etw_session_spec spec = {.name = "etwship-a", .mode = ETW_MODE_REAL_TIME};
    struct etw_session_state session;
    struct error err;
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    session = start("Foreign", ETW_MODE_REAL_TIME);
    spec.guid = session.guid;
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.os_code, ETW_ERROR_ALREADY_EXISTS);
    assert_non_null(strstr(err.text, "session 'Foreign' already has its GUID"));
    spec.guid = (struct guid){{0}};
    spec.name = "foreign";
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.os_code, ETW_ERROR_ALREADY_EXISTS);
    assert_true(etw_sim_session_runs(sim, "Foreign"));
    assert_int_equal(etw_sim_session_count(sim), 1);
}

static void full_slots_are_explained(void **state)
{
    struct etw_session_spec spec = {.name = "etwship-a", .mode = ETW_MODE_REAL_TIME};
    struct etw_session_state session;
    struct error err;
    char name[32];
    (void)state;
    begin_world(&(struct etw_sim_options){.max_sessions = 70});
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "%s %d", i == 5 ? "Kernel" : "Other", i);
        start(name, ETW_MODE_REAL_TIME | (i == 5 ? ETW_MODE_SYSTEM_LOGGER : 0));
    }
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.os_code, ETW_ERROR_NO_SYSTEM_RESOURCES);
    assert_non_null(strstr(err.text, "70 of 70 sessions run, 1 of 8 with kernel events: Kernel 5"));
    struct etw_session_list list;
    assert_true(etw_control_list(&list, NULL));
    assert_int_equal(list.count, 70);
    assert_non_null(etw_control_find(&list, "other 69"));
    etw_control_list_fini(&list);
}

static void a_missing_right_is_reported(void **state)
{
    struct etw_session_spec spec = {.name = "etwship-a", .mode = ETW_MODE_REAL_TIME};
    struct etw_session_state session;
    struct error err;
    (void)state;
    begin_world(&(struct etw_sim_options){.not_administrator = true});
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.os_code, ETW_ERROR_ACCESS_DENIED);
    assert_non_null(strstr(err.text, "run as administrator"));
}

static void a_running_session_can_be_changed(void **state)
{
    struct etw_session_change change = {
        .set_max_buffers = true, .max_buffers = 99, .set_flush = true, .flush_ms = 2001};
    struct etw_session_state session;
    struct error err;
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    start("etwship-a", ETW_MODE_REAL_TIME | ETW_MODE_INDEPENDENT_SESSION);
    assert_true(etw_control_update("etwship-a", &change, &session, NULL));
    assert_int_equal(session.max_buffers, 99);
    assert_int_equal(session.flush_ms, 3000); /* it was started with seconds */
    assert_int_equal(session.mode, ETW_MODE_REAL_TIME | ETW_MODE_INDEPENDENT_SESSION);
    assert_true(etw_control_flush("etwship-a", NULL));
    assert_false(etw_control_update("nobody", &change, &session, &err));
    assert_int_equal(err.os_code, ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
}

/* ---- providers ------------------------------------------------------------------------------- */

static const struct guid guid_a = {{0xa, 1}};

static void a_provider_gets_what_was_asked_for(void **state)
{
    static struct etw_request request = {.provider = {{0xa, 1}},
        .level = 4,
        .any = 0x12,
        .all = 0x2,
        .properties = ETW_ENABLE_SID,
        .events = {.count = 2, .ids = {1, 7}},
        .executables = {.count = 1, .texts = {"a.exe"}},
        .stack_events = {.count = 1, .ids = {7}}};
    struct etw_outcome outcome;
    struct etw_sim_enablement enablement;
    struct etw_sim_provider_state told;
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    etw_sim_process_start(sim, &(struct etw_sim_process){.pid = 880, .image = "a.exe"});
    struct etw_sim_provider *provider = etw_sim_provider_add(
        sim, &(struct etw_sim_provider_options){.guid = guid_a, .name = "A", .pid = 880});
    struct etw_session_state session = start("etwship-a", ETW_MODE_REAL_TIME);
    assert_true(etw_enable_provider(session.handle, "A", &request, &outcome, NULL));
    assert_int_equal(outcome.refused, 0);
    assert_int_equal(outcome.acting, 0x1208);
    assert_true(etw_sim_enabled(sim, "etwship-a", &guid_a, &enablement));
    assert_int_equal(enablement.level, 4);
    assert_int_equal(enablement.any, 0x12);
    assert_int_equal(enablement.all, 0x2);
    assert_int_equal(enablement.property, ETW_ENABLE_SID | ETW_ENABLE_STACK_TRACE);
    assert_int_equal(enablement.filter_count, 3);
    assert_true(etw_enable_capture_state(session.handle, "A", &guid_a, false, 0, NULL));
    etw_sim_provider_get(provider, &told);
    assert_true(told.enabled);
    assert_int_equal(told.capture_states, 1);
    assert_true(etw_enable_stop(session.handle, "A", &guid_a, false, NULL));
    assert_false(etw_sim_enabled(sim, "etwship-a", &guid_a, &enablement));
}

/* Windows refuses that as an update. */
static void the_level_of_a_provider_that_is_not_registered_can_be_changed(void **state)
{
    static struct etw_request request = {.provider = {{0xa, 1}}, .level = 3};
    struct etw_outcome outcome;
    struct etw_sim_enablement enablement;
    struct etw_sim_provider_state told;
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    struct etw_sim_provider *provider = etw_sim_provider_add(
        sim, &(struct etw_sim_provider_options){.guid = guid_a, .unregistered = true});
    uint64_t session = start("etwship-a", ETW_MODE_REAL_TIME).handle;
    assert_true(etw_enable_provider(session, "A", &request, &outcome, NULL));
    request.level = 5;
    assert_true(etw_enable_provider(session, "A", &request, &outcome, NULL));
    assert_true(etw_sim_enabled(sim, "etwship-a", &guid_a, &enablement));
    assert_int_equal(enablement.level, 5);
    etw_sim_provider_register(provider);
    etw_sim_provider_get(provider, &told);
    assert_int_equal(told.level, 5);
}

static void a_group_is_asked_and_disabled_as_a_group(void **state)
{
    static struct etw_request request = {
        .provider = {{0x67, 1}}, .properties = ETW_ENABLE_PROVIDER_GROUP};
    const struct guid *group = &request.provider;
    struct etw_outcome outcome;
    struct etw_sim_provider_state told;
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    struct etw_sim_provider *member = etw_sim_provider_add(
        sim, &(struct etw_sim_provider_options){.guid = guid_a, .group = *group});
    uint64_t session = start("etwship-a", ETW_MODE_REAL_TIME).handle;
    assert_true(etw_enable_provider(session, "G", &request, &outcome, NULL));
    assert_true(etw_enable_capture_state(session, "G", group, false, 0, NULL));
    etw_sim_provider_get(member, &told);
    assert_int_equal(told.capture_states, 0);
    assert_true(etw_enable_capture_state(session, "G", group, true, 0, NULL));
    assert_true(etw_enable_stop(session, "G", group, false, NULL));
    etw_sim_provider_get(member, &told);
    assert_int_equal(told.capture_states, 1);
    assert_true(told.enabled);
    assert_true(etw_enable_stop(session, "G", group, true, NULL));
    etw_sim_provider_get(member, &told);
    assert_false(told.enabled);
}

static void a_provider_that_serves_eight_sessions_names_them(void **state)
{
    static struct etw_request request = {.provider = {{0xa, 1}}};
    struct etw_outcome outcome;
    struct error err;
    char name[32];
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    etw_sim_provider_add(sim, &(struct etw_sim_provider_options){.guid = guid_a, .name = "A"});
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "S%d", i);
        uint64_t handle = start(name, ETW_MODE_REAL_TIME).handle;
        assert_true(etw_enable_provider(handle, "A", &request, &outcome, NULL));
    }
    uint64_t ninth = start("etwship-a", ETW_MODE_REAL_TIME).handle;
    assert_false(etw_enable_provider(ninth, "A", &request, &outcome, &err));
    assert_int_equal(err.os_code, ETW_ERROR_NO_SYSTEM_RESOURCES);
    assert_non_null(strstr(err.text, "S0, S1, S2, S3, S4, S5, S6, S7"));
}

static void the_owner_of_a_classic_provider_is_found(void **state)
{
    static struct etw_request request = {.provider = {{0xa, 1}}};
    struct etw_outcome outcome;
    struct etw_session_list list;
    struct etw_registrations found;
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    etw_sim_provider_add(
        sim, &(struct etw_sim_provider_options){
                 .guid = guid_a, .name = "A", .kind = ETW_SIM_CLASSIC, .pid = 880});
    assert_true(etw_registrations_query(&guid_a, &found, NULL));
    assert_true(found.is_classic);
    assert_int_equal(found.hold_count, 0);
    uint64_t other = start("Other", ETW_MODE_REAL_TIME).handle;
    uint64_t ours = start("etwship-a", ETW_MODE_REAL_TIME).handle;
    assert_true(etw_enable_provider(other, "A", &request, &outcome, NULL));
    assert_true(etw_registrations_query(&guid_a, &found, NULL));
    assert_true(etw_control_list(&list, NULL));
    assert_string_equal(etw_registrations_owner(&found, &list, ours)->name, "Other");
    assert_null(etw_registrations_owner(&found, &list, other));
    etw_control_list_fini(&list);
}

static void an_unregistered_provider_is_known_to_have_no_owner(void **state)
{
    struct etw_registrations found;
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    assert_true(etw_registrations_query(&guid_a, &found, NULL));
    assert_true(found.known);
    assert_int_equal(found.instance_count, 0);
    struct guid *guids;
    size_t count;
    etw_sim_provider_add(sim, &(struct etw_sim_provider_options){.guid = guid_a, .name = "A"});
    assert_true(etw_registrations_list(&guids, &count, NULL));
    bool is_listed = false;
    for (size_t i = 0; i < count; i++) {
        is_listed = is_listed || guid_equal(&guids[i], &guid_a);
    }
    assert_true(is_listed);
    free(guids);
}

/* ---- kernel events --------------------------------------------------------------------------- */

static const struct etw_groups groups = {{0x3, 0x40, 0, 0, 0x80}};

static bool start_kernel(struct etw_session_state *ret_session, struct error *err)
{
    static const struct etw_stack_event stacks[2] = {{{{1}}, 1}, {{{2}}, 2}};
    struct etw_session_spec spec = {
        .name = "etwship-k", .buffer_kb = 64, .mode = ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER};
    return etw_kernel_start(&spec, &groups, stacks, 2, ret_session, err);
}

static void a_kernel_session_has_its_groups_and_stacks(void **state)
{
    struct etw_session_state session;
    struct etw_sim_session_info info;
    struct etw_groups more = {{0x100, 0, 0x1}};
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    assert_true(start_kernel(&session, NULL));
    assert_true(etw_sim_session_get(sim, "etwship-k", &info));
    assert_true(info.system);
    assert_int_equal(info.group_mask[0], 0x3);
    assert_int_equal(info.group_mask[1], 0x40);
    assert_int_equal(info.group_mask[4], 0x80);
    assert_int_equal(info.stack_ids, 2);
    assert_true(etw_kernel_set_groups(session.handle, "etwship-k", &more, NULL));
    assert_true(etw_sim_session_get(sim, "etwship-k", &info));
    assert_int_equal(info.group_mask[0], 0x103);
    assert_int_equal(info.group_mask[1], 0x40);
    assert_int_equal(info.group_mask[2], 0x1);
    assert_true(etw_kernel_rundown(session.handle, "etwship-k", NULL));
}

static void groups_reach_an_older_windows_with_the_start(void **state)
{
    struct etw_session_state session;
    struct etw_sim_session_info info;
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    assert_true(etw_sim_fail(sim, "TraceQueryInformation", 1, 0, ETW_ERROR_NOT_SUPPORTED));
    assert_true(start_kernel(&session, NULL));
    assert_true(etw_sim_session_get(sim, "etwship-k", &info));
    assert_int_equal(info.group_mask[0], 0x3);
    assert_int_equal(info.group_mask[1], 0x40);
    assert_int_equal(info.group_mask[4], 0x80);
    assert_int_equal(etw_sim_session_count(sim), 1);
}

static void a_kernel_session_that_fails_anywhere_leaves_nothing(void **state)
{
    static const char *const functions[] = {
        "StartTraceW", "TraceQueryInformation", "TraceSetInformation", "ControlTraceW"};
    (void)state;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        for (uint32_t nth = 1; nth < 5; nth++) {
            struct etw_session_state session = {.handle = 99};
            struct error err = {.code = ERR_NONE};
            begin_world(&(struct etw_sim_options){0});
            assert_true(etw_sim_fail(sim, functions[i], nth, 1, ETW_ERROR_ACCESS_DENIED));
            bool ok = start_kernel(&session, &err);
            assert_int_equal(etw_sim_session_count(sim), ok);
            assert_int_equal(ok, err.code == ERR_NONE);
            assert_true(ok || session.handle == 99);
            end_world(state);
        }
    }
    begin_world(&(struct etw_sim_options){0});
}

static void a_world_without_a_function_is_told_which(void **state)
{
    static const char *const functions[] = {"StartTraceW", "ControlTraceW", "QueryAllTracesW",
        "EnableTraceEx2", "EnumerateTraceGuidsEx", "TraceSetInformation", "TraceQueryInformation"};
    static struct etw_request request = {.provider = {{0xa, 1}}};
    (void)state;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        struct etw_session_spec spec = {.name = "etwship-a", .mode = ETW_MODE_REAL_TIME};
        struct etw_session_state session = {0};
        struct etw_session_list list;
        struct etw_outcome outcome;
        struct etw_registrations found;
        struct error err;
        uint32_t old;
        begin_world(&(struct etw_sim_options){0});
        assert_true(etw_sim_remove(sim, functions[i]));
        bool started = etw_control_start(&spec, &session, &err);
        assert_true(started || strstr(err.text, functions[i]));
        if (etw_control_list(&list, &err)) {
            etw_control_list_fini(&list);
        } else {
            assert_non_null(strstr(err.text, functions[i]));
        }
        bool enabled = etw_enable_provider(session.handle, "A", &request, &outcome, &err);
        assert_true(enabled || !started || strstr(err.text, functions[i]));
        assert_true(etw_registrations_query(&guid_a, &found, &err));
        bool set = etw_kernel_set_profile(10000, &old, &err);
        assert_true(set || strstr(err.text, functions[i]));
        end_world(state);
    }
    begin_world(&(struct etw_sim_options){0});
}

static void the_profile_timer_is_set_and_set_back(void **state)
{
    uint32_t old = 0;
    uint32_t before = 0;
    struct error err;
    (void)state;
    begin_world(&(struct etw_sim_options){0});
    assert_true(etw_kernel_set_profile(1221, &before, NULL));
    assert_true(etw_kernel_set_profile(before, &old, NULL));
    assert_int_equal(old, 1221);
    end_world(state);
    begin_world(&(struct etw_sim_options){.no_profile_privilege = true});
    assert_false(etw_kernel_set_profile(1221, &before, &err));
    assert_int_equal(err.os_code, ETW_ERROR_PRIVILEGE_NOT_HELD);
    assert_non_null(strstr(err.text, "Profile system performance"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_started_session_says_what_became_of_it),
        world_test(a_windows_without_timers_in_ms_gets_seconds),
        world_test(two_hundred_starts_and_stops_leave_nothing),
        world_test(what_runs_already_is_named),
        world_test(full_slots_are_explained),
        world_test(a_missing_right_is_reported),
        world_test(a_running_session_can_be_changed),
        world_test(a_provider_gets_what_was_asked_for),
        world_test(the_level_of_a_provider_that_is_not_registered_can_be_changed),
        world_test(a_group_is_asked_and_disabled_as_a_group),
        world_test(a_provider_that_serves_eight_sessions_names_them),
        world_test(the_owner_of_a_classic_provider_is_found),
        world_test(an_unregistered_provider_is_known_to_have_no_owner),
        world_test(a_kernel_session_has_its_groups_and_stacks),
        world_test(groups_reach_an_older_windows_with_the_start),
        world_test(a_kernel_session_that_fails_anywhere_leaves_nothing),
        world_test(a_world_without_a_function_is_told_which),
        world_test(the_profile_timer_is_set_and_set_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
