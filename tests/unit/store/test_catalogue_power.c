#include <stdlib.h>

#include "store/catalogue/catalogue_outputs.h"
#include "store/catalogue/catalogue_query.h"
#include "support/sqlite_model_vfs.h"
#include "unit/store/catalogue_rig.h"

/*
 * A catalogue on a disk that may lose power at any moment, may be full, or may not write what it
 * should. The run creates it, then makes COMMITS transactions of several tables each, with
 * checkpoints among them.
 */
enum { COMMITS = 6 };

static const char path[] = "/spool/catalogue.db";
static char blob[9000]; /* some pages */

struct disk_rig {
    struct disk_model *model;
    struct sqlite_model_vfs *vfs;
    bool made;     /* the catalogue was reported as created */
    uint64_t done; /* transactions */
};

static void start(struct disk_rig *rig, uint64_t seed)
{
    *rig = (struct disk_rig){.model = disk_model_create(seed)};
    assert_non_null(rig->model);
    struct disk *disk = disk_model_disk(rig->model);
    assert_true(disk->ops->make_folder(disk, "/spool", NULL));
    rig->vfs = sqlite_model_vfs_install(rig->model);
    assert_non_null(rig->vfs);
}

static void end(struct disk_rig *rig)
{
    sqlite_model_vfs_remove(rig->vfs);
    disk_model_destroy(rig->model);
}

/* Transaction ${number}: its batch, and the output's position and checkpoint, each with that
 * number. */
static bool run_transaction(struct catalogue *catalogue, uint64_t number, struct error *err)
{
    struct catalogue_batch batch = rig_batch(number, 1, 1);
    memset(blob, (int)number, sizeof(blob));
    struct catalogue_output output = {.id = 1,
        .name = span_text("output"),
        .position = number,
        .checkpoint = span_make(blob, sizeof(blob))};
    return catalogue_begin(catalogue, err) && catalogue_put_batch(catalogue, &batch, err) &&
           catalogue_put_output(catalogue, &output, err) && catalogue_commit(catalogue, err);
}

static bool make(struct catalogue **ret_catalogue, struct error *err)
{
    struct catalogue_stream stream = {.id = 1, .key = span_text("key")};
    struct catalogue_segment segment = {.id = 1, .bytes = UINT64_C(1) << 40};
    struct catalogue *catalogue = catalogue_create(path, RIG_EPOCH, span_text("earlier"), err);
    *ret_catalogue = catalogue;
    return catalogue && catalogue_put_stream(catalogue, &stream, err) &&
           catalogue_put_segment(catalogue, &segment, err) && catalogue_commit(catalogue, err);
}

/* Run to the end, or until the power is off. */
static void run(struct disk_rig *rig)
{
    struct catalogue *catalogue;
    struct error err = {0};
    rig->made = make(&catalogue, &err);
    for (uint64_t i = 1; rig->made && i <= COMMITS; i++) {
        if (!run_transaction(catalogue, i, &err)) {
            break;
        }
        rig->done = i;
        if (i % 2 == 0) {
            catalogue_checkpoint(catalogue, NULL);
        }
    }
    catalogue_close(catalogue);
}

struct shown {
    uint64_t position;
    bool whole; /* the checkpoint belongs to the position */
};

static bool show_output(void *self, const struct catalogue_output *output)
{
    struct shown *shown = self;
    shown->position = output->position;
    shown->whole = output->checkpoint.size == sizeof(blob);
    for (size_t i = 0; shown->whole && i < sizeof(blob); i++) {
        shown->whole = output->checkpoint.data[i] == (uint8_t)output->position;
    }
    return true;
}

/* The catalogue has some number of complete transactions; returns it. */
static uint64_t transactions_in(struct catalogue *catalogue)
{
    struct shown shown = {.whole = true};
    struct catalogue_info info = rig_info(catalogue);
    assert_good(catalogue_outputs(catalogue, show_output, &shown, &rig_err));
    assert_int_equal(info.epoch, RIG_EPOCH);
    assert_int_equal(info.batches, shown.position);
    assert_int_equal(info.next.batch, shown.position + 1);
    assert_true(shown.whole);
    rig_verify(catalogue);
    return shown.position;
}

/* After the power came back, everything that was reported as done is there, and nothing is there by
 * half. */
