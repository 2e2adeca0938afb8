#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/disk/disk.h"
#include "support/disk_model.h"
#include "support/temp_folder.h"

/* Rules for every disk: the system's, and the model that replaces it in other tests. */
struct place {
    struct disk *disk;
    struct disk_model *model; /* NULL: the system's */
    char folder[TEMP_FOLDER_BYTES];
    char path[TEMP_FOLDER_BYTES + 16];
};

static void place_init(struct place *p, bool model)
{
    struct error err;
    *p = (struct place){.model = model ? disk_model_create(1) : NULL};
    p->disk = model ? disk_model_disk(p->model) : disk_system();
    if (model) {
        snprintf(p->folder, sizeof(p->folder), "spool");
        assert_true(p->disk->ops->make_folder(p->disk, p->folder, &err));
    } else {
        assert_int_equal(temp_folder_make(p->folder, "disk"), 0);
    }
    snprintf(p->path, sizeof(p->path), "%s/file", p->folder);
}

static void place_fini(struct place *p)
{
    if (p->model) {
        assert_int_equal(disk_model_open_files(p->model), 0);
        disk_model_destroy(p->model);
    } else {
        assert_int_equal(temp_folder_remove(p->folder), 0);
    }
}

static void add(struct place *p, const char *path, const char *text)
{
    struct error err;
    struct disk_file *file = p->disk->ops->open_append(p->disk, path, &err);
    assert_non_null(file);
    struct span piece = span_text(text);
    assert_true(p->disk->ops->append(p->disk, file, &piece, 1, &err));
    p->disk->ops->close(p->disk, file);
}

static void assert_read(struct place *p, struct disk_file *file, uint64_t offset, const char *text)
{
    struct error err;
    char bytes[256];
    size_t got;
    assert_true(p->disk->ops->read_at(p->disk, file, offset, bytes, sizeof(bytes), &got, &err));
    assert_span(span_make(bytes, got), text);
}

static void assert_content(struct place *p, const char *path, const char *text)
{
    struct error err;
    struct disk_file *file = p->disk->ops->open_read(p->disk, path, &err);
    assert_non_null(file);
    assert_read(p, file, 0, text);
    p->disk->ops->close(p->disk, file);
    bool there;
    uint64_t bytes;
    assert_true(p->disk->ops->find(p->disk, path, &there, &bytes, &err));
    assert_true(there);
    assert_int_equal(bytes, strlen(text));
}

static void assert_missing(struct place *p, const char *path)
{
    struct error err = {.code = ERR_NONE};
    bool there = true;
    uint64_t bytes = 1;
    assert_true(p->disk->ops->find(p->disk, path, &there, &bytes, &err));
    assert_false(there);
    assert_null(p->disk->ops->open_read(p->disk, path, &err));
    assert_int_equal(err.code, ERR_IO);
}

static void pieces_stand_one_behind_the_other(struct place *p)
{
    struct error err;
    struct disk_file *file = p->disk->ops->open_append(p->disk, p->path, &err);
    assert_non_null(file);
    struct span pieces[20];
    char expected[256] = "";
    size_t size = 0;
    for (size_t i = 0; i < 20; i++) {
        static const char *const texts[] = {"", "a", "bcd", "", "efghijkl"};
        pieces[i] = span_text(texts[i % 5]);
        memcpy(expected + size, pieces[i].data, pieces[i].size);
        size += pieces[i].size;
    }
    pieces[3] = span_make(NULL, 0);
    assert_true(p->disk->ops->append(p->disk, file, pieces, 20, &err));
    assert_true(p->disk->ops->append(p->disk, file, pieces, 1, &err));
    assert_true(p->disk->ops->append(p->disk, file, pieces, 0, &err));
    assert_true(p->disk->ops->sync(p->disk, file, &err));
    p->disk->ops->close(p->disk, file);
    assert_content(p, p->path, expected);
}

static void what_is_appended_after_a_cut_follows_there(struct place *p)
{
    struct error err;
    add(p, p->path, "0123456789");
    struct disk_file *file = p->disk->ops->open_append(p->disk, p->path, &err);
    assert_non_null(file);
    assert_true(p->disk->ops->truncate(p->disk, file, 4, &err));
    struct span piece = span_text("xy");
    assert_true(p->disk->ops->append(p->disk, file, &piece, 1, &err));
    assert_true(p->disk->ops->sync(p->disk, file, &err));
    p->disk->ops->close(p->disk, file);
    assert_content(p, p->path, "0123xy");
}

