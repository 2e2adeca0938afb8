#define _GNU_SOURCE

#include "etw/session/etw_kernel.h"
#include "etw_guard_rig.h"
#include "support/await.h"
#include "support/etw_sim/etw_sim.h"

/* Other programs change providers and settings of a session; the guard reacts. */

/* ---- providers ------------------------------------------------------------------------------- */

static void a_quiet_session_has_nothing_to_report(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    for (int i = 0; i < 5; i++) {
        await_look(&rig);
        write_events(provider, 10);
    }
    rig_stop(&rig);
    assert_reports(&rig, 0);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void a_provider_that_is_switched_off_is_switched_on_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    disable_provider(&rig);
    await_report(&rig, "provider_disabled", GUARD_REPAIRED, 1);
    struct rig_report report = last_report(&rig);
    assert_string_equal(report.provider, provider_text);
    assert_int_equal(report.repairs, 1);
    assert_int_equal(report.by_pid, 0);
    assert_true(is_enabled(&rig, NAME));
    write_events(provider, 10);
    rig_stop(&rig);
    assert_int_equal(rig.events, 10);
    assert_reports(&rig, 1);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void a_provider_that_is_narrowed_is_widened_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    assert_int_equal(etw_sim_api(rig.sim)->EnableTraceEx2(
                         handle_of(&rig), &provider_guid, ETW_PROVIDER_ENABLE, 2, 0x8, 0, 0, NULL),
        0);
    await_report(&rig, "provider_changed", GUARD_REPAIRED, 1);
    assert_non_null(strstr(last_report(&rig).detail, "level 2 instead of 255, keywords 0x8 "
                                                     "instead of 0xffffffffffffffff"));
    struct etw_sim_enablement now;
    assert_true(etw_sim_enabled(rig.sim, NAME, &provider_guid, &now));
    assert_int_equal(now.level, 255);
    assert_int_equal(now.any, UINT64_MAX);
    rig_stop(&rig);
    rig_fini(&rig);
}

/* A repair enables a provider with the arguments of the start, even if another program has narrowed
 * them. */
static void a_repair_has_no_side_effect_that_the_start_had_not(void **state)
{
    (void)state;
    static const char text[] = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"; /* .NET's runtime */
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    struct guid was = provider_guid;
    assert_true(guid_parse(span_text(text), &provider_guid));
    struct etw_sim_provider *provider = etw_sim_provider_add(
        rig.sim, &(struct etw_sim_provider_options){
                     .guid = provider_guid, .pid = 901, .commands = 0x800000});
    struct provider_spec spec = rig_spec(text);
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_enabled, NAME);
    disable_provider(&rig);
    await_report(&rig, "provider_disabled", GUARD_REPAIRED, 1);
    assert_int_equal(etw_sim_api(rig.sim)->EnableTraceEx2(
                         handle_of(&rig), &provider_guid, ETW_PROVIDER_ENABLE, 2, 0x8, 0, 0, NULL),
        0);
    await_report(&rig, "provider_changed", GUARD_REPAIRED, 1);
    await_look(&rig); /* keywords that were never asked for are not missing */
    rig_stop(&rig);
    assert_reports(&rig, 2);
    struct etw_sim_provider_state got;
    etw_sim_provider_get(provider, &got);
    assert_int_equal(got.commanded, 0);
    assert_true(got.callbacks >= 4);
    provider_guid = was;
    rig_fini(&rig);
}

static void a_provider_that_is_registered_again_is_no_news(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    for (int i = 0; i < 3; i++) {
        if (i % 2) {
            etw_sim_provider_register(provider);
        } else {
            etw_sim_provider_unregister(provider);
        }
        await_look(&rig);
    }
    rig_stop(&rig);
    assert_reports(&rig, 0);
    rig_fini(&rig);
}

static bool is_off_again(struct rig *rig, const void *times)
{
    if (is_enabled(rig, NAME) && count_reports(rig, "provider_disabled", GUARD_GAVE_UP) == 0) {
        disable_provider(rig);
    }
    return count_reports(rig, "provider_disabled", GUARD_GAVE_UP) == *(const size_t *)times;
}

