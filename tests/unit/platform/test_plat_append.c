#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_append.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"

/* The file is compared with a copy of the expected content. */
enum { MOST_BYTES = 24 << 20, STEPS = 200 };

static char folder[TEMP_FOLDER_BYTES];
static struct error err;

static const char *in_folder(const char *name)
{
    static char path[TEMP_FOLDER_BYTES + 32];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "append");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

struct copy {
    uint8_t *bytes;
    size_t size;
    size_t durable; /* others may see less than this */
    uint64_t random;
};

static uint64_t draw(struct copy *copy, uint64_t below)
{
    copy->random = copy->random * 6364136223846793005u + 1442695040888963407u;
    return (copy->random >> 33) % below;
}

static void assert_copy(const struct copy *copy, const char *path, size_t size)
{
    size_t got = 0;
    uint8_t *bytes = malloc(copy->size + 1);
    assert_non_null(bytes);
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, &err);
    assert_non_null(file);
    assert_true(plat_file_read_at(file, 0, bytes, size, &got, &err));
    assert_int_equal(got, size);
    assert_true(memcmp(bytes, copy->bytes, size) == 0);
    plat_file_close(file);
    free(bytes);
}

static void assert_size(const char *path, uint64_t expected)
{
    uint64_t bytes = 0;
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, &err);
    assert_non_null(file);
    assert_true(plat_file_size(file, &bytes, &err));
    assert_int_equal(bytes, expected);
    plat_file_close(file);
}

/* Sizes around a block of the disk, a part of a batch, and more than is written at once. */
static size_t some_size(struct copy *copy)
{
    static const size_t sizes[] = {0, 1, 100, 4095, 4096, 4097, 65536, 100000, 1 << 20, 3000000};
    size_t size = sizes[draw(copy, sizeof(sizes) / sizeof(sizes[0]))];
    return draw(copy, 2) ? size : draw(copy, size + 1);
}

static void append_some(struct plat_append *file, struct copy *copy)
{
    struct span pieces[4];
    size_t count = draw(copy, 5);
    for (size_t i = 0; i < count; i++) {
        size_t size = some_size(copy);
        size = size < MOST_BYTES - copy->size ? size : MOST_BYTES - copy->size;
        uint8_t *at = copy->bytes + copy->size;
        for (size_t k = 0; k < size; k += 64) {
            at[k] = (uint8_t)draw(copy, 256);
        }
        pieces[i] = span_make(at, size);
        copy->size += size;
    }
    assert_true(plat_append_write(file, pieces, count, &err));
}

static void sync_and_look(struct plat_append *file, struct copy *copy, const char *path)
{
    assert_true(plat_append_sync(file, &err));
    copy->durable = copy->size;
    assert_size(path, copy->size);
    assert_copy(copy, path, copy->size);
}

static void cut_some(struct plat_append *file, struct copy *copy)
{
    size_t back = some_size(copy);
    copy->size -= back < copy->size ? back : copy->size;
    copy->durable = copy->durable < copy->size ? copy->durable : copy->size;
    assert_true(plat_append_truncate(file, copy->size, &err));
}

static void test_a_file_holds_what_was_written_and_not_cut(void **state)
{
    (void)state;
    const char *path = in_folder("walk");
    struct copy copy = {.bytes = calloc(1, MOST_BYTES), .random = 1};
    struct plat_append *file = plat_append_open(path, &err);
    assert_true(copy.bytes && file);
    for (unsigned i = 0; i < STEPS; i++) {
        switch (draw(&copy, 8)) {
        case 0:
            cut_some(file, &copy);
            break;
        case 1:
        case 2:
            sync_and_look(file, &copy, path);
            break;
        case 3:
            plat_append_close(file);
            assert_size(path, copy.size);
            assert_copy(&copy, path, copy.size);
            file = plat_append_open(path, &err);
            assert_non_null(file);
            plat_append_expect_reads(file, draw(&copy, 2));
            break;
        default:
            append_some(file, &copy);
            assert_copy(&copy, path, copy.durable);
        }
        if (copy.size > MOST_BYTES / 2) {
            copy.size = copy.durable = draw(&copy, 10000);
            assert_true(plat_append_truncate(file, copy.size, &err));
        }
    }
    sync_and_look(file, &copy, path);
    plat_append_close(file);
    free(copy.bytes);
}

/* On Linux one device is always full. */
static void test_a_full_disk_is_told_by_the_write_or_the_sync(void **state)
{
    (void)state;
    if (plat_path_kind("/dev/full") == PLAT_PATH_NONE) {
        skip();
    }
    struct plat_append *file = plat_append_open("/dev/full", &err);
    assert_non_null(file);
    struct span piece = span_text("a");
    assert_false(plat_append_write(file, &piece, 1, &err) && plat_append_sync(file, &err));
    assert_true(plat_disk_is_full(&err));
    plat_append_close(file);
}

static void a_file_that_another_program_cuts_is_not_called_durable(void **state)
{
    (void)state;
    const char *path = in_folder("cut");
    static uint8_t bytes[100000];
    struct span piece = span_make(bytes, sizeof(bytes));
    struct plat_append *file = plat_append_open(path, &err);
    assert_non_null(file);
    assert_true(plat_append_write(file, &piece, 1, &err));
    assert_true(plat_append_sync(file, &err));
    if (!temp_file_cut(path, 10)) { /* Windows does not allow it */
        plat_append_close(file);
        skip();
    }
    assert_true(plat_append_write(file, &piece, 1, &err));
    if (!plat_append_sync(file, &err)) {
        assert_int_equal(err.code, ERR_DAMAGED);
        assert_non_null(strstr(err.text, "another program truncated it"));
    }
    plat_append_close(file);
    uint64_t size = 0;
    struct plat_file *found = plat_file_open(path, PLAT_FILE_READ, &err);
    assert_non_null(found);
    assert_true(plat_file_size(found, &size, &err));
    assert_true(size < 2 * sizeof(bytes)); /* every reader sees the whole file */
    plat_file_close(found);
}

static void test_what_cannot_be_a_file_is_refused(void **state)
{
    (void)state;
    assert_null(plat_append_open(in_folder("none/x"), &err));
    assert_int_equal(err.code, ERR_IO);
    assert_null(plat_append_open(folder, &err));
    if (temp_file_link("elsewhere", in_folder("link"))) {
        assert_null(plat_append_open(in_folder("link"), &err));
        assert_false(temp_file_is_there(in_folder("elsewhere")));
    }
    plat_append_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_holds_what_was_written_and_not_cut),
        cmocka_unit_test(test_a_full_disk_is_told_by_the_write_or_the_sync),
        cmocka_unit_test(a_file_that_another_program_cuts_is_not_called_durable),
        cmocka_unit_test(test_what_cannot_be_a_file_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
