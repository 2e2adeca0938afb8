/* `etwship service` against a scripted service control manager: its requests, and its exit
 * codes. */
#include "cli/options/cli.h"
#include "etw/etw_autologger.h"
#include "etw/etw_hold.h"
#include "etw/etw_image_flags.h"
#include "etw/etw_registry.h"
#include "support/etw_sim/sim_registry.h"
#include "support/scm_fake.h"

enum { MAX_WORDS = 8 };

/* `etwship service` with ${words}, which a NULL ends. */
static int service(const char *const *words)
{
    char *argv[MAX_WORDS] = {(char[]){"service"}};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        assert_true(argc < MAX_WORDS);
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    }
    return cli_run(&cmd_service, argc, argv);
}

#define command(...) service((const char *const[]){__VA_ARGS__, NULL})
#define scm_test(function) cmocka_unit_test_setup_teardown(function, scm_set_up, scm_tear_down)

static void assert_asked(const char *text)
{
    buf_add_byte(&scm.log, 0);
    assert_non_null(strstr((const char *)scm.log.data, text));
    buf_reset(&scm.log);
}

static void set_state(struct service_status status)
{
    scm_states(&status, 1);
}

static void install_registers_absolute_paths_and_the_account(void **state)
{
    (void)state;
    assert_int_equal(command("install", "-c", "x.yaml"), EXIT_DONE);
    assert_asked(
        "create etwship LocalSystem \"C:\\p\\etwship.exe\" run --service -c \"C:\\x.yaml\"");
    assert_int_equal(command("install", "-c", "x.yaml", "--account", "virtual"), EXIT_DONE);
    assert_asked("create etwship NT SERVICE\\etwship ");
}

static void install_without_a_configuration_takes_that_of_the_system(void **state)
{
    (void)state;
    assert_int_equal(command("install"), EXIT_DONE);
    assert_asked("etwship.yaml\"\n");
}

static void what_windows_refuses_is_a_failure(void **state)
{
    (void)state;
    scm_fail("connect", SERVICE_E_ACCESS_DENIED);
    assert_int_equal(command("install"), EXIT_FAILED);
    assert_int_equal(command("uninstall"), EXIT_FAILED);
    assert_int_equal(command("start"), EXIT_FAILED);
    assert_int_equal(command("stop"), EXIT_FAILED);
    assert_int_equal(command("reload"), EXIT_FAILED);
    assert_int_equal(command("status"), EXIT_FAILED);
}

static void a_service_that_is_not_installed_is_a_failure(void **state)
{
    (void)state;
    scm_fail("open", SERVICE_E_DOES_NOT_EXIST);
    assert_int_equal(command("uninstall"), EXIT_FAILED);
    assert_int_equal(command("status"), EXIT_FAILED);
}

static void the_exit_code_of_a_start_is_that_of_the_service(void **state)
{
    (void)state;
    static const struct {
        struct service_status status;
        int exit_code;
    } rows[] = {
        {{.state = SERVICE_STATE_RUNNING}, EXIT_DONE},
        {{.state = SERVICE_STATE_STOPPED}, EXIT_DONE}, /* all files were delivered */
        {{.state = SERVICE_STATE_STOPPED,
             .exit_code = SERVICE_E_SPECIFIC_ERROR,
             .specific_code = 1},
            EXIT_FAILED},
        {{.state = SERVICE_STATE_STOPPED,
             .exit_code = SERVICE_E_SPECIFIC_ERROR,
             .specific_code = 2},
            EXIT_USAGE},
        {{.state = SERVICE_STATE_STOPPED, .exit_code = 1067},
            EXIT_FAILED}, /* its process crashed */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_state(rows[i].status);
        assert_int_equal(command("start"), rows[i].exit_code);
    }
}

static void what_is_so_already_is_done(void **state)
{
    (void)state;
    set_state((struct service_status){.state = SERVICE_STATE_RUNNING});
    scm_fail("start", SERVICE_E_ALREADY_RUNNING);
    assert_int_equal(command("start"), EXIT_DONE);
    set_state((struct service_status){.state = SERVICE_STATE_STOPPED});
    assert_int_equal(command("stop"), EXIT_DONE);
    assert_int_equal(command("status"), EXIT_DONE);
    assert_int_equal(command("uninstall"), EXIT_DONE);
}

