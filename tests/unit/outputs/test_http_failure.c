#include "support/test.h"

#include <stdio.h>

#include "outputs/http/http_failure.h"

/* This file tests the text of a failure. test_http_client.c tests which
 * failures a client reports. */

static const char secret[] = "k3y-0123456789-abcdef";

static void no_part_of_a_secret_is_left_by_a_cut(void **state)
{
    (void)state;
    struct http_secrets secrets = {0};
    assert_true(http_secrets_add(&secrets, secret));
    for (size_t before = 0; before < 2300; before++) {
        char reason[2400] = "";
        struct error err = {0};
        memset(reason, 'x', before);
        snprintf(reason + before, sizeof(reason) - before, "%s is not known", secret);
        http_failure_say(HTTP_LOST, "https://es1:9200/path", reason, &secrets, &err);
        assert_int_equal(err.code, ERR_IO);
        assert_non_null(strstr(err.text, "https://es1:9200: "));
        assert_non_null(strstr(err.text, before ? "(x" : "(*** is not known)"));
        assert_null(strstr(err.text, "k3y-"));
        assert_int_equal(err.text[strlen(err.text) - 1], ')');
    }
    http_secrets_fini(&secrets);
}

static void control_characters_are_not_shown(void **state)
{
    (void)state;
    struct http_secrets secrets = {0};
    struct error err = {0};
    http_failure_say(HTTP_LOST, "http://h", "a\r\nb\x1b[31mc\x7f", &secrets, &err);
    assert_non_null(strstr(err.text, "(a  b [31mc )"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_part_of_a_secret_is_left_by_a_cut),
        cmocka_unit_test(control_characters_are_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
