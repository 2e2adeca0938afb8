#ifndef ETWSHIP_TESTS_UNIT_INPUT_ETW_GUARD_RIG_H
#define ETWSHIP_TESTS_UNIT_INPUT_ETW_GUARD_RIG_H

#include "etw_session_rig.h"
#include "support/await.h"

/* The guard of a session in a simulated Windows, in which other programs stop and change our
 * session. The guard looks at every poll; the first pause between repairs lasts one poll, too. */
static const uint64_t ms = 1000000;

static inline void guard(struct rig *rig, int64_t repairs, uint64_t window_ms)
{
    rig->timing.behind_ms = 10000;
    rig->timing.clock_ms = 1000;
    rig->settings.session.guard = (struct live_guard){
        .enabled = true, .interval_ns = 1, .repairs = repairs, .window_ns = window_ms * ms};
}

struct expected {
    const char *kind;
    enum guard_action action;
    size_t count;
};

static inline size_t count_reports(struct rig *rig, const char *kind, enum guard_action action)
{
    size_t count = 0;
    plat_mutex_lock(&rig->mutex);
    for (size_t i = 0; i < rig->report_count; i++) {
        count += strcmp(rig->reports[i].kind, kind) == 0 && rig->reports[i].action == action;
    }
    plat_mutex_unlock(&rig->mutex);
    return count;
}

static inline bool is_reported(struct rig *rig, const void *what)
{
    const struct expected *expected = what;
    return count_reports(rig, expected->kind, expected->action) >= expected->count;
}

static inline void await_report(
    struct rig *rig, const char *kind, enum guard_action action, size_t count)
{
    struct expected expected = {kind, action, count};
    uint64_t begun_ns = plat_monotonic_ns();
    while (!is_reported(rig, &expected)) {
        if (!await_pause(begun_ns)) {
            fail_msg("no %s (%s); notes:\n%.*s", kind, event_guard_action_name(action),
                SPAN_ARG(buf_span(&rig->notes)));
        }
    }
}

/* There are at most ${count} reports; else the test fails and prints them. */
static inline void assert_reports(struct rig *rig, size_t count)
{
    plat_mutex_lock(&rig->mutex);
    for (size_t i = 0; rig->report_count != count && i < rig->report_count; i++) {
        print_error("report: %s (%s): %s\n", rig->reports[i].kind,
            event_guard_action_name(rig->reports[i].action), rig->reports[i].detail);
    }
    assert_int_equal(rig->report_count, count);
    plat_mutex_unlock(&rig->mutex);
}

static inline struct rig_report last_report(struct rig *rig)
{
    plat_mutex_lock(&rig->mutex);
    assert_true(rig->report_count > 0);
    struct rig_report report = rig->reports[rig->report_count - 1];
    plat_mutex_unlock(&rig->mutex);
    return report;
}

/* ---- another program ------------------------------------------------------------------------- */

enum { STRANGER = 6666 };

static inline uint64_t handle_of(struct rig *rig)
{
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(rig->sim, NAME, &info));
    return info.handle;
}

static inline void disable_provider(struct rig *rig)
{
    etw_sim_as(STRANGER, 1);
    assert_int_equal(etw_sim_api(rig->sim)->EnableTraceEx2(
                         handle_of(rig), &provider_guid, ETW_PROVIDER_DISABLE, 0, 0, 0, 0, NULL),
        0);
    etw_sim_as(0, 0);
}

static inline void stop_session_of(const char *name)
{
    etw_sim_as(STRANGER, 1);
    assert_true(etw_control_stop(name, NULL, NULL));
    etw_sim_as(0, 0);
}

static inline void update_session(const struct etw_session_change *change)
{
    struct etw_session_state after;
    etw_sim_as(STRANGER, 1);
    assert_true(etw_control_update(NAME, change, &after, NULL));
    etw_sim_as(0, 0);
}

/* Wait until the guard has looked at everything as it is now. */
static inline void await_look(struct rig *rig)
{
    static const char function[] = "EnumerateTraceGuidsEx";
    uint32_t asked = etw_sim_calls(rig->sim, function);
    AWAIT(etw_sim_calls(rig->sim, function) >= asked + 3);
}

#endif