static void wrong_usage_asks_for_nothing(void **state)
{
    (void)state;
    assert_int_equal(command("instal"), EXIT_USAGE);
    assert_int_equal(command("start", "-c", "x.yaml"), EXIT_USAGE);
    assert_int_equal(command("install", "--account", "me"), EXIT_USAGE);
    assert_int_equal(command("install", "-c", "folder\\"), EXIT_USAGE);
    assert_int_equal(command("start", "stop"), EXIT_USAGE);
    assert_int_equal(scm.log.size, 0);
}

static void a_system_without_services_is_wrong_usage(void **state)
{
    (void)state;
    static const struct service_api none;
    service_api_use(&none);
    assert_int_equal(command("status"), EXIT_USAGE);
    assert_int_equal(command("install"), EXIT_USAGE);
    char *argv[] = {(char[]){"run"}, (char[]){"--service"}};
    assert_int_equal(cli_run(&cmd_run, 2, argv), EXIT_USAGE);
}

/* ---- for installers -------------------------------------------------------------------------- */

#define WAS_THERE                                                       \
    "etwship installation 1\nconfig 1\nservice 1\nruns 1\nstart auto\n" \
    "account LocalSystem\ncommand \"C:\\old\\etwship.exe\" run --service -c \"C:\\o.yaml\"\n"

static void note_is(const char *text)
{
    snprintf(scm.note, sizeof(scm.note), "%s", text);
}

static void undo_registers_and_starts_what_was_there(void **state)
{
    (void)state;
    note_is(WAS_THERE);
    set_state((struct service_status){.state = SERVICE_STATE_STOPPED});
    scm_fail("open", SERVICE_E_DOES_NOT_EXIST); /* it was removed, so it cannot be started here */
    assert_int_equal(command("undo"), EXIT_FAILED);
    assert_asked(
        "create etwship LocalSystem \"C:\\old\\etwship.exe\" run --service -c \"C:\\o.yaml\"\n");
    assert_string_not_equal(scm.note, ""); /* the next try needs the note */
}

static void undo_puts_an_older_command_back(void **state)
{
    (void)state;
    note_is(WAS_THERE);
    scm.config.command = (char[]){"\"C:\\new\\etwship.exe\" run --service -c \"C:\\n.yaml\""};
    set_state((struct service_status){.state = SERVICE_STATE_RUNNING});
    scm_fail("start", SERVICE_E_ALREADY_RUNNING);
    scm_states((const struct service_status[]){{.state = SERVICE_STATE_RUNNING},
                   {.state = SERVICE_STATE_RUNNING}, {.state = SERVICE_STATE_RUNNING},
                   {.state = SERVICE_STATE_STOPPED}, {.state = SERVICE_STATE_RUNNING}},
        5);
    assert_int_equal(command("undo"), EXIT_DONE);
    buf_add_byte(&scm.log, 0);
    const char *log = (const char *)scm.log.data;
    const char *stopped = strstr(log, "stop\n");
    const char *changed = strstr(
        log, "change same 1 \"C:\\old\\etwship.exe\" run --service -c \"C:\\o.yaml\"\n");
    const char *started = strstr(log, "\nstart\n");
    assert_true(stopped && changed && started && stopped < changed && changed < started);
    assert_string_equal(scm.note, "");
}

static void undo_of_an_upgrade_leaves_starting_to_the_older_one(void **state)
{
    (void)state;
    note_is(WAS_THERE);
    set_state((struct service_status){.state = SERVICE_STATE_STOPPED});
    assert_int_equal(command("undo", "--upgrade", "{1}"), EXIT_DONE);
    buf_add_byte(&scm.log, 0);
    assert_null(strstr((const char *)scm.log.data, "\nstart\n"));
    assert_string_equal(scm.note, WAS_THERE);
}

static void undo_of_a_first_installation_removes_the_service(void **state)
{
    (void)state;
    note_is("etwship installation 1\nconfig 1\nservice 0\n");
    set_state((struct service_status){.state = SERVICE_STATE_STOPPED});
    assert_int_equal(command("undo"), EXIT_DONE);
    assert_asked("\nremove\n");
    assert_string_equal(scm.note, "");
}

static void undo_without_a_note_and_with_a_foreign_one_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(command("undo"), EXIT_DONE);
    note_is("command \"C:\\evil.exe\"\n");
    assert_int_equal(command("undo"), EXIT_FAILED);
    assert_int_equal(scm.log.size, 0);
}

