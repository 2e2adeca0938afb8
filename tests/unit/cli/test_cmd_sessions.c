/* `etwship sessions` against the simulated Windows: its actions, and its exit codes. The test of
 * session_text.c compares its output. */
#include <stdio.h>

#include "cli/options/cli.h"
#include "etw/etw_hold.h"
#include "etw/session/etw_control.h"
#include "support/etw_sim/etw_sim.h"
#include "support/test.h"

#ifdef _WIN32
#include "support/squatter.h"
#endif

static struct etw_sim *sim;

static int set_up(void **state)
{
    (void)state;
    sim = etw_sim_create(&(struct etw_sim_options){.max_sessions = 128}, NULL);
    if (sim) {
        etw_api_use(etw_sim_api(sim));
    }
    return sim ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    etw_api_use(NULL);
    etw_sim_destroy(sim);
    return 0;
}

#define command_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

enum { MAX_WORDS = 16 };

/* `etwship sessions` with ${words}, which a NULL ends. */
static int sessions(const char *const *words)
{
    char *argv[MAX_WORDS] = {(char[]){"sessions"}};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        assert_true(argc < MAX_WORDS);
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    }
    return cli_run(&cmd_sessions, argc, argv);
}

#define run(...) sessions((const char *const[]){__VA_ARGS__, NULL})

static void add(const char *name, uint32_t mode)
{
    assert_true(etw_sim_session_add(
        sim, &(struct etw_sim_session_options){.name = name, .mode = mode}, NULL));
}

static void orphans_are_sessions_of_ours_without_a_holder(void **state)
{
    struct error err;
    (void)state;
    add("etwship-left", ETW_MODE_REAL_TIME);
    add("ETWSHIP-Left-Too", ETW_MODE_REAL_TIME);
    add("etwship-held", ETW_MODE_REAL_TIME);
    add("Foreign", ETW_MODE_REAL_TIME);
    add("Not-etwship-left", ETW_MODE_REAL_TIME);
    struct etw_hold *hold = etw_hold_take("etwship-held", &err);
    assert_int_equal(run("stop", "--orphans"), EXIT_DONE);
    assert_false(etw_sim_session_runs(sim, "etwship-left"));
    assert_false(etw_sim_session_runs(sim, "etwship-left-too"));
    assert_true(etw_sim_session_runs(sim, "etwship-held"));
    assert_true(etw_sim_session_runs(sim, "Foreign"));
    assert_true(etw_sim_session_runs(sim, "Not-etwship-left"));
    etw_hold_drop(hold);
    assert_int_equal(run("stop", "--orphans", "--json"), EXIT_DONE);
    assert_false(etw_sim_session_runs(sim, "etwship-held"));
    assert_int_equal(etw_sim_session_count(sim), 2);
    assert_int_equal(run("stop", "--orphans"), EXIT_DONE);
}

#ifdef _WIN32
static void a_session_with_a_possible_holder_is_not_ended_as_an_orphan(void **state)
{
    (void)state;
    for (int hides = 0; hides <= 1; hides++) {
        add("etwship-left", ETW_MODE_REAL_TIME);
        add("etwship-squatted", ETW_MODE_REAL_TIME);
        HANDLE squatter = squatter_take("etwship-squatted", hides);
        assert_non_null(squatter);
        assert_int_equal(run("stop", "--orphans"), EXIT_DONE);
        assert_false(etw_sim_session_runs(sim, "etwship-left"));
        assert_true(etw_sim_session_runs(sim, "etwship-squatted"));
        CloseHandle(squatter);
        assert_int_equal(run("stop", "--orphans"), EXIT_DONE);
        assert_false(etw_sim_session_runs(sim, "etwship-squatted"));
    }
}
#endif

static void an_orphan_that_cannot_be_stopped_does_not_keep_the_others(void **state)
{
    (void)state;
    assert_true(etw_sim_session_add(sim,
        &(struct etw_sim_session_options){.name = "etwship-stuck",
            .mode = ETW_MODE_REAL_TIME,
            .control_error = ETW_ERROR_ACCESS_DENIED},
        NULL));
    add("etwship-left", ETW_MODE_REAL_TIME);
    assert_int_equal(run("stop", "--orphans"), EXIT_FAILED);
    assert_false(etw_sim_session_runs(sim, "etwship-left"));
    assert_true(etw_sim_session_runs(sim, "etwship-stuck"));
}

