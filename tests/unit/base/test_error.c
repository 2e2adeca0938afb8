#include "support/test.h"

#include "base/error.h"

static void a_failure_is_false_and_says_what_and_why(void **state)
{
    (void)state;
    struct error err = {.os_code = 99};
    assert_false(error_set(&err, ERR_FORMAT, "%s: bad byte at %d", "a.etl", 7));
    assert_int_equal(err.code, ERR_FORMAT);
    assert_int_equal(err.os_code, 0);
    assert_string_equal(err.text, "a.etl: bad byte at 7");
}

static void a_failure_of_the_system_carries_its_code_and_reason(void **state)
{
    (void)state;
    struct error err;
    assert_false(error_set_os(&err, 13, "Permission denied", "%s: cannot open", "a.etl"));
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(err.os_code, 13);
    assert_string_equal(err.text, "a.etl: cannot open: Permission denied");
}

static void long_texts_are_cut_inside_the_error(void **state)
{
    (void)state;
    char name[2000];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    struct error err;
    assert_false(error_set(&err, ERR_IO, "%s", name));
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_false(error_set_os(&err, 1, name, "%s", name));
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

/* Names of files, classes and fields may contain anything. */
static void names_stay_on_the_line_of_the_error(void **state)
{
    (void)state;
    struct error err;
    error_set(&err, ERR_FORMAT, "no class %s", "a\netwship: error: forged\x1b[2J");
    assert_string_equal(err.text, "no class a\\netwship: error: forged\\u001b[2J");
    error_set_os(&err, 2, "no such file", "%s", "x\r\xc2\x9b");
    assert_string_equal(err.text, "x\\r\\u009b: no such file");
}

static void the_reason_is_optional(void **state)
{
    (void)state;
    assert_false(error_set(NULL, ERR_IO, "x"));
    assert_false(error_set_os(NULL, 1, "x", "y"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_false_and_says_what_and_why),
        cmocka_unit_test(a_failure_of_the_system_carries_its_code_and_reason),
        cmocka_unit_test(long_texts_are_cut_inside_the_error),
        cmocka_unit_test(names_stay_on_the_line_of_the_error),
        cmocka_unit_test(the_reason_is_optional),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