static void retire_stops_for_an_upgrade_and_removes_otherwise(void **state)
{
    (void)state;
    scm.config.command = (char[]){"\"C:\\p\\etwship.exe\" run --service -c \"C:\\c.yaml\""};
    scm.config.is_automatic = true;
    set_state((struct service_status){.state = SERVICE_STATE_STOPPED});
    assert_int_equal(command("retire", "--upgrade", "{1}", "--remove-data", "1"), EXIT_DONE);
    buf_add_byte(&scm.log, 0);
    assert_null(strstr((const char *)scm.log.data, "remove"));
    assert_non_null(strstr(scm.note, "service 1\nruns 0\nstart auto\naccount LocalSystem\n"
                                     "command \"C:\\p\\etwship.exe\" run"));
    buf_reset(&scm.log);
    assert_int_equal(command("retire", "--upgrade", "", "--remove-data", ""), EXIT_DONE);
    assert_asked("\nremove\n");
}

static void retire_leaves_the_service_of_another_program_alone(void **state)
{
    (void)state;
    scm.config.command = (char[]){"\"C:\\q\\etwship.exe\" run --service -c \"C:\\c.yaml\""};
    set_state((struct service_status){.state = SERVICE_STATE_RUNNING});
    note_is(WAS_THERE);
    assert_int_equal(command("retire", "--remove-data", "1"), EXIT_DONE);
    assert_span(buf_span(&scm.log), "forget\nconnect\nopen etwship 0x5\nsettings\n");
    buf_reset(&scm.log);
    /* Notes of an older installation are not applied to it, either. */
    assert_int_equal(command("undo"), EXIT_DONE);
    assert_int_equal(scm.log.size, 0);
}

static bool has_flags(const char *image)
{
    char key[256];
    struct etw_registry_tree tree;
    snprintf(key, sizeof(key),
        "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Image File Execution Options\\%s", image);
    etw_registry_init(&tree);
    bool found = etw_registry_read(key, &tree, NULL) &&
                 etw_registry_find(&tree, "", "TracingFlags");
    etw_registry_fini(&tree);
    return found;
}

/* No agent comes after the service that would clean up. */
static void removing_the_service_restores_flags_that_a_killed_agent_has_left(void **state)
{
    (void)state;
    struct sim_registry *registry = sim_registry_create(NULL);
    etw_registry_use(sim_registry_api(registry));
    scm.config.command = (char[]){"\"C:\\p\\etwship.exe\" run --service -c \"C:\\c.yaml\""};
    set_state((struct service_status){.state = SERVICE_STATE_STOPPED});
    assert_true(etw_image_flags_set("held.exe", "etwship-held", NULL));
    struct etw_hold *hold = etw_hold_take("etwship-held", NULL);
    assert_true(etw_image_flags_set("left.exe", "etwship-left", NULL));
    assert_int_equal(command("retire", "--upgrade", "{1}"), EXIT_DONE);
    assert_true(has_flags("left.exe")); /* the agent of the next version does that */
    assert_int_equal(command("retire"), EXIT_DONE);
    assert_false(has_flags("left.exe"));

    assert_true(etw_image_flags_set("left.exe", "etwship-left", NULL));
    assert_int_equal(command("uninstall"), EXIT_DONE);
    assert_false(has_flags("left.exe"));
    assert_true(has_flags("held.exe"));
    etw_hold_drop(hold);
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
}

#define AUTOLOGGER(name) ETW_AUTOLOGGER_ROOT "\\" name

static void put_guid(const char *key, const char *guid)
{
    struct etw_registry_tree tree;
    etw_registry_init(&tree);
    etw_registry_put_text(&tree, "", "Guid", guid);
    assert_true(etw_registry_write(key, &tree, NULL));
    etw_registry_fini(&tree);
}

static bool has_key(const char *key)
{
    struct etw_registry_tree tree;
    etw_registry_init(&tree);
    bool found = etw_registry_read(key, &tree, NULL) && etw_registry_find(&tree, "", "Guid");
    etw_registry_fini(&tree);
    return found;
}