static void a_provider_that_is_disabled_again_and_again_stays_disabled(void **state)
{
    (void)state;
    static const size_t once = 1;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    disable_provider(&rig);
    rig_await(&rig, is_off_again, &once);
    assert_int_equal(count_reports(&rig, "provider_disabled", GUARD_REPAIRED), 2);
    assert_non_null(strstr(last_report(&rig).detail, "two repairs were undone"));
    assert_int_equal(last_report(&rig).repairs, 2);
    await_look(&rig);
    assert_false(is_enabled(&rig, NAME)); /* the guard looks at it and leaves it */
    rig_stop(&rig);
    assert_reports(&rig, 3);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void after_its_window_it_is_repaired_again(void **state)
{
    (void)state;
    static const size_t once = 1;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 3000);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    disable_provider(&rig);
    rig_await(&rig, is_off_again, &once);
    rig_await(&rig, is_enabled, NAME);
    rig_stop(&rig);
    rig_fini(&rig);
}

static void a_repair_that_does_not_go_is_told_and_bounded(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 2, 600000);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    disable_provider(&rig);
    /* The first repair may have been quicker. */
    await_report(&rig, "provider_disabled", GUARD_REPAIRED, 1);
    assert_true(etw_sim_fail(rig.sim, "EnableTraceEx2", 2, 0, ETW_ERROR_ACCESS_DENIED));
    disable_provider(&rig);
    await_report(&rig, "provider_disabled", GUARD_GAVE_UP, 1);
    assert_int_equal(count_reports(&rig, "provider_disabled", GUARD_FAILED), 1);
    assert_non_null(strstr(last_report(&rig).detail, "it was repaired 2 times"));
    rig_stop(&rig);
    rig_fini(&rig);
}

static void without_repairs_it_only_tells(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 0, 600000);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    disable_provider(&rig);
    await_report(&rig, "provider_disabled", GUARD_NONE, 1);
    assert_false(is_enabled(&rig, NAME));
    rig_stop(&rig);
    assert_reports(&rig, 1);
    rig_fini(&rig);
}

static void without_a_guard_no_change_is_detected(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    uint32_t asked = etw_sim_calls(rig.sim, "EnumerateTraceGuidsEx");
    uint32_t polled = etw_sim_calls(rig.sim, "ControlTraceW");
    AWAIT(etw_sim_calls(rig.sim, "ControlTraceW") >= polled + 10);
    assert_int_equal(etw_sim_calls(rig.sim, "EnumerateTraceGuidsEx"), asked);
    rig_stop(&rig);
    assert_reports(&rig, 0);
    rig_fini(&rig);
}

/* ---- settings -------------------------------------------------------------------------------- */

static void settings_that_others_change_are_changed_back(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    struct etw_sim_session_info was;
    struct etw_sim_session_info now;
    assert_true(etw_sim_session_get(rig.sim, NAME, &was));
    update_session(&(struct etw_session_change){.set_flush = true,
        .flush_ms = 3600000,
        .set_max_buffers = true,
        .max_buffers = was.minimum_buffers,
        .set_real_time = true});
    await_report(&rig, "session_changed", GUARD_REPAIRED, 1);
    assert_non_null(strstr(last_report(&rig).detail, "its events are not delivered live any more"));
    assert_true(etw_sim_session_get(rig.sim, NAME, &now));
    assert_true(now.mode & ETW_MODE_REAL_TIME);
    assert_int_equal(now.maximum_buffers, was.maximum_buffers);
    assert_int_equal(now.flush_timer_ms, was.flush_timer_ms);
    write_events(provider, 10);
    rig_stop(&rig);
    assert_int_equal(rig.events, 10);
    assert_reports(&rig, 1);
    rig_fini(&rig);
}

static void settings_that_do_no_harm_are_told_once_and_stay(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    update_session(&(struct etw_session_change){.set_max_buffers = true, .max_buffers = 100});
    await_report(&rig, "session_changed", GUARD_NONE, 1);
    await_look(&rig);
    struct etw_sim_session_info now;
    assert_true(etw_sim_session_get(rig.sim, NAME, &now));
    assert_int_equal(now.maximum_buffers, 100);
    rig_stop(&rig);
    assert_reports(&rig, 1);
    rig_fini(&rig);
}

static bool has_flags(struct rig *rig, const void *flags)
{
    struct etw_sim_session_info info;
    uint32_t wanted = *(const uint32_t *)flags;
    return etw_sim_session_get(rig->sim, NAME, &info) && rig_reads(rig, NAME) &&
           (info.group_mask[0] & wanted) == wanted;
}

