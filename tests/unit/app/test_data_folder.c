#include "app/state/data_folder.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char root[TEMP_FOLDER_BYTES];

static int begin(void **state)
{
    (void)state;
    return temp_folder_make(root, "data_folder");
}

static int end(void **state)
{
    (void)state;
    return temp_folder_remove(root);
}

static void a_folder_is_made_and_held_by_one(void **state)
{
    (void)state;
    char folder[DATA_FOLDER_PATH_BYTES];
    char process[32];
    struct error err = {0};
    assert_true(data_folder_path(root, "deep/data", folder, &err));
    struct plat_lock *lock = data_folder_take(folder, &err);
    assert_non_null(lock);
    assert_null(data_folder_take(folder, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    snprintf(process, sizeof(process), "process %llu", (unsigned long long)temp_process_id());
    assert_non_null(strstr(err.text, process));
    plat_lock_drop(lock);
    lock = data_folder_take(folder, &err);
    assert_non_null(lock);
    plat_lock_drop(lock);
}

static void a_folder_that_cannot_be_used_is_told(void **state)
{
    (void)state;
    char file[DATA_FOLDER_PATH_BYTES];
    char below[DATA_FOLDER_PATH_BYTES];
    struct error err = {0};
    assert_true(data_folder_path(root, "file", file, &err));
    struct plat_file *made = plat_file_open(file, PLAT_FILE_CREATE, &err);
    assert_non_null(made);
    plat_file_close(made);
    assert_true(data_folder_path(file, "data", below, &err));
    assert_null(data_folder_take(below, &err));
    assert_int_not_equal(err.code, ERR_STOPPED);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char path[DATA_FOLDER_PATH_BYTES];
    char *folder = malloc(DATA_FOLDER_PATH_BYTES + 1);
    struct error err = {0};
    assert_non_null(folder);
    memset(folder, 'x', DATA_FOLDER_PATH_BYTES);
    folder[DATA_FOLDER_PATH_BYTES - 3] = 0;
    assert_true(data_folder_path(folder, "a", path, &err));
    assert_int_equal(strlen(path), DATA_FOLDER_PATH_BYTES - 1);
    assert_false(data_folder_path(folder, "ab", path, &err));
    assert_int_equal(err.code, ERR_CONFIG);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_made_and_held_by_one),
        cmocka_unit_test(a_folder_that_cannot_be_used_is_told),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
