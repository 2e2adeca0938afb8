#include "support/test.h"

#include "support/disk_model.h"

/* The model itself, on which other tests rely. */

enum { SEEDS = 200, SECTOR = 512 };

static struct disk *disk;
static struct disk_model *model;
static struct error err;

static int begin(uint64_t seed)
{
    model = disk_model_create(seed);
    disk = disk_model_disk(model);
    return disk->ops->make_folder(disk, "f", &err) ? 0 : -1;
}

static void end(void)
{
    disk_model_destroy(model);
}

static struct disk_file *file_at(const char *path)
{
    struct disk_file *file = disk->ops->open_append(disk, path, &err);
    assert_non_null(file);
    return file;
}

static bool add(struct disk_file *file, struct span bytes)
{
    return disk->ops->append(disk, file, &bytes, 1, &err);
}

/* An open file with ${text}, which is on the disk. */
static struct disk_file *durable(const char *path, const char *text)
{
    struct disk_file *file = file_at(path);
    assert_true(add(file, span_text(text)));
    assert_true(disk->ops->sync(disk, file, &err));
    assert_true(disk->ops->sync_folder(disk, "f", &err));
    return file;
}

static bool is_there(const char *path)
{
    bool there;
    uint64_t bytes;
    assert_true(disk->ops->find(disk, path, &there, &bytes, &err));
    return there;
}

static void test_what_was_synced_survives_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(begin(1), 0);
    struct disk_file *file = durable("f/a", "kept");
    assert_true(add(file, span_text("lost")));
    assert_true(disk->ops->truncate(disk, file, 1, &err));
    assert_true(disk->ops->rename(disk, "f/a", "f/b", &err));
    disk->ops->close(disk, file_at("f/c"));
    assert_span(disk_model_content(model, "f/b"), "k");
    disk_model_restart(model, DISK_MODEL_LOSE_ALL);
    assert_span(disk_model_content(model, "f/a"), "kept");
    assert_false(is_there("f/b"));
    assert_false(is_there("f/c"));
    end();
}

static void test_a_killed_process_loses_nothing(void **state)
{
    (void)state;
    assert_int_equal(begin(1), 0);
    struct disk_file *file = durable("f/a", "kept");
    assert_true(add(file, span_text(" too")));
    assert_true(disk->ops->rename(disk, "f/a", "f/b", &err));
    disk_model_restart(model, DISK_MODEL_KEEP_ALL);
    assert_false(is_there("f/a"));
    assert_span(disk_model_content(model, "f/b"), "kept too");
    /* It was open, so it is dead now. */
    assert_false(add(file, span_text("x")));
    assert_int_equal(err.code, ERR_IO);
    disk->ops->close(disk, file);
    assert_int_equal(disk_model_open_files(model), 0);
    end();
}

static void test_what_is_held_back_comes_with_a_megabyte_a_sync_or_the_end(void **state)
{
    (void)state;
    static uint8_t bytes[1500000];
    const char *const path = "f/a";
    assert_int_equal(begin(1), 0);
    disk_model_hold_back(model, true);
    struct disk_file *file = file_at(path);
    disk_model_set_capacity(model, 6);
    assert_true(add(file, span_text("kept")));
    assert_int_equal(disk_model_content(model, path).size, 0);
    assert_true(disk->ops->sync(disk, file, &err));
    assert_span(disk_model_content(model, path), "kept");
    assert_true(add(file, span_text("12345")));
    assert_false(disk->ops->sync(disk, file, &err)); /* reported only now */
    assert_int_equal(err.code, ERR_FULL);
    assert_span(disk_model_content(model, path), "kept12");
    assert_true(disk->ops->truncate(disk, file, 7, &err)); /* one byte is still waiting */
    disk_model_set_capacity(model, UINT64_MAX);
    assert_true(disk->ops->sync(disk, file, &err));
    assert_span(disk_model_content(model, path), "kept123");
    assert_true(disk->ops->truncate(disk, file, 0, &err));
    assert_true(add(file, span_make(bytes, sizeof(bytes))));
    assert_int_equal(disk_model_content(model, path).size, 1 << 20);
    disk->ops->close(disk, file);
    assert_int_equal(disk_model_content(model, path).size, sizeof(bytes));
    file = file_at(path);
    assert_true(add(file, span_text("lost")));
    disk_model_restart(model, DISK_MODEL_KEEP_ALL);
    disk->ops->close(disk, file);
    assert_int_equal(disk_model_content(model, path).size, sizeof(bytes));
    end();
}

/* Four sectors, then four more that overlap the last ones: each sector has the bytes of one of the
 * writes. */
