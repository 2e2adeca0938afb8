#include <stdatomic.h>

#include "etw/session/etw_kernel.h"
#include "etw_session_rig.h"
#include "support/etw_sim/etw_sim.h"

/* A session that changes the profile interval of the machine, or counts with its processors. */

enum { OURS_100NS = 2000, MACHINES_100NS = 10000 };

static uint32_t interval_now(void)
{
    struct etw_profile_interval now = {.source = 0};
    uint32_t bytes = 0;
    assert_int_equal(etw_api_get()->TraceQueryInformation(
                         0, ETW_INFO_SAMPLED_PROFILE_INTERVAL, &now, sizeof(now), &bytes),
        ETW_SUCCESS);
    return now.interval_100ns;
}

static void start_profiling(struct rig *rig)
{
    static const char *flags[] = {"process"};
    const struct live_kernel settings = {.session = rig->settings.session,
        .groups = {.flags = {flags, 1}, .profile_ns = OURS_100NS * 100}};
    assert_int_equal(interval_now(), MACHINES_100NS);
    rig_start_as(rig, ETW_PLAN_SYSTEM, &settings, NULL, 0);
}

static void await_profiling(struct rig *rig)
{
    start_profiling(rig);
    rig_await(rig, rig_has_note, "flushed every");
    assert_int_equal(interval_now(), OURS_100NS);
}

static void the_end_of_a_session_restores_the_interval(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    await_profiling(&rig);
    rig_stop(&rig);
    assert_int_equal(interval_now(), MACHINES_100NS);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void a_stop_by_another_program_restores_the_interval_too(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    await_profiling(&rig);
    assert_true(etw_sim_fail(rig.sim, "StartTraceW", 1, 0, ETW_ERROR_NO_SYSTEM_RESOURCES));
    assert_true(etw_control_stop(NAME, NULL, NULL));
    rig_await(&rig, rig_has_note, "was stopped by another program");
    rig_stop(&rig);
    assert_int_equal(interval_now(), MACHINES_100NS);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void an_interval_that_cannot_be_restored_is_told(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    await_profiling(&rig);
    assert_true(etw_sim_fail(rig.sim, "TraceSetInformation", 1, 0, ETW_ERROR_ACCESS_DENIED));
    rig_stop(&rig);
    assert_true(rig_has_note(&rig, "the profile interval is not restored: "));
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

/* ---- counters -------------------------------------------------------------------------------- */

static void more_counters_than_a_session_has_are_refused_and_none_is_left_out(void **state)
{
    (void)state;
    static const char *flags[] = {"process"};
    static const char *events[] = {"0x1402"};
    static const char *sources[LIVE_MAX_COUNTERS + 1];
    struct rig rig;
    rig_init(&rig, NULL);
    for (size_t i = 0; i < LIVE_MAX_COUNTERS + 1; i++) {
        sources[i] = "TotalIssues";
    }
    struct live_kernel settings = {.session = rig.settings.session,
        .groups = {.flags = {flags, 1},
            .counters = {.sources = {sources, LIVE_MAX_COUNTERS + 1}, .events = {events, 1}}}};
    rig_start_as(&rig, ETW_PLAN_SYSTEM, &settings, NULL, 0);
    rig_await(&rig, rig_has_note, "flushed every");
    assert_true(rig_has_note(&rig, "counters: 9 are named. name at most 8"));
    rig_stop(&rig);
    buf_reset(&rig.notes);
    settings.groups.counters.sources.count = LIVE_MAX_COUNTERS;
    rig_start_as(&rig, ETW_PLAN_SYSTEM, &settings, NULL, 0);
    rig_await(&rig, rig_has_note, "flushed every");
    assert_false(rig_has_note(&rig, "counters: "));
    rig_stop(&rig);
    rig_fini(&rig);
}

/* ---- a stop while the session is between two readers ----------------------------------------- */

static struct {
    const struct etw_api *simulated;
    struct rig *rig;
    atomic_bool was_restored;
} between;

static uint32_t stop_when_restored(
    uint64_t session, uint32_t information, void *data, uint32_t bytes)
{
    const struct etw_profile_interval *interval = data;
    if (information == ETW_INFO_SAMPLED_PROFILE_INTERVAL &&
        interval->interval_100ns == MACHINES_100NS &&
        !atomic_exchange(&between.was_restored, true)) {
        etw_session_stop(between.rig->session);
    }
    return between.simulated->TraceSetInformation(session, information, data, bytes);
}

/* The interval is restored when the session is detached from, so the stop comes at that moment. */
static void a_stop_between_two_readers_ends_the_session(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    between.simulated = etw_sim_api(rig.sim);
    between.rig = &rig;
    static struct etw_api table;
    table = *between.simulated;
    table.TraceSetInformation = stop_when_restored;
    etw_api_use(&table);
    assert_true(etw_sim_fail(rig.sim, "ProcessTrace", 1, 1, ETW_ERROR_NO_SYSTEM_RESOURCES));
    start_profiling(&rig);
    rig_join(&rig);
    assert_true(between.was_restored);
    assert_int_equal(interval_now(), MACHINES_100NS);
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_session_restores_the_interval),
        cmocka_unit_test(a_stop_by_another_program_restores_the_interval_too),
        cmocka_unit_test(an_interval_that_cannot_be_restored_is_told),
        cmocka_unit_test(more_counters_than_a_session_has_are_refused_and_none_is_left_out),
        cmocka_unit_test(a_stop_between_two_readers_ends_the_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
