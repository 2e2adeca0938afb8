#define _GNU_SOURCE

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/plat_append.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"

/*
 * Writes that the system refuses, cuts short, or answers with 0: this program replaces pwrite.
 * After a good sync the file's content is compared with a copy. It replaces fsync, too, which fails
 * for folders on demand.
 */
enum { MOST_BYTES = 8 << 20, STEPS = 200 };

enum fault { NO_FAULT, REFUSED, SHORT, NOTHING, FULL, FAULTS };

/* The result of one call, after ${skip} unchanged calls. */
static struct {
    enum fault fault;
    unsigned skip;
    bool lasts; /* and of every later call */
} plan;

static char folder[TEMP_FOLDER_BYTES];
static struct error err;

static ssize_t write_some(int fd, const void *bytes, size_t size, off_t offset)
{
    return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

/* A part of a block, which O_DIRECT refuses. */
static ssize_t write_short(int fd, const void *bytes, size_t size, off_t offset)
{
    int flags = fcntl(fd, F_GETFL);
    assert_int_equal(fcntl(fd, F_SETFL, flags & ~O_DIRECT), 0);
    ssize_t written = write_some(fd, bytes, size / 3 + 1, offset);
    assert_int_equal(fcntl(fd, F_SETFL, flags), 0);
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    enum fault fault = plan.fault;
    if (fault == NO_FAULT || plan.skip) {
        plan.skip -= plan.skip != 0;
        return write_some(fd, bytes, size, offset);
    }
    plan.fault = plan.lasts ? fault : NO_FAULT;
    errno = fault == REFUSED ? EINVAL : ENOSPC;
    return fault == SHORT ? write_short(fd, bytes, size, offset) : fault == NOTHING ? 0 : -1;
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

struct walk {
    struct plat_append *file;
    char path[TEMP_FOLDER_BYTES + 32];
    uint8_t *copy;
    size_t size;
    size_t durable;
    uint64_t random;
    unsigned failures;
};

static uint64_t draw(struct walk *walk, uint64_t below)
{
    walk->random = walk->random * 6364136223846793005u + 1442695040888963407u;
    return (walk->random >> 33) % below;
}

static void open_file(struct walk *walk)
{
    walk->file = plat_append_open(walk->path, &err);
    assert_non_null(walk->file);
    plat_append_expect_reads(walk->file, draw(walk, 4) == 0);
}

static void begin(struct walk *walk, const char *name, uint64_t seed)
{
    *walk = (struct walk){.copy = calloc(1, MOST_BYTES), .random = seed};
    assert_non_null(walk->copy);
    snprintf(walk->path, sizeof(walk->path), "%s/%s", folder, name);
    open_file(walk);
}

static void assert_copy(const struct walk *walk)
{
    char *bytes;
    size_t size;
    assert_true(plat_file_load(walk->path, MOST_BYTES, &bytes, &size, &err));
    assert_int_equal(size, walk->size);
    assert_true(memcmp(bytes, walk->copy, size) == 0);
    free(bytes);
}

static void end(struct walk *walk)
{
    plan.fault = NO_FAULT;
    plat_append_close(walk->file);
    assert_copy(walk);
    free(walk->copy);
}

/* Like the writers: a failed part is cut off, and the rest of the file counts. */
static bool append(struct walk *walk, size_t size)
{
    size = size < MOST_BYTES - walk->size ? size : MOST_BYTES - walk->size;
    uint8_t *at = walk->copy + walk->size;
    for (size_t i = 0; i < size; i += 64) {
        at[i] = (uint8_t)draw(walk, 256);
    }
    struct span piece = span_make(at, size);
    if (plat_append_write(walk->file, &piece, 1, &err)) {
        walk->size += size;
        return true;
    }
    walk->failures++;
    assert_true(plat_append_truncate(walk->file, walk->size, &err));
    return false;
}

/* Likewise; nothing is synced twice. */
static bool sync_file(struct walk *walk)
{
    if (plat_append_sync(walk->file, &err)) {
        walk->durable = walk->size;
        assert_copy(walk);
        return true;
    }
    walk->failures++;
    walk->size = walk->durable;
    assert_true(plat_append_truncate(walk->file, walk->size, &err));
    plat_append_close(walk->file);
    open_file(walk);
    return false;
}

static void test_what_is_good_stays_whatever_a_write_says(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 4096, 70000, 400000, 1 << 20, 2500000};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct walk walk;
        begin(&walk, "walk", seed);
        for (unsigned i = 0; i < STEPS; i++) {
            plan.fault = (enum fault)draw(&walk, FAULTS);
            plan.skip = (unsigned)draw(&walk, 3);
            if (draw(&walk, 3)) {
                size_t most = sizes[draw(&walk, sizeof(sizes) / sizeof(sizes[0]))];
                append(&walk, (size_t)draw(&walk, most + 1));
            } else {
                sync_file(&walk);
            }
            if (walk.size > MOST_BYTES / 2) {
                walk.size = walk.durable = (size_t)draw(&walk, 10000);
                assert_true(plat_append_truncate(walk.file, walk.size, &err));
            }
        }
        assert_true(walk.failures > 10);
        plan.fault = NO_FAULT;
        sync_file(&walk);
        end(&walk);
        assert_int_equal(unlink(walk.path), 0);
    }
}

