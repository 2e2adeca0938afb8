#include "service/service_control.h"

#include "platform/plat_file.h"
#include "support/scm_fake.h"
#include "support/temp_folder.h"

static struct error err;
static bool before;
static struct service_status status;

#define STATES(...)                                          \
    scm_states((const struct service_status[]){__VA_ARGS__}, \
        sizeof((const struct service_status[]){__VA_ARGS__}) / sizeof(struct service_status))
#define scm_test(function) cmocka_unit_test_setup_teardown(function, scm_set_up, scm_tear_down)

#define SETTINGS                                                                   \
    "configure description\nconfigure delayed start\nconfigure recovery actions\n" \
    "configure recovery after failures\nconfigure service SID\n"                   \
    "configure required privileges\nconfigure time to stop at shutdown\n"

/* ---- install --------------------------------------------------------------------------------- */

static bool install(enum service_account account, service_settings_mask *ret_left_out)
{
    struct service_plan plan;
    assert_true(service_plan_init(&plan, "C:\\e.exe", "C:\\c.yaml", account, &err));
    bool ok = service_control_install(&plan, ret_left_out, &err);
    service_plan_fini(&plan);
    return ok;
}

static void an_installed_service_has_all_settings_and_a_source_of_events(void **state)
{
    (void)state;
    service_settings_mask left_out = 77;
    assert_true(install(SERVICE_ACCOUNT_SYSTEM, &left_out));
    assert_int_equal(left_out, 0);
    scm_asked("connect creates\n"
              "create etwship LocalSystem \"C:\\e.exe\" run --service -c \"C:\\c.yaml\"\n" SETTINGS
              "add source etwship C:\\e.exe\n");
}

static void a_virtual_account_becomes_a_log_user(void **state)
{
    (void)state;
    service_settings_mask left_out;
    assert_true(install(SERVICE_ACCOUNT_VIRTUAL, &left_out));
    scm_asked("connect creates\n"
              "create etwship NT SERVICE\\etwship \"C:\\e.exe\" run --service -c "
              "\"C:\\c.yaml\"\n" SETTINGS
              "add log user NT SERVICE\\etwship\nadd source etwship C:\\e.exe\n");
}

/* A viewer of events keeps the file with the texts open, so an upgrade could not replace that
 * file. */
static void the_texts_of_events_are_those_of_the_dll_beside_the_program(void **state)
{
    (void)state;
    struct service_plan plan;
    service_settings_mask left_out;
    char folder[TEMP_FOLDER_BYTES];
    char program[TEMP_FOLDER_BYTES + 64];
    char path[TEMP_FOLDER_BYTES + 64];
    char wanted[TEMP_FOLDER_BYTES + 128];
    assert_int_equal(temp_folder_make(folder, "service"), 0);
    snprintf(program, sizeof(program), "%s/etwship.exe", folder);
    snprintf(path, sizeof(path), "%s/etwship-messages.dll", folder);
    assert_true(plat_file_replace(path, span_text("MZ"), &err));
    snprintf(wanted, sizeof(wanted), "\nadd source etwship %s/etwship-messages.dll\n", folder);
    assert_true(service_plan_init(&plan, program, "C:\\c.yaml", SERVICE_ACCOUNT_SYSTEM, &err));
    assert_true(service_control_install(&plan, &left_out, &err));
    service_plan_fini(&plan);
    buf_add_byte(&scm.log, 0);
    assert_non_null(strstr((const char *)scm.log.data, wanted));
    temp_folder_remove(folder);
}

static void what_an_older_windows_does_not_know_is_left_out_and_told(void **state)
{
    (void)state;
    service_settings_mask left_out = 0;
    scm_fail("configure service SID", SERVICE_E_INVALID_LEVEL);
    scm_fail("configure time to stop at shutdown", SERVICE_E_CALL_NOT_IMPLEMENTED);
    assert_true(install(SERVICE_ACCOUNT_SYSTEM, &left_out));
    assert_int_equal(left_out, 1U << SERVICE_SETTING_SID | 1U << SERVICE_SETTING_PRESHUTDOWN);
}

static void an_installation_that_fails_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "configure description", "configure time to stop at shutdown", "add source"};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        service_settings_mask left_out = 77;
        scm.failure_count = 0;
        scm_fail(calls[i], SERVICE_E_ACCESS_DENIED);
        assert_false(install(SERVICE_ACCOUNT_SYSTEM, &left_out));
        assert_int_equal(err.os_code, SERVICE_E_ACCESS_DENIED);
        buf_add_byte(&scm.log, 0);
        assert_non_null(strstr((const char *)scm.log.data, "\nremove\nremove source etwship\n"));
        buf_reset(&scm.log);
        assert_int_equal(scm.open_handles, 0);
    }
}

