#include "outputs/file/file_bound.h"

#include "unit/outputs/file_rig.h"

/* The number of files that events can create. Tested through the output itself. */

static void events_for_too_many_files_go_to_one(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const first[] = {"a.e", "b.e", "c.e", "d.e", "a.e"};
    static const char *const second[] = {"d.e", "b.e", "overflow.e", "e.e"};
    open_output(&f, "{path: '%s/{provider.name}.e', max_files: 2}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n4\n5\n", first), OUTPUT_DELIVERED);
    assert_string_equal(f.warned, "max_files: there are 2 files, and events need more: further "
                                  "events go to the file with overflow");
    f.warned[0] = 0;
    assert_int_equal(send_lines(&f, "6\n7\n8\n9\n", second), OUTPUT_DELIVERED);
    assert_int_not_equal(f.warned[0], 0);
    fini(&f);
    assert_content("a.e", "1\n5\n");
    assert_content("b.e", "2\n7\n");
    assert_content("overflow.e", "3\n4\n6\n8\n9\n");
    assert_int_equal(files_in_folder(), 3);
}

static void files_of_other_times_count_once(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const routes[] = {"2025/a-01.e", "2025/a-02.e", "2026/a-01.e", "2026/b-03.e",
        "2026/c-07.e", "2027/c-08.e", "2028/a-01.e"};
    open_output(&f, "{path: '%s/%%Y/{provider.name}-%%m.e', max_files: 2, rotate: {size: 2}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n4\n5\n6\n7\n", routes), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("2028/a-01.e", "7\n");
    assert_content("2026/b-03.e", "4\n");
    assert_content("2026/overflow-07.e", "5\n");
    assert_content("2027/overflow-08.e", "6\n");
    assert_int_equal(files_in_folder(), 7);
}

static void the_file_for_what_is_too_much_does_not_count_at_the_start(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const before[] = {"a.e", "z.e", "q.e"};
    static const char *const after[] = {"z.e", "q.e"};
    const char *yaml = "{path: '%s/{provider.name}.e', max_files: 2}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n2\n3\n", before), OUTPUT_DELIVERED);
    close_output(&f);
    open_again(&f, yaml, span_make(NULL, 0));
    assert_int_equal(send_lines(&f, "4\n5\n", after), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("z.e", "2\n4\n");
    assert_content("overflow.e", "3\n5\n");
}

static void a_folder_that_is_still_to_be_made_is_no_reason_to_warn(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const routes[] = {"new/a.e"};
    open_output(&f, "{path: '%s/new/{provider.name}.e'}");
    assert_int_equal(send_lines(&f, "1\n", routes), OUTPUT_DELIVERED);
    assert_string_equal(f.warned, "");
    fini(&f);
    assert_content("new/a.e", "1\n");
}

#ifndef _WIN32
static void what_is_there_at_the_start_counts(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const before[] = {"x/a.e", "y/b.e", "x/b.e"};
    static const char *const after[] = {"z/a.e", "y/b.e", "x/a.e"};
    const char *yaml = "{path: '%s/{provider.name}/{etw.session}.e', max_files: 3}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n2\n3\n", before), OUTPUT_DELIVERED);
    assert_int_equal(f.warned[0], 0);
    close_output(&f);
    open_again(&f, yaml, span_make(NULL, 0));
    assert_int_equal(send_lines(&f, "4\n5\n6\n", after), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("overflow/overflow.e", "4\n");
    assert_content("y/b.e", "2\n5\n");
    assert_content("x/a.e", "1\n6\n");
    assert_int_equal(files_in_folder(), 4);
}
#endif

static void a_flood_of_names_makes_no_flood_of_files(void **state)
{
    (void)state;
    enum { NAMES = 200, MOST = 50, ROUNDS = 20 };
    struct fixture f;
    static char names[NAMES][32];
    const char *routes[NAMES];
    char lines[NAMES * 2 + 1];
    for (size_t i = 0; i < NAMES; i++) {
        memcpy(lines + i * 2, "x\n", 3);
        routes[i] = names[i];
    }
    open_output(&f, "{path: '%s/{provider.name}.e', max_files: 50}");
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < NAMES; i++) {
            snprintf(names[i], sizeof(names[i]), "%u.e", round * NAMES + i);
        }
        assert_int_equal(send_lines(&f, lines, routes), OUTPUT_DELIVERED);
    }
    fini(&f);
    assert_int_equal(files_in_folder(), MOST + 1);
    char path[256];
    struct error err;
    snprintf(path, sizeof(path), "%s/overflow.e", folder);
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, &err);
    uint64_t bytes = 0;
    assert_true(plat_file_size(file, &bytes, &err));
    plat_file_close(file);
    assert_int_equal(bytes, (NAMES * ROUNDS - MOST) * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_for_too_many_files_go_to_one),
        cmocka_unit_test(files_of_other_times_count_once),
#ifndef _WIN32 /* there the template's folder is found with other slashes */
        cmocka_unit_test(what_is_there_at_the_start_counts),
#endif
        cmocka_unit_test(the_file_for_what_is_too_much_does_not_count_at_the_start),
        cmocka_unit_test(a_folder_that_is_still_to_be_made_is_no_reason_to_warn),
        cmocka_unit_test(a_flood_of_names_makes_no_flood_of_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
