#define _GNU_SOURCE

#include <stdatomic.h>

#include "etw_session_rig.h"
#include "support/etw_sim/etw_sim.h"

/* The ETW session that an input leaves running for the next one in the process. */

static struct buf takeover;

static int make_takeover(void **state)
{
    (void)state;
    buf_init(&takeover, 1 << 20);
    return 0;
}

static int free_takeover(void **state)
{
    (void)state;
    buf_fini(&takeover);
    return 0;
}

/* As a reload does. */
static void pass_on(struct rig *rig)
{
    etw_session_pass_on(rig->session);
    etw_session_stop(rig->session);
    rig_join(rig);
    buf_reset(&takeover);
    etw_session_write_takeover(rig->session, &takeover);
    etw_session_destroy(rig->session);
    rig->session = NULL;
    rig->takeover = buf_span(&takeover);
    buf_reset(&rig->notes);
}

static struct live_kernel kernel_settings(struct rig *rig)
{
    static const char *flags[] = {"process"};
    return (struct live_kernel){.session = rig->settings.session, .groups = {.flags = {flags, 1}}};
}

static void change_flags_of_kernel_logger(struct rig *rig)
{
    struct etw_sim_session_info info;
    const struct etw_groups more = {.words = {2}};
    assert_true(etw_sim_session_get(rig->sim, ETW_KERNEL_LOGGER, &info));
    assert_true(etw_kernel_set_groups(info.handle, ETW_KERNEL_LOGGER, &more, NULL));
}