static void an_account_that_cannot_be_a_log_user_is_no_account_for_it(void **state)
{
    (void)state;
    service_settings_mask left_out;
    scm_fail("add log user", SERVICE_E_ACCESS_DENIED);
    assert_false(install(SERVICE_ACCOUNT_VIRTUAL, &left_out));
    assert_non_null(strstr(err.text, "Performance Log Users"));
    buf_add_byte(&scm.log, 0);
    assert_non_null(strstr((const char *)scm.log.data,
        "\nremove log user NT SERVICE\\etwship\nremove\nremove source etwship\n"));
}

static void a_second_installation_is_reported(void **state)
{
    (void)state;
    service_settings_mask left_out;
    scm_fail("create", SERVICE_E_EXISTS);
    assert_false(install(SERVICE_ACCOUNT_SYSTEM, &left_out));
    assert_int_equal(err.code, ERR_CONFIG);
    assert_non_null(strstr(err.text, "installed already"));
    buf_add_byte(&scm.log, 0);
    /* the installation of others stays */
    assert_null(strstr((const char *)scm.log.data, "remove"));
}

static void a_missing_right_is_reported_with_what_to_do(void **state)
{
    (void)state;
    service_settings_mask left_out;
    scm_fail("connect", SERVICE_E_ACCESS_DENIED);
    assert_false(install(SERVICE_ACCOUNT_SYSTEM, &left_out));
    assert_non_null(strstr(err.text, "run as administrator"));
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void a_start_waits_until_it_runs(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_START_PENDING}, {.state = SERVICE_STATE_START_PENDING},
        {.state = SERVICE_STATE_RUNNING});
    assert_true(service_control_start(&status, &before, &err));
    assert_false(before);
    assert_int_equal(status.state, SERVICE_STATE_RUNNING);
    scm_asked("connect\nopen etwship 0x14\nstart\nawait 2\nawait 2\n");
}

static void a_start_that_ends_tells_its_exit_code(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_START_PENDING}, {.state = SERVICE_STATE_STOPPED,
                                                       .exit_code = SERVICE_E_SPECIFIC_ERROR,
                                                       .specific_code = 2});
    assert_true(service_control_start(&status, &before, &err));
    assert_int_equal(status.state, SERVICE_STATE_STOPPED);
    assert_int_equal(status.specific_code, 2);
}

static void a_running_one_is_not_started_again(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_RUNNING});
    scm_fail("start", SERVICE_E_ALREADY_RUNNING);
    assert_true(service_control_start(&status, &before, &err));
    assert_true(before);
}

static void one_that_makes_progress_is_waited_for_and_one_that_stands_still_is_not(void **state)
{
    (void)state;
    static const uint64_t s = UINT64_C(1000000000);
    STATES({.state = SERVICE_STATE_START_PENDING, .checkpoint = 1, .wait_hint_ms = 60000},
        {.state = SERVICE_STATE_START_PENDING, .checkpoint = 1, .wait_hint_ms = 60000},
        {.state = SERVICE_STATE_START_PENDING, .checkpoint = 2, .wait_hint_ms = 60000});
    assert_false(service_control_start(&status, &before, &err));
    assert_non_null(strstr(err.text, "no progress while it starts"));
    /* Four seconds up to the checkpoint, then as long as the service asked for. */
    assert_int_equal(scm.clock_ns / s, 64);
}

static void a_missing_service_is_told_as_such(void **state)
{
    (void)state;
    struct service_config config;
    scm_fail("open", SERVICE_E_DOES_NOT_EXIST);
    assert_false(service_control_start(&status, &before, &err));
    assert_int_equal(err.code, ERR_MISSING);
    assert_non_null(strstr(err.text, "etwship service install"));
    assert_false(service_control_stop(&before, &err));
    assert_int_equal(err.code, ERR_MISSING);
    assert_false(service_control_uninstall(&err));
    assert_int_equal(err.code, ERR_MISSING);
    assert_false(service_control_query(&status, &config, &err));
    assert_int_equal(err.code, ERR_MISSING);
}

static void a_stop_waits_for_its_process_too(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_RUNNING, .process_id = 7},
        {.state = SERVICE_STATE_STOP_PENDING, .process_id = 7}, {.state = SERVICE_STATE_STOPPED});
    assert_true(service_control_stop(&before, &err));
    assert_false(before);
    scm_asked("connect\nopen etwship 0x24\nopen process 7\nstop\nawait 3\nawait process\n");
}