static void check(const struct disk_rig *rig, uint64_t change)
{
    struct error err = {0};
    struct catalogue *catalogue = catalogue_open(path, CATALOGUE_WRITE, &err);
    if (!catalogue) {
        if (rig->made || err.code != ERR_MISSING) {
            fail_msg("change %d: %s", (int)change, err.text);
        }
        if (!make(&catalogue, &err)) { /* and a new one can be created in its place */
            fail_msg("change %d: %s", (int)change, err.text);
        }
    }
    uint64_t found = transactions_in(catalogue);
    assert_in_range(found, rig->done, rig->done + 1);
    if (!run_transaction(catalogue, found + 1, &err)) {
        fail_msg("change %d: %s", (int)change, err.text);
    }
    assert_int_equal(transactions_in(catalogue), found + 1);
    catalogue_close(catalogue);
}

static uint64_t changes_of_a_run(void)
{
    struct disk_rig rig;
    start(&rig, 1);
    run(&rig);
    assert_int_equal(rig.done, COMMITS);
    uint64_t changes = disk_model_changes(rig.model);
    assert_int_equal(disk_model_open_files(rig.model), 0);
    end(&rig);
    return changes;
}

static void a_loss_of_power_at_any_moment_leaves_what_was_committed(void **state)
{
    (void)state;
    static const enum disk_model_loss losses[] = {DISK_MODEL_KEEP_ALL, DISK_MODEL_LOSE_ALL,
        DISK_MODEL_LOSE_SOME, DISK_MODEL_LOSE_SOME, DISK_MODEL_LOSE_SOME};
    uint64_t changes = changes_of_a_run();
    assert_true(changes > 50);
    for (uint64_t change = 0; change <= changes; change++) {
        for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
            struct disk_rig rig;
            start(&rig, 100 * change + i);
            disk_model_power_off_at(rig.model, change + 1);
            run(&rig);
            disk_model_power_off_at(rig.model, UINT64_MAX);
            disk_model_restart(rig.model, losses[i]);
            check(&rig, change);
            end(&rig);
        }
    }
}

static void a_commit_that_the_disk_refuses_may_be_repeated(void **state)
{
    (void)state;
    static const struct {
        unsigned operations;
        enum error_code code;
    } faults[] = {{DISK_MODEL_SYNC, ERR_IO}, {DISK_MODEL_APPEND, ERR_IO}};
    for (size_t i = 0; i < 2; i++) {
        for (uint64_t skip = 0; skip < 8; skip++) {
            struct disk_rig rig;
            struct catalogue *catalogue;
            struct error err = {0};
            struct disk_model_fault fault = {
                .operations = faults[i].operations, .skip = skip, .times = 1};
            start(&rig, 10 * skip + i);
            assert_good(make(&catalogue, &rig_err));
            assert_good(run_transaction(catalogue, 1, &rig_err));
            disk_model_fail(rig.model, &fault);
            for (uint64_t number = 2; number <= COMMITS; number++) {
                while (!run_transaction(catalogue, number, &err)) {
                    assert_int_equal(err.code, faults[i].code);
                    assert_false(catalogue_is_open(catalogue));
                    assert_int_equal(transactions_in(catalogue), number - 1);
                }
                catalogue_checkpoint(catalogue, NULL);
            }
            disk_model_power_off_at(rig.model, 0);
            catalogue_close(catalogue);
            disk_model_power_off_at(rig.model, UINT64_MAX);
            disk_model_restart(rig.model, DISK_MODEL_LOSE_ALL);
            rig.made = true;
            rig.done = COMMITS;
            check(&rig, skip);
            end(&rig);
        }
    }
}

static void a_full_disk_refuses_commits_until_there_is_room(void **state)
{
    (void)state;
    struct disk_rig rig;
    struct catalogue *catalogue;
    uint64_t refused = 0;
    start(&rig, 1);
    assert_good(make(&catalogue, &rig_err));
    uint64_t room = disk_model_content(rig.model, path).size +
                    disk_model_content(rig.model, "/spool/catalogue.db-wal").size;
    disk_model_set_capacity(rig.model, room);
    for (uint64_t number = 1; number <= COMMITS; number++) {
        struct error err = {0};
        while (!run_transaction(catalogue, number, &err)) {
            assert_int_equal(err.code, ERR_FULL);
            assert_non_null(strstr(err.text, "the disk is full"));
            assert_int_equal(transactions_in(catalogue), number - 1);
            refused++;
            room += 1000;
            disk_model_set_capacity(rig.model, room);
        }
    }
    assert_true(refused > 10);
    catalogue_close(catalogue);
    disk_model_restart(rig.model, DISK_MODEL_LOSE_ALL);
    disk_model_set_capacity(rig.model, UINT64_MAX);
    rig.made = true;
    rig.done = COMMITS;
    check(&rig, 0);
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loss_of_power_at_any_moment_leaves_what_was_committed),
        cmocka_unit_test(a_commit_that_the_disk_refuses_may_be_repeated),
        cmocka_unit_test(a_full_disk_refuses_commits_until_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