static void a_kernel_logger_whose_flags_were_changed_goes_on(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct live_kernel settings = kernel_settings(&rig);
    rig_start_as(&rig, ETW_PLAN_KERNEL, &settings, NULL, 0);
    rig_await(&rig, rig_has_note, "flushed every");
    change_flags_of_kernel_logger(&rig);
    pass_on(&rig);
    assert_true(etw_sim_session_runs(rig.sim, ETW_KERNEL_LOGGER));
    rig_start_as(&rig, ETW_PLAN_KERNEL, &settings, NULL, 0);
    rig_await(&rig, rig_has_note, "continues the running session NT Kernel Logger");
    rig_await(&rig, rig_reads, ETW_KERNEL_LOGGER);
    rig_stop(&rig);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void one_that_is_not_taken_over_is_stopped(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct live_kernel settings = kernel_settings(&rig);
    rig_start_as(&rig, ETW_PLAN_KERNEL, &settings, NULL, 0);
    rig_await(&rig, rig_has_note, "flushed every");
    pass_on(&rig);
    assert_true(etw_sim_session_runs(rig.sim, ETW_KERNEL_LOGGER));
    etw_session_end_takeover(rig.takeover);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void what_was_left_out_of_a_group_comes_when_it_is_not_any_more(void **state)
{
    (void)state;
    struct rig rig;
    const struct guid group = {{0x67, 1}};
    const struct guid unwanted = {{0x78, 1}};
    const char *left_out[] = {"00000178-0000-0000-0000-000000000000"};
    const struct etw_sim_event event = {.descriptor = {.id = 7, .level = 4}};
    rig_init(&rig, NULL);
    struct etw_sim_provider *member = etw_sim_provider_add(
        rig.sim, &(struct etw_sim_provider_options){.guid = unwanted, .pid = 901, .group = group});
    struct provider_spec spec = rig_spec("00000167-0000-0000-0000-000000000000");
    spec.group = true;
    spec.disallow = (struct config_strings){left_out, 1};
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, rig_has_note, "flushed every");
    assert_int_equal(etw_sim_burst(member, &event, 0, 3, 0), 3);
    pass_on(&rig);
    spec.disallow.count = 0;
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, rig_has_note, "continues the running session " NAME);
    const struct enabling wanted = {group, 2};
    rig_await(&rig, has_enabled, &wanted);
    assert_int_equal(etw_sim_burst(member, &event, 0, 2, 0), 2);
    rig_stop(&rig);
    assert_int_equal(rig.events, 2);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static struct guid shape_of(const struct live_kernel *settings)
{
    struct error err;
    const struct input_env env = {.name = "test"};
    struct etw_plan *plan = etw_plan_create(ETW_PLAN_SYSTEM, settings, &env, &err);
    assert_non_null(plan);
    struct guid shape = plan->shape;
    etw_plan_destroy(plan);
    return shape;
}

static void other_counters_are_another_session(void **state)
{
    (void)state;
    struct rig rig;
    static const char *sources[] = {"TotalIssues", "BranchInstructions"};
    static const char *events[] = {"0x1402"};
    rig_init(&rig, NULL);
    struct live_kernel settings = kernel_settings(&rig);
    struct guid none = shape_of(&settings);
    settings.groups.counters.events = (struct config_strings){events, 1};
    settings.groups.counters.sources = (struct config_strings){sources, 1};
    struct guid one = shape_of(&settings);
    struct guid again = shape_of(&settings);
    settings.groups.counters.sources.count = 2;
    struct guid two = shape_of(&settings);
    assert_false(guid_equal(&none, &one));
    assert_false(guid_equal(&one, &two));
    assert_true(guid_equal(&one, &again));
    rig_fini(&rig);
}

/* ---- a stop before anything was read --------------------------------------------------------- */

/* ProcessTrace reaches the session only after the stop was requested. */
static struct {
    const struct etw_api *simulated;
    uint32_t control;
    atomic_bool was_asked;
} late;

static uint32_t note_control(
    uint64_t handle, const etw_char *name, struct etw_properties *properties, uint32_t code)
{
    uint32_t result = late.simulated->ControlTraceW(handle, name, properties, code);
    if (code == late.control) {
        atomic_store(&late.was_asked, true);
    }
    return result;
}

static uint32_t process_late(
    const uint64_t *handles, uint32_t count, const int64_t *start_time, const int64_t *end_time)
{
    AWAIT(atomic_load(&late.was_asked));
    return late.simulated->ProcessTrace(handles, count, start_time, end_time);
}

/* Three events wait in a session that was handed to an input which is asked to stop at once. Its
 * reader begins after ${control}. */
static void stop_before_the_reader_comes(struct rig *rig, uint32_t control)
{
    static struct etw_api table;
    late.control = control;
    atomic_store(&late.was_asked, false);
    struct etw_sim_provider *provider = add_provider(rig);
    start(rig);
    rig_await(rig, is_enabled, NAME);
    pass_on(rig);
    write_events(provider, 3);
    late.simulated = etw_api_get();
    table = *late.simulated;
    table.ControlTraceW = note_control;
    table.ProcessTrace = process_late;
    etw_api_use(&table);
    start(rig);
    rig_stop(rig);
    etw_api_use(late.simulated);
    assert_true(rig_has_note(rig, "continues the running session " NAME));
    assert_nothing_left(rig);
}

static void what_waits_is_read_by_a_slow_reader_before_the_session_ends(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.timing.begin_ms = RIG_WAIT_MS;
    stop_before_the_reader_comes(&rig, ETW_CONTROL_FLUSH);
    assert_int_equal(rig.events, 3);
    assert_int_equal(rig.gap_count, 0);
    rig_fini(&rig);
}

static void what_no_reader_comes_to_in_time_is_missing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.timing.begin_ms = 1;
    stop_before_the_reader_comes(&rig, ETW_CONTROL_STOP);
    assert_int_equal(rig.events, 0);
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].stage, "agent");
    assert_string_equal(rig.gaps[0].reason, "session_stopped");
    rig_fini(&rig);
}

static void what_cannot_be_read_before_a_stop_is_missing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    pass_on(&rig);
    write_events(provider, 3);
    rig.last_time = 1000;
    assert_true(etw_sim_fail(rig.sim, "OpenTraceW", 1, 0, ETW_ERROR_NO_SYSTEM_RESOURCES));
    start(&rig);
    rig_stop(&rig);
    assert_int_equal(rig.events, 0);
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].reason, "session_stopped");
    assert_int_equal(rig.gaps[0].from, 1000);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_logger_whose_flags_were_changed_goes_on),
        cmocka_unit_test(one_that_is_not_taken_over_is_stopped),
        cmocka_unit_test(what_was_left_out_of_a_group_comes_when_it_is_not_any_more),
        cmocka_unit_test(other_counters_are_another_session),
        cmocka_unit_test(what_waits_is_read_by_a_slow_reader_before_the_session_ends),
        cmocka_unit_test(what_no_reader_comes_to_in_time_is_missing),
        cmocka_unit_test(what_cannot_be_read_before_a_stop_is_missing),
    };
    return cmocka_run_group_tests(tests, make_takeover, free_takeover);
}