static void groups_of_kernel_events_are_switched_on_again(void **state)
{
    (void)state;
    static const uint32_t flags = 0x5;
    static const char *names[] = {"process", "image_load"};
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    struct live_kernel settings = {
        .session = rig.settings.session, .groups.flags = {.items = names, .count = 2}};
    rig_start_as(&rig, ETW_PLAN_SYSTEM, &settings, NULL, 0);
    rig_await(&rig, has_flags, &flags);
    struct etw_groups none = {.words = {0}};
    assert_int_equal(etw_sim_api(rig.sim)->TraceSetInformation(handle_of(&rig),
                         ETW_INFO_SYSTEM_ENABLE_FLAGS, none.words, sizeof(none.words)),
        0);
    await_report(&rig, "session_changed", GUARD_REPAIRED, 1);
    assert_non_null(strstr(last_report(&rig).detail, "groups of kernel events were switched off"));
    assert_true(has_flags(&rig, &flags));
    rig_stop(&rig);
    rig_fini(&rig);
}

/* The flags, and events of the system provider. */
static bool has_both(struct rig *rig, const void *flags)
{
    const struct etw_sim_kernel_event event = {.hook_id = 0x060a, .process_id = 4};
    struct etw_sim_session_info before;
    struct etw_sim_session_info after;
    return etw_sim_session_get(rig->sim, NAME, &before) &&
           etw_sim_kernel_write(rig->sim, &event) == 0 &&
           etw_sim_session_get(rig->sim, NAME, &after) && has_flags(rig, flags) &&
           after.counts.logged > before.counts.logged;
}

/* Another program's UPDATE changes only the flush timer. It does not name the kernel events, so
 * Windows disables them. */
static void an_update_by_others_leaves_no_kernel_events_off(void **state)
{
    (void)state;
    static const uint32_t flags = 0x4;
    static const char *names[] = {"image_load"};
    static const struct provider_spec network = {
        .name = {(const uint8_t *)"SystemIoProvider", 16}, .any = {.given = true, .bits = 0x200}};
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.os_build = 22621});
    guard(&rig, 5, 600000);
    struct live_kernel settings = {
        .session = rig.settings.session, .groups.flags = {.items = names, .count = 1}};
    rig_start_as(&rig, ETW_PLAN_SYSTEM, &settings, &network, 1);
    rig_await(&rig, has_both, &flags);
    await_look(&rig);
    struct {
        struct etw_properties p;
        etw_char room[2 * ETW_MAX_NAME_CHARS];
    } block = {.p = {.wnode = {.buffer_size = sizeof(block)},
                   .log_file_mode = ETW_MODE_REAL_TIME,
                   .flush_timer = 30}};
    assert_int_equal(
        etw_sim_api(rig.sim)->ControlTraceW(handle_of(&rig), NULL, &block.p, ETW_CONTROL_UPDATE),
        0);
    await_report(&rig, "session_changed", GUARD_REPAIRED, 1);
    assert_non_null(strstr(last_report(&rig).detail, "groups of kernel events were switched off"));
    assert_true(has_both(&rig, &flags));
    await_look(&rig);
    rig_stop(&rig);
    assert_reports(&rig, 1); /* one report, and no contest */
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_session_has_nothing_to_report),
        cmocka_unit_test(a_provider_that_is_switched_off_is_switched_on_again),
        cmocka_unit_test(a_provider_that_is_narrowed_is_widened_again),
        cmocka_unit_test(a_repair_has_no_side_effect_that_the_start_had_not),
        cmocka_unit_test(a_provider_that_is_registered_again_is_no_news),
        cmocka_unit_test(a_provider_that_is_disabled_again_and_again_stays_disabled),
        cmocka_unit_test(after_its_window_it_is_repaired_again),
        cmocka_unit_test(a_repair_that_does_not_go_is_told_and_bounded),
        cmocka_unit_test(without_repairs_it_only_tells),
        cmocka_unit_test(without_a_guard_no_change_is_detected),
        cmocka_unit_test(settings_that_others_change_are_changed_back),
        cmocka_unit_test(settings_that_do_no_harm_are_told_once_and_stay),
        cmocka_unit_test(groups_of_kernel_events_are_switched_on_again),
        cmocka_unit_test(an_update_by_others_leaves_no_kernel_events_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
