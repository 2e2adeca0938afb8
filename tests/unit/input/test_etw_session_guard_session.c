#define _GNU_SOURCE

#include "etw/session/etw_kernel.h"
#include "etw_guard_rig.h"
#include "input/windows/etw_kept.h"
#include "support/await.h"
#include "support/etw_sim/etw_sim.h"
#include "support/temp_folder.h"

/* Other programs stop a session, its reader or change the clock; the guard reacts. */

static char folder[TEMP_FOLDER_BYTES];

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "guard");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

/* ---- the session ----------------------------------------------------------------------------- */

static void a_session_that_is_stopped_comes_back_and_is_told(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    stop_session_of(NAME);
    await_report(&rig, "session_stopped", GUARD_REPAIRED, 1);
    rig_await(&rig, is_enabled, NAME);
    assert_true(rig_has_note(&rig, "it was repaired"));
    write_events(provider, 10);
    rig_stop(&rig);
    assert_int_equal(rig.events, 10);
    assert_reports(&rig, 1);
    size_t gaps;
    assert_int_equal(rig_lost(&rig, "session_stopped", &gaps), 0); /* their number is unknown */
    assert_int_equal(gaps, 1);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static bool is_stopped_again(struct rig *rig, const void *times)
{
    size_t repaired = count_reports(rig, "session_stopped", GUARD_REPAIRED);
    if (is_enabled(rig, NAME) && repaired == rig->stop_after) {
        rig->stop_after++; /* the number of stops that the guard has reported */
        stop_session_of(NAME);
    }
    return count_reports(rig, "session_stopped", GUARD_GAVE_UP) == *(const size_t *)times;
}

static void a_session_that_is_stopped_again_and_again_stays_stopped(void **state)
{
    (void)state;
    static const size_t once = 1;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_stopped_again, &once);
    assert_int_equal(count_reports(&rig, "session_stopped", GUARD_REPAIRED), 2);
    uint32_t started = etw_sim_calls(rig.sim, "StartTraceW");
    /* Wait for some of its pauses. If it started the session again, the session would be here by
     * then. */
    plat_sleep_ms(20);
    assert_int_equal(etw_sim_calls(rig.sim, "StartTraceW"), started);
    rig_stop(&rig);
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static bool is_free(struct rig *rig, const void *name)
{
    return !etw_sim_session_runs(rig->sim, name);
}

static void a_session_of_its_name_that_others_start_is_left_alone(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    /* No other program can start a session meanwhile, however quick it is. */
    enum { NO_CALL = 1000000000 };
    struct etw_sim_session_options options = {.name = NAME, .mode = ETW_MODE_REAL_TIME};
    assert_true(etw_sim_fail(rig.sim, "StartTraceW", 1, 0, ETW_ERROR_NO_SYSTEM_RESOURCES));
    stop_session_of(NAME);
    uint64_t theirs = etw_sim_session_add(rig.sim, &options, NULL);
    assert_true(etw_sim_fail(rig.sim, "StartTraceW", NO_CALL, 1, ETW_ERROR_NO_SYSTEM_RESOURCES));
    assert_true(theirs != 0);
    await_report(&rig, "session_stopped", GUARD_GAVE_UP, 1);
    assert_non_null(strstr(last_report(&rig).detail, "started a session with that name"));
    assert_int_equal(handle_of(&rig), theirs);
    stop_session_of(NAME); /* the other program ends its attempts */
    rig_await(&rig, is_enabled, NAME);
    await_report(&rig, "session_stopped", GUARD_REPAIRED, 1);
    write_events(provider, 10);
    rig_stop(&rig);
    assert_int_equal(rig.events, 10);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void the_end_of_a_session_of_another_program_is_reported(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    assert_true(etw_sim_session_add(rig.sim,
                    &(struct etw_sim_session_options){.name = "Theirs", .mode = ETW_MODE_REAL_TIME},
                    NULL) != 0);
    struct live_attach settings = {.session = "Theirs", .guard = rig.settings.session.guard};
    rig_start_as(&rig, ETW_PLAN_ATTACH, &settings, NULL, 0);
    rig_await(&rig, rig_reads, "Theirs");
    stop_session_of("Theirs");
    await_report(&rig, "session_stopped", GUARD_NONE, 1);
    rig_await(&rig, is_free, "Theirs");
    rig_stop(&rig);
    assert_reports(&rig, 1);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

/* ---- a reader that fails --------------------------------------------------------------------- */

static const char reader_note[] = "reading " NAME " has ended";

static void a_failed_reader_is_no_stop_of_another_program(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    struct etw_sim_provider *provider = add_provider(&rig);
    /* More often than the agent restarts a session that another program stops. */
    assert_true(etw_sim_fail(rig.sim, "ProcessTrace", 1, 6, ETW_ERROR_NO_SYSTEM_RESOURCES));
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    assert_int_equal(etw_sim_calls(rig.sim, "ProcessTrace"), 7);
    await_look(&rig);
    write_events(provider, 10);
    rig_stop(&rig);
    assert_int_equal(rig.events, 10);
    assert_reports(&rig, 0);
    assert_true(rig_has_note(&rig, reader_note));
    assert_false(rig_has_note(&rig, "by another program"));
    size_t gaps;
    assert_int_equal(rig_lost(&rig, "reader_failed", &gaps), 0); /* their number is unknown */
    assert_int_equal(gaps, 6);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void a_stop_while_no_reader_can_be_had_ends_the_session(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    rig.timing.retry_ms = rig.timing.retry_max_ms = RIG_WAIT_MS;
    add_provider(&rig);
    assert_true(etw_sim_fail(rig.sim, "ProcessTrace", 1, 0, ETW_ERROR_NO_SYSTEM_RESOURCES));
    start(&rig);
    rig_await(&rig, rig_has_note, reader_note);
    assert_true(etw_sim_session_runs(rig.sim, NAME));
    rig_stop(&rig);
    assert_reports(&rig, 0);
    assert_int_equal(etw_sim_calls(rig.sim, "ProcessTrace"), 1);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

/* What happens when the agent stops the session without a reader, to start a new one. */
static struct {
    const struct etw_api *simulated;
    struct rig *rig;
    const struct etw_sim_session_options *theirs; /* they are faster; NULL: the stop is refused */
    bool has_come;                                /* that stop */
} renewal;

static uint32_t stop_at_renewal(
    uint64_t session, const etw_char *name, struct etw_properties *properties, uint32_t control)
{
    bool comes = control == ETW_CONTROL_STOP && !renewal.has_come;
    if (comes) {
        renewal.has_come = true;
        etw_session_stop(renewal.rig->session);
    }
    if (comes && !renewal.theirs) {
        return ETW_ERROR_ACCESS_DENIED;
    }
    uint32_t code = renewal.simulated->ControlTraceW(session, name, properties, control);
    if (comes) {
        assert_true(etw_sim_session_add(renewal.rig->sim, renewal.theirs, NULL) != 0);
    }
    return code;
}

/* A session loses its reader, and is asked to stop when a new one cannot be had. */
static void fail_to_renew(struct rig *rig, const struct etw_sim_session_options *theirs,
    void (*start_it)(struct rig *rig))
{
    rig_init(rig, NULL);
    renewal.simulated = etw_sim_api(rig->sim);
    renewal.rig = rig;
    renewal.theirs = theirs;
    renewal.has_come = false;
    static struct etw_api table;
    table = *renewal.simulated;
    table.ControlTraceW = stop_at_renewal;
    etw_api_use(&table);
    add_provider(rig);
    assert_true(etw_sim_fail(rig->sim, "ProcessTrace", 1, 1, ETW_ERROR_NO_SYSTEM_RESOURCES));
    start_it(rig);
    rig_join(rig);
    assert_true(renewal.has_come);
    assert_true(rig_has_note(rig, "trying again"));
    etw_session_destroy(rig->session);
}

static void a_stop_after_no_new_session_could_be_had_ends_the_old_one(void **state)
{
    (void)state;
    struct rig rig;
    fail_to_renew(&rig, NULL, start);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void a_stop_after_another_program_took_the_name_leaves_its_session(void **state)
{
    (void)state;
    static const struct etw_sim_session_options theirs = {.name = NAME, .mode = ETW_MODE_REAL_TIME};
    struct rig rig;
    fail_to_renew(&rig, &theirs, start);
    assert_true(etw_sim_session_runs(rig.sim, NAME));
    rig_fini(&rig);
}

static void start_kernel_logger(struct rig *rig)
{
    static const char *flags[] = {"process"};
    const struct live_kernel settings = {
        .session = rig->settings.session, .groups = {.flags = {flags, 1}}};
    rig->data_dir = folder; /* has the note by which it is recognised as ours */
    rig_start_as(rig, ETW_PLAN_KERNEL, &settings, NULL, 0);
}

/* It has the handle that ours had. */
static void a_stop_after_another_program_took_the_kernel_logger_leaves_it(void **state)
{
    (void)state;
    struct etw_sim_session_options theirs = {
        .name = ETW_KERNEL_LOGGER, .mode = ETW_MODE_REAL_TIME, .enable_flags = 0x10000};
    struct rig rig;
    theirs.guid = etw_kernel_guid;
    fail_to_renew(&rig, &theirs, start_kernel_logger);
    assert_true(etw_sim_session_runs(rig.sim, ETW_KERNEL_LOGGER));
    etw_kept_delete(folder, "test");
    rig_fini(&rig);
}

static void a_session_of_another_program_continues_without_a_reader(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    guard(&rig, 5, 600000);
    assert_true(etw_sim_session_add(rig.sim,
                    &(struct etw_sim_session_options){.name = "Theirs", .mode = ETW_MODE_REAL_TIME},
                    NULL) != 0);
    assert_true(etw_sim_fail(rig.sim, "ProcessTrace", 1, 6, ETW_ERROR_NO_SYSTEM_RESOURCES));
    struct live_attach settings = {.session = "Theirs", .guard = rig.settings.session.guard};
    rig_start_as(&rig, ETW_PLAN_ATTACH, &settings, NULL, 0);
    rig_await(&rig, rig_reads, "Theirs");
    rig_stop(&rig);
    assert_reports(&rig, 0);
    assert_true(etw_sim_session_runs(rig.sim, "Theirs"));
    rig_fini(&rig);
}

/* ---- consumer and clock ---------------------------------------------------------------------- */

static void buffers_that_are_not_read_in_time_are_told(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.processors = 1});
    guard(&rig, 5, 600000);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    await_look(&rig);
    etw_sim_lose_buffers(rig.sim, NAME, 2, false);
    write_events(provider, 5000);
    await_report(&rig, "consumer_behind", GUARD_NONE, 1);
    assert_non_null(strstr(last_report(&rig).detail, "because they were not read in time"));
    rig_stop(&rig);
    rig_fini(&rig);
}

static bool is_read(struct rig *rig, const void *count)
{
    etw_sim_advance(rig->sim, 2); /* the clock of the simulated world flushes what was written */
    return rig_events(rig) == *(const uint64_t *)count;
}

static void only_how_late_events_are_read_counts(void **state)
{
    (void)state;
    static const uint64_t first = 10;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.processors = 1});
    guard(&rig, 5, 600000);
    rig.settings.session.guard.interval_ns = 100 * ms;
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    await_look(&rig);
    write_events(provider, first);
    rig_await(&rig, is_read, &first);
    etw_sim_advance(rig.sim, 30000); /* until the next look */
    await_look(&rig);
    assert_int_equal(count_reports(&rig, "consumer_behind", GUARD_NONE), 0);
    write_events(provider, 10);
    etw_sim_advance(rig.sim, 30000);
    await_report(&rig, "consumer_behind", GUARD_NONE, 1);
    assert_non_null(
        strstr(last_report(&rig).detail, "events are read 30 s after they were written"));
    rig_stop(&rig);
    rig_fini(&rig);
}

static _Atomic int64_t set_by; /* the system's time is set by this, in units of FILETIME */
static const struct etw_api *simulated;

static void shifted_now(int64_t *ret_counter, uint64_t *ret_filetime)
{
    simulated->now(ret_counter, ret_filetime);
    *ret_filetime += (uint64_t)set_by;
}

static void a_clock_that_is_set_is_told_in_both_directions(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    simulated = etw_sim_api(rig.sim);
    struct etw_api table = *simulated;
    table.now = shifted_now;
    set_by = 0;
    etw_api_use(&table);
    guard(&rig, 5, 600000);
    struct etw_sim_provider *provider = add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    await_look(&rig);
    write_events(provider, 10);
    set_by = 5 * INT64_C(10000000);
    await_report(&rig, "clock_jumped", GUARD_NONE, 1);
    assert_int_equal(last_report(&rig).shift_ms, 5000);
    set_by = -3600 * INT64_C(10000000);
    await_report(&rig, "clock_jumped", GUARD_NONE, 2);
    assert_int_equal(last_report(&rig).shift_ms, -3605000);
    assert_string_equal(last_report(&rig).detail, "the system's time was set back by 3605.000 s");
    rig_stop(&rig);
    assert_reports(&rig, 2);
    rig_fini(&rig);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_is_stopped_comes_back_and_is_told),
        cmocka_unit_test(a_session_that_is_stopped_again_and_again_stays_stopped),
        cmocka_unit_test(a_session_of_its_name_that_others_start_is_left_alone),
        cmocka_unit_test(the_end_of_a_session_of_another_program_is_reported),
        cmocka_unit_test(a_failed_reader_is_no_stop_of_another_program),
        cmocka_unit_test(a_stop_while_no_reader_can_be_had_ends_the_session),
        cmocka_unit_test(a_stop_after_no_new_session_could_be_had_ends_the_old_one),
        cmocka_unit_test(a_stop_after_another_program_took_the_name_leaves_its_session),
        cmocka_unit_test(a_stop_after_another_program_took_the_kernel_logger_leaves_it),
        cmocka_unit_test(a_session_of_another_program_continues_without_a_reader),
        cmocka_unit_test(buffers_that_are_not_read_in_time_are_told),
        cmocka_unit_test(only_how_late_events_are_read_counts),
        cmocka_unit_test(a_clock_that_is_set_is_told_in_both_directions),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