static void an_orphan_that_ends_by_itself_meanwhile_is_no_failure(void **state)
{
    (void)state;
    add("etwship-left", ETW_MODE_REAL_TIME);
    etw_sim_fail_control(sim, ETW_CONTROL_STOP, 1, 1, ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
    assert_int_equal(run("stop", "--orphans"), EXIT_DONE);
}

static void one_session_is_asked_changed_flushed_and_stopped(void **state)
{
    struct etw_session_state session;
    (void)state;
    add("Foreign", ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER);
    assert_int_equal(run("list"), EXIT_DONE);
    assert_int_equal(run("list", "--json"), EXIT_DONE);
    assert_int_equal(run("query", "foreign"), EXIT_DONE);
    assert_int_equal(run("flush", "Foreign", "--json"), EXIT_DONE);
    assert_int_equal(run("update", "Foreign", "--max-buffers", "77", "--flush-timer", "4s", "-k",
                         "disk_io", "-k", "PERF_MEMORY"),
        EXIT_DONE);
    assert_true(etw_control_query("Foreign", &session, NULL));
    assert_int_equal(session.max_buffers, 77);
    assert_int_equal(session.flush_ms, 4000);
    assert_int_equal(session.mode, ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER);
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(sim, "Foreign", &info));
    assert_int_equal(info.group_mask[0], 0x100);
    assert_int_equal(info.group_mask[1], 0x1);
    assert_int_equal(run("stop", "FOREIGN"), EXIT_DONE);
    assert_int_equal(etw_sim_session_count(sim), 0);
}

static void a_session_that_is_not_there_is_a_failure(void **state)
{
    (void)state;
    assert_int_equal(run("query", "nobody"), EXIT_FAILED);
    assert_int_equal(run("flush", "nobody"), EXIT_FAILED);
    assert_int_equal(run("stop", "nobody"), EXIT_FAILED);
    assert_int_equal(run("update", "nobody", "--real-time", "on"), EXIT_FAILED);
    assert_int_equal(run("update", "nobody", "-k", "disk_io"), EXIT_FAILED);
    assert_int_equal(run("list"), EXIT_DONE);
}

static void kernel_groups_need_a_session_with_kernel_events(void **state)
{
    struct etw_session_state session;
    (void)state;
    add("Foreign", ETW_MODE_REAL_TIME);
    assert_int_equal(run("update", "Foreign", "-k", "disk_io", "--max-buffers", "77"), EXIT_FAILED);
    assert_true(etw_control_query("Foreign", &session, NULL));
    assert_int_not_equal(session.max_buffers, 77); /* none of it was done */
}

static void real_time_delivery_is_switched(void **state)
{
    struct etw_session_state session;
    (void)state;
    add("Foreign", ETW_MODE_REAL_TIME);
    assert_int_equal(run("update", "Foreign", "--real-time", "off"), EXIT_DONE);
    assert_true(etw_control_query("Foreign", &session, NULL));
    assert_int_equal(session.mode & ETW_MODE_REAL_TIME, 0);
    assert_int_equal(run("update", "Foreign", "--real-time", "on"), EXIT_DONE);
    assert_true(etw_control_query("Foreign", &session, NULL));
    assert_int_equal(session.mode & ETW_MODE_REAL_TIME, ETW_MODE_REAL_TIME);
}

static void lists_work_beyond_64_sessions(void **state)
{
    char name[32];
    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "etwship-%d", i);
        add(name, ETW_MODE_REAL_TIME);
    }
    assert_int_equal(run("stop", "--orphans"), EXIT_DONE);
    assert_int_equal(etw_sim_session_count(sim), 0);
}

static void without_rights_or_without_a_call_it_fails(void **state)
{
    static const char *const needed[] = {"QueryAllTracesW", "ControlTraceW"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_true(etw_sim_fail(sim, needed[i], 1, 0, ETW_ERROR_ACCESS_DENIED));
    }
    assert_int_equal(run("list"), EXIT_FAILED);
    assert_int_equal(run("stop", "--orphans"), EXIT_FAILED);
    assert_int_equal(run("query", "x"), EXIT_FAILED);
    tear_down(state);
    set_up(state);
    assert_true(etw_sim_remove(sim, "QueryAllTracesW"));
    assert_int_equal(run("list"), EXIT_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        command_test(orphans_are_sessions_of_ours_without_a_holder),
#ifdef _WIN32
        command_test(a_session_with_a_possible_holder_is_not_ended_as_an_orphan),
#endif
        command_test(an_orphan_that_cannot_be_stopped_does_not_keep_the_others),
        command_test(an_orphan_that_ends_by_itself_meanwhile_is_no_failure),
        command_test(one_session_is_asked_changed_flushed_and_stopped),
        command_test(a_session_that_is_not_there_is_a_failure),
        command_test(kernel_groups_need_a_session_with_kernel_events),
        command_test(real_time_delivery_is_switched),
        command_test(lists_work_beyond_64_sessions),
        command_test(without_rights_or_without_a_call_it_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