static void test_any_part_of_what_was_not_synced_survives(void **state)
{
    (void)state;
    static uint8_t bytes[4 * SECTOR];
    unsigned mixed = 0;
    unsigned whole = 0;
    unsigned none = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(begin(seed), 0);
        struct disk_file *file = durable("f/a", "");
        for (uint8_t i = 1; i <= 2; i++) {
            memset(bytes, i, sizeof(bytes));
            assert_true(disk_model_write_at(
                disk, file, (i - 1u) * 2 * SECTOR, span_make(bytes, sizeof(bytes)), &err));
        }
        disk_model_restart(model, DISK_MODEL_LOSE_SOME);
        struct span left = disk_model_content(model, "f/a");
        assert_true(left.size <= sizeof(bytes) + 2 * SECTOR);
        unsigned seen = 0;
        for (size_t i = 0; i < left.size; i++) {
            assert_true(left.data[i] == left.data[i / SECTOR * SECTOR]); /* sectors are whole */
            assert_true(left.data[i] <= 2);
            assert_true(i < 4 * SECTOR || left.data[i] != 1);
            assert_true(i >= 2 * SECTOR || left.data[i] != 2);
            seen |= 1u << left.data[i];
        }
        none += left.size == 0;
        whole += left.size == 6 * SECTOR && seen == 6 && left.data[2 * SECTOR] == 2;
        mixed += (seen & 1) && seen > 1;
        disk->ops->close(disk, file);
        end();
    }
    assert_true(none > 0 && whole > 0 && mixed > 0);
}

static void test_names_survive_one_without_the_other(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(begin(seed), 0);
        disk->ops->close(disk, durable("f/a", "a"));
        disk->ops->close(disk, durable("f/b", "b"));
        assert_true(disk->ops->unlink(disk, "f/a", &err));
        assert_true(disk->ops->rename(disk, "f/b", "f/c", &err));
        disk->ops->close(disk, file_at("f/d"));
        disk_model_restart(model, DISK_MODEL_LOSE_SOME);
        unsigned a = is_there("f/a");
        unsigned c = is_there("f/c");
        assert_int_equal(is_there("f/b"), !c); /* renamed in one piece */
        assert_span(disk_model_content(model, c ? "f/c" : "f/b"), "b");
        seen |= 1u << (a | c << 1 | (unsigned)is_there("f/d") << 2);
        end();
    }
    assert_int_equal(seen, 0xff);
}

static void test_what_a_failed_sync_lost_no_later_one_brings_back(void **state)
{
    (void)state;
    unsigned lost = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(begin(seed), 0);
        struct disk_file *file = durable("f/a", "one ");
        assert_true(add(file, span_text("two ")));
        disk_model_fail(model,
            &(struct disk_model_fault){.operations = DISK_MODEL_SYNC, .part = "a", .times = 1});
        assert_false(disk->ops->sync(disk, file, &err));
        assert_int_equal(err.code, ERR_IO);
        assert_true(add(file, span_text("three")));
        assert_true(disk->ops->sync(disk, file, &err));
        assert_span(disk_model_content(model, "f/a"), "one two three");
        disk->ops->close(disk, file);
        disk_model_restart(model, DISK_MODEL_LOSE_ALL);
        struct span left = disk_model_content(model, "f/a");
        assert_int_equal(left.size, 13);
        assert_memory_equal(left.data, "one ", 4);
        assert_memory_equal(left.data + 8, "three", 5);
        lost += left.data[4] != 't';
        end();
    }
    assert_true(lost > 0 && lost < SEEDS);
}

static void test_a_full_disk_takes_what_fits(void **state)
{
    (void)state;
    assert_int_equal(begin(1), 0);
    uint64_t bytes;
    struct disk_file *file = durable("f/a", "0123");
    disk->ops->close(disk, durable("f/b", "0123"));
    disk_model_set_capacity(model, 10);
    assert_true(disk->ops->free_bytes(disk, "f", &bytes, &err));
    assert_int_equal(bytes, 2);
    assert_false(add(file, span_text("4567")));
    assert_int_equal(err.code, ERR_FULL);
    assert_span(disk_model_content(model, "f/a"), "012345");
    assert_true(disk_model_write_at(disk, file, 0, span_text("543210"), &err)); /* needs none */
    assert_true(disk->ops->truncate(disk, file, 4, &err));
    assert_true(add(file, span_text("xy")));
    assert_true(disk->ops->unlink(disk, "f/b", &err));
    assert_true(add(file, span_text("4567")));
    disk->ops->close(disk, file);
    end();
}

