#include "etw/etw_privilege.h"
#include "support/test.h"

static void rights_suffice_or_what_is_missing_is_said(void **state)
{
    static const struct {
        struct etw_rights rights;
        enum etw_need need;
        const char *missing; /* NULL: nothing */
    } rows[] = {
        {{.administrator = true}, ETW_NEED_SESSION, NULL},
        {{.service = true}, ETW_NEED_SESSION, NULL},
        {{.log_user = true}, ETW_NEED_SESSION, NULL},
        {{.profile = true}, ETW_NEED_SESSION, "Performance Log Users"},
        {{.administrator = true}, ETW_NEED_KERNEL, NULL},
        {{.log_user = true, .profile = true}, ETW_NEED_KERNEL, NULL},
        {{.log_user = true}, ETW_NEED_KERNEL, "SeSystemProfilePrivilege"},
        {{.profile = true}, ETW_NEED_KERNEL, "administrator"},
        {{.administrator = true}, ETW_NEED_KERNEL_LOGGER, NULL},
        {{.service = true, .log_user = true, .profile = true}, ETW_NEED_KERNEL_LOGGER,
            "type system"},
        {{.profile = true}, ETW_NEED_PROFILE, NULL},
        {{.administrator = true}, ETW_NEED_PROFILE, "SeSystemProfilePrivilege"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {.code = ERR_NONE};
        bool ok = etw_privilege_check(&rows[i].rights, rows[i].need, &err);
        assert_int_equal(ok, rows[i].missing == NULL);
        if (rows[i].missing) {
            assert_int_equal(err.code, ERR_CONFIG);
            assert_non_null(strstr(err.text, rows[i].missing));
        }
    }
}

static void this_process_can_be_asked(void **state)
{
    struct etw_rights rights;
    struct error err = {.code = ERR_NONE};
    (void)state;
    etw_privilege_query(&rights);
    bool enabled = etw_privilege_enable_profile(&err);
    assert_int_equal(enabled, err.code == ERR_NONE);
    assert_true(rights.profile || !enabled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rights_suffice_or_what_is_missing_is_said),
        cmocka_unit_test(this_process_can_be_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
