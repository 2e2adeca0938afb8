#define _GNU_SOURCE

#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "platform/plat_temp.h"
#include "support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES];

static int setup(void **state)
{
    (void)state;
    return temp_folder_make(folder, "plat-temp") != 0 || setenv("TMPDIR", folder, 1) != 0;
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static size_t count_entries(void)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    closedir(dir);
    return count;
}

static void a_temporary_file_has_no_name(void **state)
{
    (void)state;
    char back[16] = {0};
    size_t got;
    uint64_t bytes;
    struct plat_file *file = plat_temp_create(NULL);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_text("one"), NULL));
    assert_true(plat_file_read_at(file, 1, back, sizeof(back), &got, NULL));
    assert_int_equal(got, 2);
    /* at the end, whatever was read before */
    assert_true(plat_file_write(file, span_text("two"), NULL));
    assert_true(plat_file_read_at(file, 0, back, sizeof(back), &got, NULL));
    assert_int_equal(got, 6);
    assert_memory_equal(back, "onetwo", 6);
    assert_true(plat_file_truncate(file, 3, NULL));
    assert_true(plat_file_write(file, span_text("3"), NULL));
    assert_true(plat_file_size(file, &bytes, NULL));
    assert_int_equal(bytes, 4);
    struct plat_temp_room room;
    assert_true(plat_temp_room(file, &room, NULL));
    assert_in_range(room.free_bytes, 1, room.disk_bytes);
    assert_int_equal(count_entries(), 0);
    plat_file_close(file);
    assert_int_equal(count_entries(), 0);
}

static void a_folder_that_is_asked_for_is_not_replaced_by_another_one(void **state)
{
    (void)state;
    struct error err;
    setenv("TMPDIR", "/no/such/folder", 1);
    assert_null(plat_temp_create(&err));
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "set TMPDIR to a folder with room"));
    setenv("TMPDIR", "", 1);
    struct plat_file *file = plat_temp_create(NULL);
    assert_non_null(file);
    plat_file_close(file);
    setenv("TMPDIR", folder, 1);
}

static void standard_input_is_a_pipe_or_a_file(void **state)
{
    (void)state;
    char back[16] = {0};
    size_t got;
    uint64_t offset;
    int ends[2];
    int own = dup(STDIN_FILENO);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    close(ends[0]);
    close(ends[1]);
    struct plat_file *file = plat_stdin_open(NULL);
    assert_non_null(file);
    assert_false(plat_stdin_is_file(file, &offset));
    assert_true(plat_stdin_read(file, back, sizeof(back), &got, NULL));
    assert_int_equal(got, 3);
    assert_true(plat_stdin_read(file, back, sizeof(back), &got, NULL));
    assert_int_equal(got, 0);
    plat_file_close(file);

    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "0123", 4), 4);
    assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    file = plat_stdin_open(NULL);
    assert_non_null(file);
    assert_true(plat_stdin_is_file(file, &offset));
    assert_int_equal(offset, 2);
    plat_file_close(file);
    close(fd);
    dup2(own, STDIN_FILENO);
    close(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_temporary_file_has_no_name),
        cmocka_unit_test(a_folder_that_is_asked_for_is_not_replaced_by_another_one),
        cmocka_unit_test(standard_input_is_a_pipe_or_a_file),
    };
    return cmocka_run_group_tests_name("platform/plat_temp", tests, setup, teardown);
}
