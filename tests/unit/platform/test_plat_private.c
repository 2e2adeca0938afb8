#define _GNU_SOURCE

#include "support/test.h"

#include <stdio.h>
#include <sys/stat.h>

#include "platform/plat_file.h"
#include "support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES];

static int set_up(void **state)
{
    (void)state;
    return temp_folder_make(folder, "private");
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void a_file_is_private_if_others_have_no_right_to_it(void **state)
{
    (void)state;
    static const struct {
        mode_t mode;
        bool is_private;
    } cases[] = {{0600, true}, {0400, true}, {0640, true}, {0660, true}, {0604, false},
        {0644, false}, {0602, false}, {0601, false}};
    char path[TEMP_FOLDER_BYTES + 16];
    snprintf(path, sizeof(path), "%s/key", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fclose(file);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool is_private = !cases[i].is_private;
        struct error err;
        assert_int_equal(chmod(path, cases[i].mode), 0);
        assert_true(plat_file_is_private(path, &is_private, &err));
        assert_int_equal(is_private, cases[i].is_private);
    }
}

static void a_file_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    bool is_private = true;
    struct error err;
    assert_false(plat_file_is_private("/no/such/file", &is_private, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "/no/such/file"));
    assert_true(is_private);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_private_if_others_have_no_right_to_it),
        cmocka_unit_test(a_file_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
