#include "config/config_path.h"

#include "support/test.h"

static void paths_are_absolute_that_start_at_a_root(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool is_absolute;
    } cases[] = {{"/", true}, {"\\x", true}, {"C:", true}, {"z:/x", true}, {"", false},
        {"C", false}, {"1:", false}, {"x/y", false}, {"./x", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct span path = span_text(cases[i].path);
        struct buf out;
        buf_init(&out, 100);
        assert_int_equal(config_path_is_absolute(path), cases[i].is_absolute);
        config_path_join("base/", path, &out);
        assert_int_equal(out.size, path.size + (cases[i].is_absolute ? 0 : strlen("base/")));
        buf_fini(&out);
    }
}

static void what_means_something_in_a_template_is_doubled(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 100);
    config_path_add_literal("/a%b/{c}/", &out);
    assert_span(buf_span(&out), "/a%%b/{{c}}/");
    buf_fini(&out);
}

static void a_folder_ends_in_its_separator(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a/b", "a/"}, {"a\\b", "a\\"}, {"/b", "/"}, {"a/", "a/"}, {"a", ""}, {"", ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_span(config_path_folder(span_text(cases[i][0])), cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_absolute_that_start_at_a_root),
        cmocka_unit_test(what_means_something_in_a_template_is_doubled),
        cmocka_unit_test(a_folder_ends_in_its_separator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