static void test_the_power_fails_at_the_change_that_was_named(void **state)
{
    (void)state;
    for (uint64_t at = 0; at < 6; at++) {
        assert_int_equal(begin(7), 0);
        uint64_t before = disk_model_changes(model);
        disk_model_power_off_at(model, before + at);
        struct disk_file *file = disk->ops->open_append(disk, "f/a", &err);
        bool done[6] = {file != NULL};
        struct span piece = span_text("0123456789");
        done[1] = file && disk->ops->append(disk, file, &piece, 1, &err);
        done[2] = file && disk->ops->truncate(disk, file, 5, &err);
        done[3] = file && disk->ops->sync(disk, file, &err);
        done[4] = disk->ops->sync_folder(disk, "f", &err);
        done[5] = disk->ops->unlink(disk, "f/a", &err);
        for (uint64_t i = 0; i < 6; i++) {
            assert_int_equal(done[i], i < at);
        }
        assert_true(disk_model_is_off(model));
        assert_int_equal(err.code, ERR_IO);
        disk_model_restart(model, DISK_MODEL_LOSE_ALL);
        assert_false(disk_model_is_off(model));
        assert_int_equal(is_there("f/a"), at > 4);
        assert_span(disk_model_content(model, "f/a"), at > 4 ? "01234" : "");
        if (file) {
            disk->ops->close(disk, file);
        }
        end();
    }
}

static void test_faults_come_when_and_where_they_are_wanted(void **state)
{
    (void)state;
    assert_int_equal(begin(1), 0);
    struct disk_file *file = durable("f/a", "0123456789");
    struct disk_file *other = durable("f/b", "0123456789");
    disk_model_fail(
        model, &(struct disk_model_fault){
                   .operations = DISK_MODEL_APPEND, .part = "f/a", .skip = 1, .times = 2});
    static const bool expected[] = {true, false, false, true};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(add(file, span_text("x")), expected[i]);
        assert_true(add(other, span_text("x")));
    }
    disk_model_fail(model, &(struct disk_model_fault){.operations = DISK_MODEL_CHANGES});
    for (size_t i = 0; i < 4; i++) {
        assert_false(add(file, span_text("x")));
        assert_false(disk->ops->unlink(disk, "f/b", &err));
        assert_true(is_there("f/b"));
    }
    disk_model_heal(model);
    assert_true(disk->ops->unlink(disk, "f/b", &err));
    disk_model_fail(
        model, &(struct disk_model_fault){.operations = DISK_MODEL_READ, .short_reads = true});
    char bytes[8];
    for (size_t i = 0; i < 20; i++) {
        size_t got = 9;
        assert_true(disk->ops->read_at(disk, file, 0, bytes, sizeof(bytes), &got, &err));
        assert_true(got < sizeof(bytes));
    }
    disk->ops->close(disk, file);
    disk->ops->close(disk, other);
    end();
}

static void test_others_change_files_behind_ones_back(void **state)
{
    (void)state;
    assert_int_equal(begin(1), 0);
    struct disk_file *file = durable("f/a", "abc");
    assert_true(disk_model_flip(model, "f/a", 1, 'b' ^ 'x'));
    assert_false(disk_model_flip(model, "f/a", 3, 1));
    assert_span(disk_model_content(model, "f/a"), "axc");
    disk_model_restart(model, DISK_MODEL_LOSE_ALL);
    assert_span(disk_model_content(model, "f/a"), "axc");
    disk->ops->close(disk, file);
    assert_true(disk_model_remove(model, "f/a"));
    assert_false(disk_model_remove(model, "f/a"));
    assert_false(is_there("f/a"));
    disk_model_put(model, "f/b", span_text("put"));
    disk_model_restart(model, DISK_MODEL_LOSE_ALL);
    assert_false(is_there("f/a"));
    assert_span(disk_model_content(model, "f/b"), "put");
    disk_model_hide(model, true);
    assert_false(is_there("f/b"));
    assert_null(disk->ops->open_append(disk, "f/c", &err));
    disk_model_hide(model, false);
    assert_true(is_there("f/b"));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_synced_survives_and_nothing_else),
        cmocka_unit_test(test_a_killed_process_loses_nothing),
        cmocka_unit_test(test_what_is_held_back_comes_with_a_megabyte_a_sync_or_the_end),
        cmocka_unit_test(test_any_part_of_what_was_not_synced_survives),
        cmocka_unit_test(test_names_survive_one_without_the_other),
        cmocka_unit_test(test_what_a_failed_sync_lost_no_later_one_brings_back),
        cmocka_unit_test(test_a_full_disk_takes_what_fits),
        cmocka_unit_test(test_the_power_fails_at_the_change_that_was_named),
        cmocka_unit_test(test_faults_come_when_and_where_they_are_wanted),
        cmocka_unit_test(test_others_change_files_behind_ones_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
