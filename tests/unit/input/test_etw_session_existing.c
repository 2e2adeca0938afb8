#define _GNU_SOURCE

#include "etw/etw_hold.h"
#include "etw_session_rig.h"
#include "input/windows/etw_kept.h"
#include "platform/plat_file.h"
#include "support/etw_sim/etw_sim.h"
#include "support/temp_folder.h"

#ifdef _WIN32
#include "support/squatter.h"
#endif

/* Sessions that run already, sessions that outlive the agent, and sessions of the kernel or a
 * file. */

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

/* ---- running sessions ------------------------------------------------------------------------ */

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

static void a_session_of_another_program_is_read_and_left(void **state)
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
    assert_int_equal(got.enables, 1); /* the other program's, not ours */
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

/* ---- sessions that outlive the agent --------------------------------------------------------- */

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
    write_events(provider, 10); /* no consumer reads */
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
    assert_int_equal(rig.gap_count, 0); /* no event is missing, so there is no gap */

    /* A session with another set-up is of no use. */
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

    /* The agent attaches to any running session, so it can be kept. */
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
    etw_kept_delete(folder, "test");
    rig_fini(&rig);
}

/* ---- kernel events and files ----------------------------------------------------------------- */

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

/* The events are older than the moment at which reading begins: a start time of now would leave
 * them out. */
