#include "platform/plat_path.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char folder[TEMP_FOLDER_BYTES];
static char a[TEMP_FOLDER_BYTES + 16];
static char b[TEMP_FOLDER_BYTES + 16];
static struct error err;

static void write_file(const char *path, const char *text)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_text(text), &err));
    plat_file_close(file);
}

static int setup(void **state)
{
    (void)state;
    int result = temp_folder_make(folder, "path");
    snprintf(a, sizeof(a), "%s/a", folder);
    snprintf(b, sizeof(b), "%s/b", folder);
    return result;
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void renaming_replaces_what_has_the_name(void **state)
{
    (void)state;
    char *text;
    size_t size;
    write_file(a, "new");
    write_file(b, "old and longer");
    assert_true(plat_path_rename(a, b, &err));
    assert_int_equal(plat_path_kind(a), PLAT_PATH_NONE);
    assert_true(plat_file_load(b, 100, &text, &size, &err));
    assert_string_equal(text, "new");
    free(text);
    assert_true(plat_path_sync_folder(folder, &err));
    assert_false(plat_path_rename(a, b, &err));
    assert_non_null(strstr(err.text, a));
    assert_int_equal(err.code, ERR_IO);
    assert_true(strstr(err.text, "No such file") || strstr(err.text, "not f") /* ound, ind */);
}

static void assert_text(const char *path, const char *expected)
{
    char *text;
    size_t size;
    assert_true(plat_file_load(path, 100, &text, &size, &err));
    assert_string_equal(text, expected);
    free(text);
}

static void a_name_that_is_taken_stays_whose_it_is(void **state)
{
    (void)state;
    write_file(a, "ours");
    write_file(b, "theirs");
    assert_false(plat_path_rename_new(a, b, &err));
    assert_int_equal(err.code, ERR_BUSY);
    assert_non_null(strstr(err.text, b));
    assert_text(a, "ours");
    assert_text(b, "theirs");
    assert_true(plat_path_remove(b, &err));
    if (temp_file_link("nowhere", b)) {
        assert_false(plat_path_rename_new(a, b, &err));
        assert_int_equal(err.code, ERR_BUSY);
        assert_true(plat_path_remove(b, &err));
    }
    assert_true(plat_path_rename_new(a, b, &err));
    assert_text(b, "ours");
    assert_int_equal(plat_path_kind(a), PLAT_PATH_NONE);
    assert_false(plat_path_rename_new(a, b, &err));
    assert_int_equal(err.code, ERR_IO);
}

static void removing_what_is_not_there_is_fine(void **state)
{
    (void)state;
    write_file(a, "x");
    assert_true(plat_path_remove(a, &err));
    assert_int_equal(plat_path_kind(a), PLAT_PATH_NONE);
    assert_true(plat_path_remove(a, &err));
    char deeper[TEMP_FOLDER_BYTES + 16];
    snprintf(deeper, sizeof(deeper), "%s/no/file", folder);
    assert_true(plat_path_remove(deeper, &err));
    assert_false(plat_path_remove(folder, &err));
}

static void a_lock_has_one_holder_whose_id_is_told(void **state)
{
    (void)state;
    uint64_t holder = 77;
    write_file(a, "12345678901234567890, of an earlier holder");
    struct plat_lock *lock = plat_lock_take(a, &holder, &err);
    assert_non_null(lock);
    assert_int_equal(holder, 77);
    assert_null(plat_lock_take(a, &holder, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_int_equal(holder, temp_process_id());
    plat_lock_drop(lock);
    lock = plat_lock_take(a, &holder, &err);
    assert_non_null(lock);
    plat_lock_drop(lock);
    plat_lock_drop(NULL);
    assert_null(plat_lock_take(folder, &holder, &err));
    assert_int_equal(err.code, ERR_IO);
}

static void an_open_file_knows_whether_its_path_still_names_it(void **state)
{
    (void)state;
    write_file(a, "x");
    struct plat_file *file = plat_file_open(a, PLAT_FILE_READ, &err);
    assert_true(plat_file_is_at(file, a));
    write_file(b, "x");
    if (temp_system_is_wine()) { /* Wine does not replace open files */
        plat_file_close(file);
        skip();
    }
    assert_true(plat_path_rename(b, a, &err));
    assert_false(plat_file_is_at(file, a));
    assert_true(plat_path_remove(a, &err));
    assert_false(plat_file_is_at(file, a));
    plat_file_close(file);
}

static void a_stamp_changes_with_the_file(void **state)
{
    (void)state;
    assert_true(plat_path_remove(a, &err) && plat_path_remove(b, &err));
    struct plat_stamp none = plat_path_stamp(a);
    assert_true(none.id == 0 && none.size == 0 && none.modified == 0);
    write_file(a, "x");
    struct plat_stamp first = plat_path_stamp(a);
    struct plat_stamp again = plat_path_stamp(a);
    assert_memory_equal(&first, &again, sizeof(first));
    write_file(a, "xy");
    assert_true(plat_path_stamp(a).size == 2);
    write_file(b, "x");
    assert_true(plat_path_rename(b, a, &err));
    assert_true(plat_path_stamp(a).id != first.id);
}

#ifdef _WIN32

#include "platform/windows/plat_path_own.h"
#include "platform/windows/plat_wide.h"

/* A file that another program has open without sharing, as a virus scanner does. */
static HANDLE held;
static DWORD paused_ms;

static void WINAPI close_held(DWORD ms)
{
    paused_ms += ms;
    CloseHandle(held);
}

static void WINAPI keep_held(DWORD ms)
{
    paused_ms += ms;
}

static void hold(const char *path)
{
    held = CreateFileA(path, GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
    assert_true(held != INVALID_HANDLE_VALUE);
    paused_ms = 0;
}

static void a_file_that_another_program_looks_at_is_renamed_after_it(void **state)
{
    static const struct {
        const char *held;
        DWORD replacing;
        bool is_taken; /* the new name */
    } rows[] = {{a, MOVEFILE_REPLACE_EXISTING, true}, {b, MOVEFILE_REPLACE_EXISTING, true},
        {a, MOVEFILE_REPLACE_EXISTING, false}, {a, 0, false}};
    (void)state;
    wchar_t *from = plat_wide_path(a, &err);
    wchar_t *to = plat_wide_path(b, &err);
    assert_true(from && to);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        DWORD code = 0;
        write_file(a, "new");
        write_file(b, "old");
        assert_true(rows[i].is_taken || plat_path_remove(b, &err));
        hold(rows[i].held);
        assert_false(plat_path_rename_with(from, to, rows[i].replacing, keep_held, &code));
        assert_true(code == ERROR_SHARING_VIOLATION || code == ERROR_ACCESS_DENIED);
        assert_int_equal(paused_ms, 10 + 20 + 40 + 80 + 160);
        paused_ms = 0;
        assert_true(plat_path_rename_with(from, to, rows[i].replacing, close_held, &code));
        assert_int_equal(paused_ms, 10);
        assert_text(b, "new");
    }
    free(from);
    free(to);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renaming_replaces_what_has_the_name),
        cmocka_unit_test(a_name_that_is_taken_stays_whose_it_is),
        cmocka_unit_test(removing_what_is_not_there_is_fine),
        cmocka_unit_test(a_lock_has_one_holder_whose_id_is_told),
        cmocka_unit_test(a_stamp_changes_with_the_file),
#ifdef _WIN32
        cmocka_unit_test(a_file_that_another_program_looks_at_is_renamed_after_it),
#endif
        cmocka_unit_test(an_open_file_knows_whether_its_path_still_names_it),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
