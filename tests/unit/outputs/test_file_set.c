#include "outputs/file/file_set.h"

#include "unit/outputs/file_rig.h"

/* Which files are open, and which are known. Tests go through the output itself, or through the set
 * alone. */

static void more_files_than_may_be_open_are_written_to(void **state)
{
    (void)state;
    enum { FILES = FILE_SET_MAX_OPEN * 3 };
    struct fixture f;
    char lines[FILES * 5 + 1] = "";
    char names[FILES][8];
    const char *routes[FILES];
    for (size_t i = 0; i < FILES; i++) {
        snprintf(lines + i * 5, 6, "%04zu\n", i);
        snprintf(names[i], sizeof(names[i]), "%zu.e", i);
        routes[i] = names[i];
    }
    open_output(&f, "{path: '%s/{provider.name}.e'}");
    assert_int_equal(send_lines(&f, lines, routes), OUTPUT_DELIVERED);
    assert_int_equal(f.saves, 1);
    assert_int_equal(send_lines(&f, lines, routes), OUTPUT_DELIVERED);
    assert_int_equal(f.saves, 1);
    fini(&f);
    assert_int_equal(files_in_folder(), FILES);
    assert_content("0.e", "0000\n0000\n");
    assert_content("191.e", "0191\n0191\n");
}

static void two_paths_to_one_file_are_one_file(void **state)
{
    (void)state;
    struct fixture f;
    char path[256];
    static const char *const routes[] = {"a/x.e", "b/x.e", "a/x.e"};
    open_output(&f, "{path: '%s/{provider.name}/x.e', rotate: {size: 6}}");
    snprintf(path, sizeof(path), "%s/b", folder);
    if (!temp_file_link("a", path)) {
        fini(&f);
        skip();
    }
    assert_int_equal(send_lines(&f, "1\n2\n3\n", routes), OUTPUT_DELIVERED);
    assert_content("a/x.e", "1\n2\n3\n");
    assert_int_equal(send_lines(&f, "4\n5\n6\n", routes), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("a/x.e.1", "1\n2\n3\n");
    assert_content("a/x.e", "4\n5\n6\n");
}

static void of_very_many_files_the_last_used_are_remembered(void **state)
{
    (void)state;
    struct file_set set;
    struct error err;
    char path[256];
    file_set_init(&set, NULL, false);
    for (size_t i = 0; i < FILE_SET_MAX_KNOWN; i++) {
        snprintf(path, sizeof(path), "%zu", i);
        assert_non_null(file_set_get(&set, span_text(path), &err));
    }
    file_set_trim(&set);
    assert_int_equal(set.count, FILE_SET_MAX_KNOWN);
    file_set_get(&set, span_text("0"), &err);
    file_set_get(&set, span_text("more"), &err);
    file_set_trim(&set);
    assert_int_equal(set.count, FILE_SET_MAX_KNOWN / 2);
    assert_non_null(file_set_find(&set, span_text("0")));
    assert_non_null(file_set_find(&set, span_text("more")));
    assert_null(file_set_find(&set, span_text("1")));
    memset(path, 'x', sizeof(path));
    for (size_t i = 0; i < FILE_SET_MAX_PATHS_BYTES / sizeof(path); i++) {
        path[i % 200] = (char)('a' + i % 26);
        assert_non_null(file_set_get(&set, span_make(path, sizeof(path)), &err));
    }
    file_set_trim(&set);
    assert_true(set.count <= FILE_SET_MAX_PATHS_BYTES / 2 / sizeof(path));
    assert_non_null(file_set_find(&set, span_make(path, sizeof(path))));
    file_set_fini(&set);
}

static void a_checkpoint_cuts_only_its_own_files(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    const char *yaml = "{path: '%s/{provider.name}.e'}";
    static const char *const routes[] = {"a.e", "b.e"};
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n2\n", routes), OUTPUT_DELIVERED);
    assert_true(store(&f, &err));
    assert_int_equal(send_lines(&f, "3\n4\n", routes), OUTPUT_DELIVERED);
    close_output(&f);
    struct buf checkpoint = f.stored;
    /* A checkpoint cut at any byte is damaged, and then the output cuts no file. */
    for (size_t size = 1; size < checkpoint.size; size++) {
        buf_init(&f.stored, OUTPUT_CHECKPOINT_MAX_BYTES);
        f.warned[0] = '\0';
        open_again(&f, yaml, span_make(checkpoint.data, size));
        close_output(&f);
        buf_fini(&f.stored);
        if (size < checkpoint.size - 2) { /* the last part is the list of chores, which is empty */
            assert_content("a.e", "1\n3\n");
        }
        assert_non_null(strstr(f.warned, "cannot be read"));
    }
    buf_init(&f.stored, OUTPUT_CHECKPOINT_MAX_BYTES);
    open_again(&f, "{path: '%s/other/{provider.name}.e'}", buf_span(&checkpoint));
    close_output(&f);
    open_again(&f, yaml, buf_span(&checkpoint));
    close_output(&f);
    assert_content("a.e", "1\n");
    assert_content("b.e", "2\n");
    /* The output must not cut a file that another program put in the place of ours. */
    char path[256];
    char other[256];
    snprintf(path, sizeof(path), "%s/a.e", folder);
    snprintf(other, sizeof(other), "%s/x", folder);
    FILE *file = fopen(other, "wb");
    fputs("longer\n", file);
    fclose(file);
    assert_true(plat_path_rename(other, path, &err));
    open_again(&f, yaml, buf_span(&checkpoint));
    assert_content("a.e", "longer\n");
    close_output(&f);
    /* A file that another program cut is reported. */
    snprintf(path, sizeof(path), "%s/b.e", folder);
    assert_true(temp_file_cut(path, 1));
    open_again(&f, yaml, buf_span(&checkpoint));
    assert_non_null(strstr(f.warned, "shorter"));
    buf_fini(&checkpoint);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_files_than_may_be_open_are_written_to),
        cmocka_unit_test(two_paths_to_one_file_are_one_file),
        cmocka_unit_test(of_very_many_files_the_last_used_are_remembered),
        cmocka_unit_test(a_checkpoint_cuts_only_its_own_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