static void a_stop_of_one_that_starts_waits_until_it_can_be_asked(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_START_PENDING, .process_id = 7},
        {.state = SERVICE_STATE_RUNNING, .process_id = 7}, {.state = SERVICE_STATE_STOPPED});
    assert_true(service_control_stop(&before, &err));
    scm_asked("connect\nopen etwship 0x24\nopen process 7\nawait 2\nstop\nawait process\n");
}

static void a_stopped_one_is_not_stopped_again(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_STOPPED});
    assert_true(service_control_stop(&before, &err));
    assert_true(before);
    scm_asked("connect\nopen etwship 0x24\n");
}

static void one_that_ends_by_itself_meanwhile_is_stopped_all_the_same(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_RUNNING}, {.state = SERVICE_STATE_STOPPED});
    scm_fail("stop", SERVICE_E_NOT_ACTIVE);
    assert_true(service_control_stop(&before, &err));
}

static void a_process_that_does_not_end_is_told(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_RUNNING, .process_id = 7}, {.state = SERVICE_STATE_STOPPED});
    scm_fail("await process", SERVICE_E_WAIT_TIMEOUT);
    assert_false(service_control_stop(&before, &err));
    assert_non_null(strstr(err.text, "its process does not end"));
}

/* ---- uninstall ------------------------------------------------------------------------------- */

static void a_reload_is_asked_of_one_that_runs(void **state)
{
    (void)state;
    const struct service_status states[] = {
        {.state = SERVICE_STATE_START_PENDING}, {.state = SERVICE_STATE_RUNNING}};
    scm_states(states, 2);
    assert_true(service_control_reload(&err));
    /* SERVICE_QUERY_STATUS and SERVICE_PAUSE_CONTINUE (learn.microsoft.com, "ControlService"). */
    scm_asked("connect\nopen etwship 0x44\nawait 2\nreload\n");

    const struct service_status stopped = {.state = SERVICE_STATE_STOPPED};
    scm_states(&stopped, 1);
    assert_false(service_control_reload(&err));
    assert_non_null(strstr(err.text, "is not running"));
    scm_asked("connect\nopen etwship 0x44\n");

    scm_states(&states[1], 1);
    scm_fail("reload", SERVICE_E_ACCESS_DENIED);
    assert_false(service_control_reload(&err));
    assert_int_equal(err.os_code, SERVICE_E_ACCESS_DENIED);
}

static void it_is_stopped_before_it_is_removed(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_RUNNING}, {.state = SERVICE_STATE_STOPPED});
    assert_true(service_control_uninstall(&err));
    scm_asked("connect\nopen etwship 0x10025\nsettings\nstop\nremove\nremove source etwship\n");
}

static void a_virtual_account_is_no_log_user_any_more(void **state)
{
    (void)state;
    scm.config.account = (char[]){"NT SERVICE\\etwship"};
    STATES({.state = SERVICE_STATE_STOPPED});
    assert_true(service_control_uninstall(&err));
    scm_asked("connect\nopen etwship 0x10025\nsettings\nremove log user NT SERVICE\\etwship\n"
              "remove\nremove source etwship\n");
}

static void one_that_does_not_stop_is_not_removed(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_RUNNING}, {.state = SERVICE_STATE_STOP_PENDING});
    assert_false(service_control_uninstall(&err));
    assert_non_null(strstr(err.text, "no progress while it stops"));
    buf_add_byte(&scm.log, 0);
    assert_null(strstr((const char *)scm.log.data, "remove"));
}

static void all_that_can_be_is_removed_and_the_failure_told(void **state)
{
    (void)state;
    STATES({.state = SERVICE_STATE_STOPPED});
    scm_fail("remove", SERVICE_E_MARKED_FOR_DELETE);
    assert_false(service_control_uninstall(&err));
    assert_non_null(strstr(err.text, "still has it open"));
    scm_asked("connect\nopen etwship 0x10025\nsettings\nremove\nremove source etwship\n");
}

static void a_status_says_what_is_registered_and_what_runs(void **state)
{
    (void)state;
    struct service_config config;
    scm.config.command = (char[]){"\"e\" run"};
    STATES({.state = SERVICE_STATE_RUNNING, .process_id = 9});
    assert_true(service_control_query(&status, &config, &err));
    assert_int_equal(status.process_id, 9);
    assert_string_equal(config.command, "\"e\" run");
    assert_string_equal(config.account, "LocalSystem");
    service_control_config_fini(&config);
    scm_fail("settings", SERVICE_E_ACCESS_DENIED);
    assert_false(service_control_query(&status, &config, &err));
}

/* ---- change ---------------------------------------------------------------------------------- */

static bool change(enum service_account account)
{
    struct service_plan plan;
    service_settings_mask left_out;
    assert_true(service_plan_init(&plan, "C:\\e.exe", "C:\\c.yaml", account, &err));
    plan.start = SERVICE_START_DISABLED;
    bool ok = service_control_change(&plan, &left_out, &err);
    service_plan_fini(&plan);
    return ok;
}

