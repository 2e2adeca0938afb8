#include "support/config_rig.h"

/* Texts with mistakes: their error lines, and that no part of such a text does harm. */

struct broken {
    const char *text;
    const char *errors;
};

static const struct broken broken[] = {
/* clang-format off */
#include "unit/config/broken.inc"
    /* clang-format on */
};

static void everything_wrong_is_reported_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        assert_errors(broken[i].text, strlen(broken[i].text), broken[i].errors);
    }
}

static void a_broken_text_never_crashes_wherever_it_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        size_t size = strlen(broken[i].text);
        for (size_t cut = 0; cut < size; cut++) {
            char *copy = malloc(cut + 1);
            assert_non_null(copy);
            memcpy(copy, broken[i].text, cut);
            struct loaded l;
            load(&l, copy, cut);
            unload(&l);
            free(copy);
        }
    }
}

static void bytes_that_are_no_text_are_refused(void **state)
{
    (void)state;
    assert_errors(
        "text: \xc3(", 8, "f.yaml:1:8: error: this is not UTF-8 text. save the file as UTF-8\n");
    assert_errors("on: true\ntext: a\xff", 17,
        "f.yaml:2:8: error: this is not UTF-8 text. save the file as UTF-8\n");
    assert_errors(
        "\xff\xfeo\0n\0", 6, "f.yaml:1:1: error: this is UTF-16 text. save the file as UTF-8\n");
    assert_errors(
        "\xfe\xff\0o\0n", 6, "f.yaml:1:1: error: this is UTF-16 text. save the file as UTF-8\n");
    assert_errors("text: a\0b", 9,
        "f.yaml:1:8: error: a control character. YAML takes it only as an escape in double "
        "quotes\n");
    assert_errors("text: a\x1b[31m", 12,
        "f.yaml:1:8: error: a control character. YAML takes it only as an escape in double "
        "quotes\n");
    assert_errors("text: \xed\xa0\x80", 9,
        "f.yaml:1:7: error: this is not UTF-8 text. save the file as UTF-8\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_wrong_is_reported_with_its_place),
        cmocka_unit_test(a_broken_text_never_crashes_wherever_it_ends),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