static void events_of_the_start_of_the_kernel_arrive_although_no_agent_read_then(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    etw_sim_process_start(rig.sim, &(struct etw_sim_process){.pid = 4, .image = "System"});
    etw_sim_process_start(rig.sim, &(struct etw_sim_process){.pid = 80, .image = "a.exe"});
    struct live_kernel settings = kernel_settings(&rig);
    rig_start_as(&rig, ETW_PLAN_SYSTEM, &settings, NULL, 0);
    rig_await(&rig, rig_reads, NAME);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    assert_int_equal(rig_events(&rig), 2);
    assert_int_equal(rig.last.descriptor.opcode, 3); /* Process/DCStart */
    rig_stop(&rig);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void the_kernel_logger_of_another_program_is_never_stopped(void **state)
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
            rig_await(&rig, rig_has_note, "another program runs the NT Kernel Logger");
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

/* As after a kill: the agent ends, and its session continues. */
static void kill_run(struct rig *rig)
{
    etw_sim_fail_control(rig->sim, ETW_CONTROL_STOP, 1, 1, ETW_ERROR_ACCESS_DENIED);
    rig_stop(rig);
    assert_true(etw_sim_session_runs(rig->sim, ETW_KERNEL_LOGGER));
}

static void leave_kernel_logger(struct rig *rig, const struct live_kernel *settings)
{
    rig->data_dir = folder;
    rig_start_as(rig, ETW_PLAN_KERNEL, settings, NULL, 0);
    rig_await(rig, rig_has_note, "flushed every");
    kill_run(rig);
    buf_reset(&rig->notes);
}

static void the_kernel_logger_that_a_killed_run_has_left_is_ours(void **state)
{
    (void)state;
    static const char *more_flags[] = {"process", "thread"};
    static const struct {
        int in_use;
        bool keeps;
        bool more;
        bool bigger;
        const char *note;
    } rows[] = {
        {LIVE_IN_USE_FAIL, false, false, false, "stopped NT Kernel Logger"},
        {LIVE_IN_USE_ATTACH, false, false, false, "stopped NT Kernel Logger"},
        {LIVE_IN_USE_UPDATE, false, true, false, "stopped NT Kernel Logger"},
        {LIVE_IN_USE_FAIL, true, false, false, "continues the running session NT Kernel Logger"},
        {LIVE_IN_USE_FAIL, true, true, false, "stopped NT Kernel Logger"},
        {LIVE_IN_USE_FAIL, true, false, true, "stopped NT Kernel Logger"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig rig;
        struct etw_sim_session_info info;
        struct etw_kept kept;
        rig_init(&rig, NULL);
        struct live_kernel settings = kernel_settings(&rig);
        settings.in_use = rows[i].in_use;
        settings.session.keep_on_restart = rows[i].keeps;
        leave_kernel_logger(&rig, &settings);
        if (rows[i].more) {
            settings.groups.flags = (struct config_strings){more_flags, 2};
        }
        settings.session.buffers.size_bytes = rows[i].bigger ? 131072 : 65536;
        rig_start_as(&rig, ETW_PLAN_KERNEL, &settings, NULL, 0);
        rig_await(&rig, rig_has_note, "flushed every");
        rig_await(&rig, rig_reads, ETW_KERNEL_LOGGER);
        assert_true(rig_has_note(&rig, rows[i].note));
        assert_true(etw_sim_session_get(rig.sim, ETW_KERNEL_LOGGER, &info));
        assert_int_equal(info.group_mask[0], rows[i].more ? 3 : 1);
        assert_int_equal(info.buffer_kb, rows[i].bigger ? 128 : 64);
        rig_stop(&rig);
        assert_int_equal(etw_sim_session_count(rig.sim), rows[i].keeps ? 1 : 0);
        assert_int_equal(etw_kept_load(folder, "test", &kept), rows[i].keeps);
        etw_kept_delete(folder, "test");
        rig_fini(&rig);
    }
}

static void a_session_that_replaces_ours_is_left_alone(void **state)
{
    (void)state;
    static const struct etw_sim_session_options theirs[] = {
        {.mode = ETW_MODE_REAL_TIME, .enable_flags = 1},
        {.mode = ETW_MODE_REAL_TIME | ETW_MODE_INDEPENDENT_SESSION, .enable_flags = 0x10000},
    };
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
        struct rig rig;
        struct error err;
        rig_init(&rig, NULL);
        struct live_kernel settings = kernel_settings(&rig);
        leave_kernel_logger(&rig, &settings);
        assert_true(etw_control_stop(ETW_KERNEL_LOGGER, NULL, &err));
        struct etw_sim_session_options options = theirs[i];
        options.name = ETW_KERNEL_LOGGER;
        options.guid = etw_kernel_guid;
        assert_true(etw_sim_session_add(rig.sim, &options, NULL) != 0);
        rig_start_as(&rig, ETW_PLAN_KERNEL, &settings, NULL, 0);
        rig_await(&rig, rig_has_note, "another program runs the NT Kernel Logger");
        rig_stop(&rig);
        assert_true(etw_sim_session_runs(rig.sim, ETW_KERNEL_LOGGER));
        etw_kept_delete(folder, "test");
        rig_fini(&rig);
    }
}

/* The set-up is equal to ours: only its hold tells that session from the one we left. */
static void what_another_agent_looks_after_is_left_alone_until_that_has_gone(void **state)
{
    (void)state;
    struct rig rig;
    struct error err;
    rig_init(&rig, NULL);
    struct live_kernel settings = kernel_settings(&rig);
    leave_kernel_logger(&rig, &settings);
    struct etw_hold *hold = etw_hold_take(ETW_KERNEL_LOGGER, &err);
    assert_non_null(hold);
    rig_start_as(&rig, ETW_PLAN_KERNEL, &settings, NULL, 0);
    rig_await(&rig, rig_has_note, "another program runs the NT Kernel Logger");
    etw_hold_drop(hold);
    rig_await(&rig, rig_has_note, "stopped NT Kernel Logger");
    rig_await(&rig, rig_reads, ETW_KERNEL_LOGGER);
    assert_true(etw_hold_is_held(ETW_KERNEL_LOGGER));
    rig_stop(&rig);
    assert_false(etw_hold_is_held(ETW_KERNEL_LOGGER));
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

#ifdef _WIN32
static void a_squatter_of_its_lock_stops_nothing(void **state)
{
    (void)state;
    for (int hides = 0; hides <= 1; hides++) {
        struct rig rig;
        rig_init(&rig, NULL);
        struct etw_sim_provider *provider = add_provider(&rig);
        HANDLE squatter = squatter_take(NAME, hides);
        assert_non_null(squatter);
        start(&rig);
        rig_await(&rig, is_enabled, NAME);
        rig_await(&rig, rig_has_note, "! session " NAME ": its lock belongs to");
        write_events(provider, 3);
        rig_stop(&rig);
        assert_int_equal(rig.events, 3);
        assert_nothing_left(&rig);
        CloseHandle(squatter);
        rig_fini(&rig);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_earlier_run_left_is_replaced),
        cmocka_unit_test(what_runs_already_can_be_taken_over_or_refused),
        cmocka_unit_test(a_session_of_another_program_is_read_and_left),
        cmocka_unit_test(a_session_that_is_not_there_yet_is_waited_for),
        cmocka_unit_test(where_the_agent_did_not_run_events_may_be_missing),
        cmocka_unit_test(a_kept_session_bridges_a_restart),
        cmocka_unit_test(nothing_is_kept_that_would_not_be_known_again),
        cmocka_unit_test(what_a_kept_session_lost_meanwhile_is_told_once),
        cmocka_unit_test(counters_of_an_earlier_session_of_the_name_are_not_taken_for_its_own),
        cmocka_unit_test(kernel_events_come_in_a_session_of_our_own),
        cmocka_unit_test(events_of_the_start_of_the_kernel_arrive_although_no_agent_read_then),
        cmocka_unit_test(the_kernel_logger_of_another_program_is_never_stopped),
        cmocka_unit_test(the_kernel_logger_that_is_free_is_ours),
        cmocka_unit_test(the_kernel_logger_that_a_killed_run_has_left_is_ours),
        cmocka_unit_test(a_session_that_replaces_ours_is_left_alone),
        cmocka_unit_test(what_another_agent_looks_after_is_left_alone_until_that_has_gone),
        cmocka_unit_test(a_recorded_session_leaves_a_file_and_hands_events_on_if_asked),
#ifdef _WIN32
        cmocka_unit_test(a_squatter_of_its_lock_stops_nothing),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