#define CHANGED "3 \"C:\\e.exe\" run --service -c \"C:\\c.yaml\"\n"

static void a_changed_service_keeps_its_account_and_gets_all_settings(void **state)
{
    (void)state;
    scm.config.account = (char[]){"localSYSTEM"};
    assert_true(change(SERVICE_ACCOUNT_SYSTEM));
    scm_asked("connect\nopen etwship 0x13\nsettings\nchange same " CHANGED SETTINGS
              "add source etwship C:\\e.exe\n");
}

static void one_that_gets_another_account_changes_groups(void **state)
{
    (void)state;
    assert_true(change(SERVICE_ACCOUNT_VIRTUAL));
    scm_asked("connect\nopen etwship 0x13\nsettings\nchange NT SERVICE\\etwship " CHANGED SETTINGS
              "add log user NT SERVICE\\etwship\nadd source etwship C:\\e.exe\n");
    scm.config.account = (char[]){"NT SERVICE\\etwship"};
    assert_true(change(SERVICE_ACCOUNT_SYSTEM));
    scm_asked("connect\nopen etwship 0x13\nsettings\nchange LocalSystem " CHANGED
              "remove log user NT SERVICE\\etwship\n" SETTINGS "add source etwship C:\\e.exe\n");
}

/* Accounts in an installation; this service manager accepts no wrong password. */
static void an_account_is_given_back_without_a_password_that_it_does_not_take(void **state)
{
    (void)state;
    static const char *const accounts[] = {"NT SERVICE\\other", "nt service\\etwship",
        "DOMAIN\\etw$", "NT AUTHORITY\\NetworkService", "NT AUTHORITY\\LocalService",
        ".\\LocalSystem"};
    scm.config.account = (char[]){"DOMAIN\\somebody"};
    for (size_t i = 0; i < sizeof(accounts) / sizeof(accounts[0]); i++) {
        struct service_plan plan;
        service_settings_mask left_out;
        assert_true(service_plan_init_as(
            &plan, "C:\\e.exe", "\"C:\\e.exe\" run", accounts[i], SERVICE_START_AUTO, &err));
        assert_true(service_control_change(&plan, &left_out, &err));
        assert_true(service_control_install(&plan, &left_out, &err));
        service_plan_fini(&plan);
    }
}

static void one_that_is_not_there_cannot_be_changed(void **state)
{
    (void)state;
    scm_fail("open", SERVICE_E_DOES_NOT_EXIST);
    assert_false(change(SERVICE_ACCOUNT_SYSTEM));
    assert_int_equal(err.code, ERR_MISSING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scm_test(an_installed_service_has_all_settings_and_a_source_of_events),
        scm_test(a_virtual_account_becomes_a_log_user),
        scm_test(the_texts_of_events_are_those_of_the_dll_beside_the_program),
        scm_test(what_an_older_windows_does_not_know_is_left_out_and_told),
        scm_test(an_installation_that_fails_leaves_nothing_behind),
        scm_test(an_account_that_cannot_be_a_log_user_is_no_account_for_it),
        scm_test(a_second_installation_is_reported),
        scm_test(a_missing_right_is_reported_with_what_to_do),
        scm_test(a_start_waits_until_it_runs),
        scm_test(a_start_that_ends_tells_its_exit_code),
        scm_test(a_running_one_is_not_started_again),
        scm_test(one_that_makes_progress_is_waited_for_and_one_that_stands_still_is_not),
        scm_test(a_missing_service_is_told_as_such),
        scm_test(a_stop_waits_for_its_process_too),
        scm_test(a_stop_of_one_that_starts_waits_until_it_can_be_asked),
        scm_test(a_stopped_one_is_not_stopped_again),
        scm_test(one_that_ends_by_itself_meanwhile_is_stopped_all_the_same),
        scm_test(a_process_that_does_not_end_is_told),
        scm_test(a_reload_is_asked_of_one_that_runs),
        scm_test(it_is_stopped_before_it_is_removed),
        scm_test(a_virtual_account_is_no_log_user_any_more),
        scm_test(one_that_does_not_stop_is_not_removed),
        scm_test(all_that_can_be_is_removed_and_the_failure_told),
        scm_test(a_status_says_what_is_registered_and_what_runs),
        scm_test(a_changed_service_keeps_its_account_and_gets_all_settings),
        scm_test(one_that_gets_another_account_changes_groups),
        scm_test(an_account_is_given_back_without_a_password_that_it_does_not_take),
        scm_test(one_that_is_not_there_cannot_be_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
