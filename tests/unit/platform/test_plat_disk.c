#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "support/temp_folder.h"

/* What lies between the agent's files and the disk: room, names, pieces. */
static char folder[TEMP_FOLDER_BYTES];
static struct error err;

static const char *path_of(const char *name)
{
    static char path[TEMP_FOLDER_BYTES + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void test_pieces_are_written_in_order_however_many(void **state)
{
    (void)state;
    struct span pieces[100];
    char expected[1024] = "";
    size_t size = 0;
    for (size_t i = 0; i < 100; i++) {
        static const char *const texts[] = {"one ", "", "three ", "4"};
        pieces[i] = span_text(texts[i % 4]);
        memcpy(expected + size, pieces[i].data, pieces[i].size);
        size += pieces[i].size;
    }
    pieces[1] = span_make(NULL, 0);
    for (size_t count = 0; count <= 100; count += 9) {
        size_t bytes = 0;
        for (size_t i = 0; i < count; i++) {
            bytes += pieces[i].size;
        }
        char *data;
        struct plat_file *file = plat_file_open(path_of("pieces"), PLAT_FILE_CREATE, &err);
        assert_non_null(file);
        assert_true(plat_file_write_pieces(file, pieces, count, &err));
        plat_file_close(file);
        assert_true(plat_file_load(path_of("pieces"), 4096, &data, &size, &err));
        assert_int_equal(size, bytes);
        assert_memory_equal(data, expected, size);
        free(data);
    }
}

/* More pieces than one call of the system takes; a call may end anywhere in them. */
static void test_large_pieces_are_written_whole(void **state)
{
    (void)state;
    enum { BYTES = 5 << 20 };
    uint8_t *bytes = malloc(BYTES);
    assert_non_null(bytes);
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    }
    struct span pieces[5];
    size_t used = 0;
    for (size_t i = 0; i < 5; i++) {
        static const size_t sizes[] = {40, (1 << 20) - 40, 3, 3 << 20, 7};
        pieces[i] = span_make(bytes + used, sizes[i]);
        used += sizes[i];
    }
    char *data;
    size_t size;
    struct plat_file *file = plat_file_open(path_of("large"), PLAT_FILE_CREATE, &err);
    assert_non_null(file);
    assert_true(plat_file_write_pieces(file, pieces, 5, &err));
    plat_file_close(file);
    assert_true(plat_file_load(path_of("large"), BYTES, &data, &size, &err));
    assert_int_equal(size, used);
    assert_memory_equal(data, bytes, used);
    free(data);
    free(bytes);
}

static bool count_name(void *self, const char *name)
{
    unsigned *seen = self;
    *seen += strcmp(name, "file") == 0 ? 1 : strcmp(name, "\xc3\xa4") == 0 ? 10 : 100;
    return true;
}

static void test_a_folder_gives_its_files_and_no_folders(void **state)
{
    (void)state;
    unsigned seen = 0;
    assert_true(plat_dir_create(path_of("inner/deep"), &err));
    plat_file_close(plat_file_open(path_of("inner/file"), PLAT_FILE_CREATE, &err));
    plat_file_close(plat_file_open(path_of("inner/\xc3\xa4"), PLAT_FILE_CREATE, &err));
    plat_file_close(plat_file_open(path_of("inner/deep/file"), PLAT_FILE_CREATE, &err));
    assert_true(plat_dir_files(path_of("inner"), count_name, &seen, &err));
    assert_int_equal(seen, 11);
    assert_false(plat_dir_files(path_of("none"), count_name, &seen, &err));
    assert_int_equal(err.code, ERR_IO);
}

static void test_a_file_is_found_with_its_size(void **state)
{
    (void)state;
    bool there = true;
    uint64_t bytes = 1;
    assert_true(plat_path_find(path_of("none"), &there, &bytes, &err));
    assert_false(there);
    assert_true(plat_path_find(path_of("none/none"), &there, &bytes, &err));
    assert_false(there);
    assert_true(plat_path_find(folder, &there, &bytes, &err)); /* it is not a file */
    assert_false(there);
    struct plat_file *file = plat_file_open(path_of("found"), PLAT_FILE_CREATE, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_text("12345"), &err));
    /* That is also true while it is open. */
    assert_true(plat_path_find(path_of("found"), &there, &bytes, &err));
    assert_true(there);
    assert_int_equal(bytes, 5);
    plat_file_close(file);
}

static void test_a_disk_says_what_is_free(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    assert_true(plat_disk_free(folder, &bytes, &err));
    assert_true(bytes > 0);
    assert_false(plat_disk_free(path_of("none"), &bytes, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_false(plat_disk_is_full(&err));
}

/* On Linux one device is always full. */
static void test_a_full_disk_is_told_from_other_failures(void **state)
{
    (void)state;
    if (plat_path_kind("/dev/full") == PLAT_PATH_NONE) {
        skip();
    }
    struct plat_file *file = plat_file_open("/dev/full", PLAT_FILE_APPEND, &err);
    assert_non_null(file);
    struct span pieces[] = {span_text("a"), span_text("b")};
    assert_false(plat_file_write_pieces(file, pieces, 2, &err));
    assert_true(plat_disk_is_full(&err));
    plat_file_close(file);
    assert_null(plat_file_open(path_of("none/file"), PLAT_FILE_APPEND, &err));
    assert_false(plat_disk_is_full(&err));
}

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "disk");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_written_in_order_however_many),
        cmocka_unit_test(test_large_pieces_are_written_whole),
        cmocka_unit_test(test_a_folder_gives_its_files_and_no_folders),
        cmocka_unit_test(test_a_file_is_found_with_its_size),
        cmocka_unit_test(test_a_disk_says_what_is_free),
        cmocka_unit_test(test_a_full_disk_is_told_from_other_failures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