static void test_a_system_that_takes_nothing_is_not_asked_for_ever(void **state)
{
    (void)state;
    struct walk walk;
    begin(&walk, "nothing", 1);
    assert_true(append(&walk, 200000));
    plan.fault = NOTHING;
    plan.skip = 0;
    plan.lasts = true;
    assert_false(sync_file(&walk));
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(err.os_code, EIO);
    plan.lasts = false;
    end(&walk);
}

static void test_a_disk_that_is_full_within_a_write_keeps_what_was_before(void **state)
{
    (void)state;
    struct walk walk;
    begin(&walk, "full", 1);
    assert_true(append(&walk, 300001));
    plan.fault = FULL;
    plan.skip = 1; /* the stage is full twice */
    assert_false(append(&walk, 2400000));
    assert_true(plat_disk_is_full(&err));
    assert_true(append(&walk, 5000));
    assert_true(sync_file(&walk));
    end(&walk);
}

/* ---- replacing a file ------------------------------------------------------------------------ */

static struct {
    unsigned count;
    bool fail;
} folder_syncs;

int fsync(int fd)
{
    struct stat facts;
    bool is_folder = fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode);
    folder_syncs.count += is_folder;
    if (is_folder && folder_syncs.fail) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

static void a_replaced_file_has_its_name_on_the_disk(void **state)
{
    (void)state;
    char path[TEMP_FOLDER_BYTES + 16];
    snprintf(path, sizeof(path), "%s/replaced", folder);
    folder_syncs.count = 0;
    assert_true(plat_file_replace(path, span_text("one"), &err));
    assert_int_equal(folder_syncs.count, 1);
    folder_syncs.fail = true;
    assert_false(plat_file_replace(path, span_text("two"), &err));
    folder_syncs.fail = false;
    assert_int_equal(err.os_code, EIO);
}

static void a_file_without_a_folder_is_in_the_present_one(void **state)
{
    (void)state;
    folder_syncs.count = 0;
    assert_int_equal(chdir(folder), 0);
    assert_true(plat_file_replace("here", span_text("one"), &err));
    assert_int_equal(folder_syncs.count, 1);
    assert_int_equal(chdir("/"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_good_stays_whatever_a_write_says),
        cmocka_unit_test(test_a_system_that_takes_nothing_is_not_asked_for_ever),
        cmocka_unit_test(test_a_disk_that_is_full_within_a_write_keeps_what_was_before),
        cmocka_unit_test(a_replaced_file_has_its_name_on_the_disk),
        cmocka_unit_test(a_file_without_a_folder_is_in_the_present_one),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
