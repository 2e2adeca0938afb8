#include "service/service_plan.h"

#include "support/test.h"

static struct error err;

static void plan_for(struct service_plan *plan, enum service_account account)
{
    assert_true(service_plan_init(
        plan, "C:\\Program Files\\e\\etwship.exe", "D:\\my config\\e.yaml", account, &err));
}

static void its_command_is_quoted_and_absolute(void **state)
{
    (void)state;
    struct service_plan plan;
    plan_for(&plan, SERVICE_ACCOUNT_SYSTEM);
    assert_string_equal((const char *)plan.command.data,
        "\"C:\\Program Files\\e\\etwship.exe\" run --service -c \"D:\\my config\\e.yaml\"");
    service_plan_fini(&plan);
}

static void an_account_is_asked_for_the_privileges_that_it_has_and_no_others(void **state)
{
    (void)state;
    struct service_plan plan;
    plan_for(&plan, SERVICE_ACCOUNT_SYSTEM);
    assert_null(plan.account);
    assert_string_equal(plan.privileges[0], "SeChangeNotifyPrivilege");
    assert_string_equal(plan.privileges[1], "SeSystemProfilePrivilege");
    assert_null(plan.privileges[2]);
    service_plan_fini(&plan);
    plan_for(&plan, SERVICE_ACCOUNT_VIRTUAL);
    assert_string_equal(plan.account, "NT SERVICE\\etwship");
    assert_string_equal(plan.privileges[0], "SeChangeNotifyPrivilege");
    assert_null(plan.privileges[1]);
    service_plan_fini(&plan);
}

static void recovery_waits_longer_and_longer(void **state)
{
    (void)state;
    struct service_plan plan;
    plan_for(&plan, SERVICE_ACCOUNT_SYSTEM);
    assert_true(plan.restart_count >= 3);
    for (size_t i = 1; i < plan.restart_count; i++) {
        assert_true(plan.restart_ms[i] > plan.restart_ms[i - 1]);
    }
    /* Otherwise the count would begin again before the last of them. */
    assert_true(plan.reset_s > plan.restart_ms[plan.restart_count - 1] / 1000);
    service_plan_fini(&plan);
}

static void the_configuration_is_found_in_its_command_again(void **state)
{
    (void)state;
    struct service_plan plan;
    char path[64];
    plan_for(&plan, SERVICE_ACCOUNT_SYSTEM);
    assert_true(service_plan_config((const char *)plan.command.data, path, sizeof(path)));
    assert_string_equal(path, "D:\\my config\\e.yaml");
    service_plan_fini(&plan);
}

static void in_other_commands_there_is_none(void **state)
{
    (void)state;
    static const char *const commands[] = {"", "etwship.exe", "etwship.exe run -c \"x\"",
        "\"e\" run --service -c", "\"e\" run --service -c \"", "\"e\" run --service -c \"\"",
        "\"e\" run --service -c \"x", "\"e\" run --service -c x",
        "\"e\" run --service -c \"123456789012345678901234567890\""};
    char path[16] = "kept";
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        assert_false(service_plan_config(commands[i], path, sizeof(path)));
        assert_string_equal(path, "kept");
    }
}

static void paths_that_a_command_line_cannot_hold_are_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"", "C:\\folder\\", "a\"b"};
    static char long_path[40000];
    struct service_plan plan;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_false(service_plan_init(&plan, "C:\\e.exe", paths[i], SERVICE_ACCOUNT_SYSTEM, &err));
        assert_int_equal(err.code, ERR_CONFIG);
        assert_false(service_plan_init(&plan, paths[i], "C:\\c", SERVICE_ACCOUNT_SYSTEM, &err));
    }
    memset(long_path, 'x', sizeof(long_path) - 1);
    assert_false(service_plan_init(&plan, "C:\\e.exe", long_path, SERVICE_ACCOUNT_SYSTEM, &err));
    assert_int_equal(err.code, ERR_CONFIG);
}