static void reading_gives_less_only_at_the_end(struct place *p)
{
    struct error err;
    char bytes[4];
    size_t got = 9;
    add(p, p->path, "0123456789");
    struct disk_file *file = p->disk->ops->open_read(p->disk, p->path, &err);
    assert_non_null(file);
    assert_true(p->disk->ops->read_at(p->disk, file, 3, bytes, 4, &got, &err));
    assert_span(span_make(bytes, got), "3456");
    assert_read(p, file, 8, "89");
    assert_read(p, file, 10, "");
    assert_read(p, file, UINT64_MAX, "");
    add(p, p->path, "ab");
    assert_read(p, file, 8, "89ab");
    p->disk->ops->close(p->disk, file);
}

static void an_open_file_stays_readable_without_its_name(struct place *p)
{
    struct error err;
    add(p, p->path, "old");
    struct disk_file *file = p->disk->ops->open_read(p->disk, p->path, &err);
    assert_non_null(file);
    assert_true(p->disk->ops->unlink(p->disk, p->path, &err));
    assert_read(p, file, 0, "old");
    p->disk->ops->close(p->disk, file);
    assert_missing(p, p->path);
    assert_true(p->disk->ops->unlink(p->disk, p->path, &err)); /* again */
    assert_true(p->disk->ops->sync_folder(p->disk, p->folder, &err));
}

static void a_renamed_file_takes_the_place_of_another(struct place *p)
{
    struct error err;
    char other[sizeof(p->path)];
    snprintf(other, sizeof(other), "%s/other", p->folder);
    add(p, p->path, "new");
    add(p, other, "old");
    assert_true(p->disk->ops->rename(p->disk, p->path, other, &err));
    assert_missing(p, p->path);
    assert_content(p, other, "new");
    assert_false(p->disk->ops->rename(p->disk, p->path, other, &err));
    assert_int_equal(err.code, ERR_IO);
}

struct seen {
    unsigned bits;
    unsigned calls;
    unsigned most;
};

static bool see(void *self, const char *name)
{
    struct seen *seen = self;
    assert_true(strcmp(name, "a") == 0 || strcmp(name, "b") == 0);
    seen->bits |= 1u << (name[0] - 'a');
    return ++seen->calls < seen->most;
}

static void a_folder_lists_its_own_files(struct place *p)
{
    struct error err;
    char path[sizeof(p->path)];
    static const char *const names[] = {"a", "b", "inner/c"};
    snprintf(path, sizeof(path), "%s/inner", p->folder);
    assert_true(p->disk->ops->make_folder(p->disk, path, &err));
    assert_true(p->disk->ops->make_folder(p->disk, path, &err)); /* it is there */
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", p->folder, names[i]);
        add(p, path, "x");
    }
    struct seen seen = {.most = 9};
    assert_true(p->disk->ops->list(p->disk, p->folder, see, &seen, &err));
    assert_int_equal(seen.bits, 3);
    assert_int_equal(seen.calls, 2);
    seen = (struct seen){.most = 1};
    assert_true(p->disk->ops->list(p->disk, p->folder, see, &seen, &err));
    assert_int_equal(seen.calls, 1);
    snprintf(path, sizeof(path), "%s/none", p->folder);
    assert_false(p->disk->ops->list(p->disk, path, see, &seen, &err));
    assert_int_equal(err.code, ERR_IO);
}

static void nothing_is_made_in_a_folder_that_is_not_there(struct place *p)
{
    struct error err = {.code = ERR_NONE};
    char path[sizeof(p->path)];
    snprintf(path, sizeof(path), "%s/none/x", p->folder);
    assert_null(p->disk->ops->open_append(p->disk, path, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_missing(p, path);
    uint64_t bytes = 0;
    assert_true(p->disk->ops->free_bytes(p->disk, p->folder, &bytes, &err));
    assert_true(bytes > 0);
}

static void test_all_disks_keep_to_the_table(void **state)
{
    (void)state;
    static void (*const parts[])(struct place * p) = {
        pieces_stand_one_behind_the_other,
        what_is_appended_after_a_cut_follows_there,
        reading_gives_less_only_at_the_end,
        an_open_file_stays_readable_without_its_name,
        a_renamed_file_takes_the_place_of_another,
        a_folder_lists_its_own_files,
        nothing_is_made_in_a_folder_that_is_not_there,
    };
    for (int model = 0; model < 2; model++) {
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
            struct place place;
            place_init(&place, model);
            parts[i](&place);
            place_fini(&place);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_disks_keep_to_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