/* Windows would continue to start them at every boot. */
static void removing_the_program_removes_its_autologgers(void **state)
{
    (void)state;
    static const char other[] = "{11111111-2222-3333-4444-555555555555}";
    char ours[ETW_AUTOLOGGER_GUID_SIZE];
    struct sim_registry *registry = sim_registry_create(NULL);
    etw_registry_use(sim_registry_api(registry));
    scm.config.command = (char[]){"\"C:\\q\\etwship.exe\" run --service -c \"C:\\c.yaml\""};
    set_state((struct service_status){.state = SERVICE_STATE_STOPPED});
    etw_autologger_guid("etwship-boot", ours);
    put_guid(AUTOLOGGER("etwship-boot"), ours);
    put_guid(AUTOLOGGER("etwship-by-hand"), other);
    put_guid(AUTOLOGGER("EventLog-System"), other);
    assert_int_equal(command("retire"), EXIT_DONE);
    assert_true(has_key(AUTOLOGGER("etwship-boot"))); /* the service is another program's */
    scm.config.command = (char[]){"\"C:\\p\\etwship.exe\" run --service -c \"C:\\c.yaml\""};
    assert_int_equal(command("retire", "--upgrade", "{1}"), EXIT_DONE);
    assert_true(has_key(AUTOLOGGER("etwship-boot"))); /* the next version reads it */
    assert_int_equal(command("retire"), EXIT_DONE);
    assert_false(has_key(AUTOLOGGER("etwship-boot")));
    assert_true(has_key(AUTOLOGGER("etwship-by-hand")));
    assert_true(has_key(AUTOLOGGER("EventLog-System")));
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
}

/* A setup that fails before it has looked at the machine is rolled back, too. */
static void an_older_note_is_not_for_the_next_installation(void **state)
{
    (void)state;
    note_is(WAS_THERE);
    assert_int_equal(command("setup", "--config-file", "relative.yaml"), EXIT_USAGE);
    assert_int_equal(command("undo"), EXIT_DONE);
    assert_span(buf_span(&scm.log), "forget\n");
    note_is(WAS_THERE);
    assert_int_equal(command("forget"), EXIT_DONE);
    assert_string_equal(scm.note, "");
    /* The previous version's note counts for this version. */
    note_is(WAS_THERE);
    assert_int_equal(command("setup", "--upgrade", "{1}", "--start", "x"), EXIT_USAGE);
    assert_string_equal(scm.note, WAS_THERE);
}

static void what_installers_give_is_checked_before_anything_is_done(void **state)
{
    (void)state;
    assert_int_equal(command("setup", "--start", "maybe"), EXIT_USAGE);
    assert_int_equal(command("setup", "--config-file", "relative.yaml"), EXIT_USAGE);
    assert_int_equal(
        command("setup", "--config-file", "/a.yaml", "--output-url", "http://a"), EXIT_USAGE);
    assert_int_equal(command("setup", "stray"), EXIT_USAGE);
    assert_int_equal(command("undo", "--start", "1"), EXIT_USAGE);
    assert_int_equal(command("forget", "--start", "1"), EXIT_USAGE);
    assert_span(buf_span(&scm.log), "forget\nforget\nforget\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scm_test(install_registers_absolute_paths_and_the_account),
        scm_test(install_without_a_configuration_takes_that_of_the_system),
        scm_test(what_windows_refuses_is_a_failure),
        scm_test(a_service_that_is_not_installed_is_a_failure),
        scm_test(the_exit_code_of_a_start_is_that_of_the_service),
        scm_test(what_is_so_already_is_done),
        scm_test(wrong_usage_asks_for_nothing),
        scm_test(a_system_without_services_is_wrong_usage),
        scm_test(undo_registers_and_starts_what_was_there),
        scm_test(undo_puts_an_older_command_back),
        scm_test(undo_of_an_upgrade_leaves_starting_to_the_older_one),
        scm_test(undo_of_a_first_installation_removes_the_service),
        scm_test(undo_without_a_note_and_with_a_foreign_one_changes_nothing),
        scm_test(retire_stops_for_an_upgrade_and_removes_otherwise),
        scm_test(retire_leaves_the_service_of_another_program_alone),
        scm_test(removing_the_service_restores_flags_that_a_killed_agent_has_left),
        scm_test(removing_the_program_removes_its_autologgers),
        scm_test(an_older_note_is_not_for_the_next_installation),
        scm_test(what_installers_give_is_checked_before_anything_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