static void what_failed_ends_with_an_error_and_what_was_asked_to_stop_does_not(void **state)
{
    (void)state;
    enum { SPECIFIC = 1066 }; /* ERROR_SERVICE_SPECIFIC_ERROR */
    static const struct {
        int exit_code;
        bool was_asked;
        uint32_t code;
        uint32_t specific;
    } rows[] = {
        {0, false, 0, 0},
        {1, false, SPECIFIC, 1},
        {2, false, SPECIFIC, 2},
        {3, false, 0, 0}, /* losses: a restart does not undo them */
        {0, true, 0, 0},
        {1, true, 0, 0},
        {2, true, 0, 0},
        {3, true, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct service_end end = service_plan_end(rows[i].exit_code, rows[i].was_asked);
        assert_int_equal(end.exit_code, rows[i].code);
        assert_int_equal(end.specific_code, rows[i].specific);
    }
}

static void what_was_registered_before_can_be_planned_again(void **state)
{
    (void)state;
    static const char command[] = "\"D:\\old\\etwship.exe\" run --service -c \"D:\\old\\c.yaml\"";
    struct service_plan plan;
    char path[64];
    assert_true(service_plan_init_as(
        &plan, "D:\\old\\etwship.exe", command, "localsystem", SERVICE_START_DISABLED, &err));
    assert_null(plan.account);
    assert_int_equal(plan.start, SERVICE_START_DISABLED);
    assert_string_equal((const char *)plan.command.data, command);
    assert_string_equal(plan.privileges[1], "SeSystemProfilePrivilege");
    assert_true(service_plan_program((const char *)plan.command.data, path, sizeof(path)));
    assert_string_equal(path, "D:\\old\\etwship.exe");
    service_plan_fini(&plan);
    /* The privileges of a user's own account are unknown, so the plan asks for the fewest. */
    assert_true(service_plan_init_as(
        &plan, "D:\\e.exe", "\"D:\\e.exe\"", "DOMAIN\\agent$", SERVICE_START_AUTO, &err));
    assert_string_equal(plan.account, "DOMAIN\\agent$");
    assert_null(plan.privileges[1]);
    service_plan_fini(&plan);
}

static void a_program_without_quotes_or_room_is_none(void **state)
{
    (void)state;
    char path[8];
    assert_false(service_plan_program("C:\\Program Files\\e.exe run", path, sizeof(path)));
    assert_false(service_plan_program("\"C:\\e.exe", path, sizeof(path)));
    assert_false(service_plan_program("\"\"", path, sizeof(path)));
    assert_false(service_plan_program("\"C:\\e.exe\"", path, sizeof(path)));
}

static void accounts_are_known_by_their_names(void **state)
{
    (void)state;
    assert_true(service_plan_is_system("LocalSystem"));
    assert_true(service_plan_is_system("nt authority\\system"));
    assert_false(service_plan_is_system("NT SERVICE\\etwship"));
    assert_true(service_plan_is_virtual("NT Service\\etwship"));
    assert_false(service_plan_is_virtual("NT SERVICE\\etwship2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_command_is_quoted_and_absolute),
        cmocka_unit_test(an_account_is_asked_for_the_privileges_that_it_has_and_no_others),
        cmocka_unit_test(recovery_waits_longer_and_longer),
        cmocka_unit_test(the_configuration_is_found_in_its_command_again),
        cmocka_unit_test(in_other_commands_there_is_none),
        cmocka_unit_test(paths_that_a_command_line_cannot_hold_are_refused),
        cmocka_unit_test(what_failed_ends_with_an_error_and_what_was_asked_to_stop_does_not),
        cmocka_unit_test(what_was_registered_before_can_be_planned_again),
        cmocka_unit_test(a_program_without_quotes_or_room_is_none),
        cmocka_unit_test(accounts_are_known_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
