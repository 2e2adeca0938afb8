#define _GNU_SOURCE

#include "etw_guard_rig.h"
#include "input/windows/session/etw_guard_actors.h"
#include "platform/plat_self.h"
#include "support/etw_sim/etw_sim.h"

/* The process that made a change, as the guard reports it. */

static void guard_with_actors(struct rig *rig)
{
    guard(rig, 5, 600000);
    rig->settings.session.guard.who = true;
    rig->timing.actor_ms = RIG_WAIT_MS;
}

static bool is_watched(struct rig *rig, const void *unused)
{
    char name[64];
    struct etw_sim_session_info info;
    (void)unused;
    snprintf(name, sizeof(name), "etwship-who-%u", (unsigned)plat_process_id());
    return etw_sim_session_get(rig->sim, name, &info) && info.consumers > 0;
}

/* The clock of the simulated world flushes what was written. */
static void await_actor(struct rig *rig, const char *kind)
{
    AWAIT((etw_sim_advance(rig->sim, 1000), count_reports(rig, kind, GUARD_REPAIRED) > 0));
}

static void the_actor_is_reported_where_the_guard_asks(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.own_process = plat_process_id()});
    guard_with_actors(&rig);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_await(&rig, is_watched, NULL);
    disable_provider(&rig);
    await_actor(&rig, "provider_disabled");
    assert_int_equal(last_report(&rig).by_pid, STRANGER);
    assert_string_equal(last_report(&rig).by_user, "S-1-5-18");
    stop_session_of(NAME);
    await_actor(&rig, "session_stopped");
    assert_int_equal(last_report(&rig).by_pid, STRANGER);
    rig_await(&rig, is_enabled, NAME);
    update_session(&(struct etw_session_change){.set_real_time = true});
    await_actor(&rig, "session_changed");
    assert_int_equal(last_report(&rig).by_pid, STRANGER);
    rig_stop(&rig);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void enable_provider(struct rig *rig, uint8_t level)
{
    assert_int_equal(etw_sim_api(rig->sim)->EnableTraceEx2(handle_of(rig), &provider_guid,
                         ETW_PROVIDER_ENABLE, level, UINT64_MAX, 0, 0, NULL),
        0);
}

static void a_change_of_long_ago_names_no_actor(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.own_process = plat_process_id()});
    guard_with_actors(&rig);
    rig.timing.actor_ms = 20;
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_await(&rig, is_watched, NULL);
    etw_sim_as(STRANGER, 1);
    enable_provider(&rig, 255); /* this changes nothing */
    etw_sim_as(0, 0);
    etw_sim_advance(rig.sim, 5000);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    etw_sim_advance(rig.sim, 60000);
    await_look(&rig);
    enable_provider(&rig, 2); /* Windows does not report this process */
    await_report(&rig, "provider_changed", GUARD_REPAIRED, 1);
    assert_int_equal(last_report(&rig).by_pid, 0);
    rig_stop(&rig);
    rig_fini(&rig);
}

static bool is_left_alone(struct rig *rig, const void *note)
{
    char name[64];
    struct guid events; /* Microsoft-Windows-Kernel-EventTracing */
    struct etw_sim_enablement enablement;
    assert_true(guid_parse(span_text("b675ec37-bdb6-4648-bc92-f3fdc74d3ca2"), &events));
    snprintf(name, sizeof(name), "etwship-who-%u", (unsigned)plat_process_id());
    if (is_watched(rig, NULL) && etw_sim_enabled(rig->sim, name, &events, &enablement)) {
        stop_session_of(name);
    }
    return rig_has_note(rig, note);
}

static void a_session_of_actors_that_is_stopped_often_stays_stopped(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.own_process = plat_process_id()});
    guard_with_actors(&rig);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_await(&rig, is_left_alone, "until the end of guard.window");
    assert_true(rig_has_note(&rig, "was stopped by another program and has been restarted"));
    await_look(&rig);
    /* Its own, that one, and again that one until two repairs were undone. */
    assert_int_equal(etw_sim_calls(rig.sim, "StartTraceW"), 4);
    rig_stop(&rig);
    assert_reports(&rig, 0);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void payloads_of_such_events_are_read_within_their_bounds(void **state)
{
    (void)state;
    static const uint8_t payload[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        16,                     /* GUID */
        0x00, 0x01, 0x00, 0x08, /* mode */
        'a', 0, 'b', 0, 0, 0};
    struct etw_guard_change change;
    assert_true(etw_guard_actors_read(11, span_make(payload, sizeof(payload)), &change));
    assert_int_equal(change.kind, ETW_GUARD_CHANGE_STOP);
    assert_int_equal(change.session.size, 4);
    assert_memory_equal(change.session.data, "a\0b", 4);
    assert_true(guid_is_zero(&change.provider));
    assert_true(etw_guard_actors_read(15, span_make(payload, sizeof(payload)), &change));
    assert_int_equal(change.kind, ETW_GUARD_CHANGE_DISABLE);
    assert_int_equal(change.provider.bytes[15], 16);
    assert_false(etw_guard_actors_read(13, span_make(payload, sizeof(payload)), &change));
    for (size_t size = 0; size < 20; size++) {
        assert_false(etw_guard_actors_read(12, span_make(payload, size), &change));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_actor_is_reported_where_the_guard_asks),
        cmocka_unit_test(a_change_of_long_ago_names_no_actor),
        cmocka_unit_test(a_session_of_actors_that_is_stopped_often_stays_stopped),
        cmocka_unit_test(payloads_of_such_events_are_read_within_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
