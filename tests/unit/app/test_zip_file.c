#include "app/support/zip_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* The bytes of a .zip at the places of PKWARE's APPNOTE.TXT. An integration test reads whole
 * files. */

/* 2024-02-29T23:59:58Z */
static const uint64_t leap_day = UINT64_C(133537247980000000);

static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16];

static int set_up(void **state)
{
    (void)state;
    int failed = temp_folder_make(folder, "zip-file");
    snprintf(path, sizeof(path), "%s/a.zip", folder);
    return failed;
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void members_and_a_directory_are_written(void **state)
{
    (void)state;
    enum { END_BYTES = 22, NAME = 30 }; /* of the end of the directory; in the header of a member */
    struct zip_file zip;
    struct error err = {0};
    char *bytes;
    size_t size;
    assert_true(zip_file_create(&zip, path, leap_day, &err));
    assert_true(zip_file_add(&zip, "a.txt", span_text("123456789"), &err));
    assert_true(zip_file_add(&zip, "f/b", span_text(""), &err));
    assert_true(zip_file_finish(&zip, &err));
    zip_file_fini(&zip);

    assert_true(plat_file_load(path, 1 << 20, &bytes, &size, &err));
    const uint8_t *head = (const uint8_t *)bytes;
    assert_memory_equal(head, "PK\3\4", 4);
    assert_int_equal(load_le16(head + 6), 0x0800); /* the name is UTF-8 */
    assert_int_equal(load_le16(head + 8), 8);      /* deflate */
    assert_int_equal(load_le16(head + 10), 23 << 11 | 59 << 5 | 58 / 2);
    assert_int_equal(load_le16(head + 12), (2024 - 1980) << 9 | 2 << 5 | 29);
    assert_int_equal(load_le32(head + 14), 0xcbf43926); /* the check value of this CRC */
    assert_int_equal(load_le32(head + 22), 9);
    assert_int_equal(load_le16(head + 26), 5);
    assert_memory_equal(head + NAME, "a.txt", 5);

    const uint8_t *end = head + size - END_BYTES;
    assert_memory_equal(end, "PK\5\6", 4);
    assert_int_equal(load_le16(end + 8), 2);
    assert_int_equal(load_le16(end + 10), 2);
    size_t directory = load_le32(end + 16);
    assert_int_equal(directory + load_le32(end + 12) + END_BYTES, size);
    assert_memory_equal(head + directory, "PK\1\2", 4);
    /* The second member begins where the first one ends. */
    const uint8_t *second = head + NAME + 5 + load_le32(head + 18);
    assert_memory_equal(second, "PK\3\4", 4);
    assert_memory_equal(second + NAME, "f/b", 3);
    free(bytes);
}

static void what_is_not_finished_is_removed(void **state)
{
    (void)state;
    struct zip_file zip;
    struct zip_file other;
    struct error err = {0};
    assert_true(zip_file_create(&zip, path, leap_day, &err));
    assert_true(zip_file_add(&zip, "a", span_text("a"), &err));
    assert_false(zip_file_create(&other, path, leap_day, &err)); /* the file exists already */
    zip_file_fini(&zip);
    assert_false(temp_file_is_there(path));
}

static void a_name_has_a_most(void **state)
{
    (void)state;
    static char name[1024 + 2];
    struct zip_file zip;
    struct error err = {0};
    memset(name, 'n', 1025);
    assert_true(zip_file_create(&zip, path, leap_day, &err));
    assert_false(zip_file_add(&zip, name, span_text("a"), &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(zip_file_add(&zip, name + 1, span_text("a"), &err));
    zip_file_fini(&zip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(members_and_a_directory_are_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_finished_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_has_a_most, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
