#include "platform/plat_path.h"
#include "store/catalogue/catalogue_sources.h"
#include "store/store_own.h"
#include "unit/store/store_rig.h"

/* Disks that are full, fail, or are read-only. */

static bool count_gap(void *self, const struct catalogue_gap *gap)
{
    *(uint64_t *)self += gap->count;
    return true;
}

static uint64_t open_gaps(struct store_rig *rig)
{
    uint64_t lost = 0;
    assert_ok(
        catalogue_gaps(store_catalogue(rig->store, &rig->err), count_gap, &lost, &rig->err), rig);
    return lost;
}

static void let_fail(struct store_rig *rig, unsigned operations, uint64_t skip, uint64_t times)
{
    const struct disk_model_fault fault = {
        .operations = operations, .part = ".seg", .skip = skip, .times = times};
    disk_model_fail(rig->model, &fault);
}

static void check_from_disk(struct store_rig *rig, const char *expected)
{
    disk_model_restart(rig->model, DISK_MODEL_LOSE_ALL);
    rig_reopen(rig);
    size_t siem = rig_output(rig, "siem", "json");
    assert_string_equal(rig_waiting(rig, siem, "json"), expected);
}

static void what_a_sync_did_not_take_is_written_again(void **state)
{
    (void)state;
    for (uint64_t skip = 0; skip < 3; skip++) {
        struct store_rig rig;
        rig_init(&rig, 11 + skip);
        rig_open(&rig);
        size_t siem = rig_output(&rig, "siem", "json");
        rig_fill(&rig, "json", 1, 2);
        struct store_row row = rig_append(&rig, "json", 3);
        rig_append(&rig, "json", 4);
        let_fail(&rig, DISK_MODEL_SYNC, skip, 1);
        unsigned failures = 0;
        for (int i = 0; i < 3; i++) {
            failures += !rig_try_commit(&rig);
            rig_append(&rig, "json", (uint64_t)5 + (uint64_t)i);
        }
        assert_int_equal(failures, 1);
        disk_model_heal(rig.model);
        rig_commit(&rig);
        assert_true(rig_row(&rig, siem, 2).id == row.id);
        assert_string_equal(rig_waiting(&rig, siem, "json"), "1 2 3 4 5 6 7");
        check_from_disk(&rig, "1 2 3 4 5 6 7");
        assert_int_equal(rig_source(&rig, "json"), 7);
        rig_fini(&rig);
    }
}

static void a_body_that_is_lent_is_written_from_where_it_lies(void **state)
{
    (void)state;
    struct store_rig rig;
    char body[256];
    struct store_row row;
    rig_init(&rig, 17);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_body(body, 1, "json");
    size_t size = strlen(body);
    char *lent = test_malloc(size);
    memset(lent, '?', size);
    const struct store_batch batch = {.stream = rig_stream(&rig, "json"),
        .body = span_make(lent, size),
        .is_lent = true,
        .records = 1};
    assert_ok(store_append(rig.store, &batch, &row, &rig.err), &rig);
    assert_true(store_staged_bytes(rig.store) >= size);
    let_fail(&rig, DISK_MODEL_SYNC, 0, 1);
    assert_false(rig_try_commit(&rig));
    memcpy(lent, body, size);
    rig_append(&rig, "json", 2);
    rig_commit(&rig);
    test_free(lent);
    check_from_disk(&rig, "1 2");
    rig_fini(&rig);
}

static void a_commit_that_failed_can_be_repeated_whatever_failed(void **state)
{
    (void)state;
    static const unsigned operations[] = {DISK_MODEL_APPEND, DISK_MODEL_SYNC, DISK_MODEL_MAKE,
        DISK_MODEL_SYNC_FOLDER, DISK_MODEL_CHANGES};
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        for (uint64_t skip = 0; skip < 4; skip++) {
            struct store_rig rig;
            rig_init(&rig, 100 * i + skip + 1);
            rig.settings.segment_bytes = 600;
            rig_open(&rig);
            rig_output(&rig, "siem", "json");
            rig_fill(&rig, "json", 1, 1);
            const struct disk_model_fault fault = {
                .operations = operations[i], .skip = skip, .times = 3};
            disk_model_fail(rig.model, &fault);
            for (uint64_t number = 2; number < 9; number++) {
                rig_append(&rig, "json", number);
                rig_try_commit(&rig);
            }
            disk_model_heal(rig.model);
            rig_commit(&rig);
            check_from_disk(&rig, "1 2 3 4 5 6 7 8");
            rig_fini(&rig);
        }
    }
}

static void nothing_of_a_failed_commit_is_true(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 21);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 2);
    rig_append(&rig, "json", 3);
    assert_ok(store_live(rig.store, span_text("live"), 99, &rig.err), &rig);
    let_fail(&rig, DISK_MODEL_SYNC, 0, 0);
    assert_false(rig_try_commit(&rig));
    assert_int_equal(rig.err.code, ERR_IO);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 2");
    uint64_t time;
    assert_ok(catalogue_find_live(
                  store_catalogue(rig.store, &rig.err), span_text("live"), &time, &rig.err),
        &rig);
    assert_int_equal(time, 0);
    assert_int_equal(rig_source(&rig, "json"), 2);
    disk_model_heal(rig.model);
    rig_reopen(&rig);
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 0);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 2");
    rig_fini(&rig);
}

static void on_a_full_disk_cursors_move_and_files_go(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_committed committed;
    struct catalogue_gap gap = {.session = span_text("kernel"),
        .stage = span_text("spool"),
        .reason = span_text("disk"),
        .unit = span_text("events"),
        .count = 5};
    rig_init(&rig, 31);
    disk_model_set_capacity(rig.model, 32 << 20);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 60);
    assert_ok(store_gap(rig.store, &gap, &rig.err), &rig);
    rig_commit(&rig);
    uint64_t ballast = 8 << 20;
    struct store_usage usage;
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    uint64_t used = usage.bytes - usage.catalogue_bytes;
    disk_model_set_capacity(rig.model, used + ballast);
    let_fail(&rig, DISK_MODEL_APPEND, 0, 0);
    disk_model_heal(rig.model);
    disk_model_set_capacity(rig.model, used); /* another program has written meanwhile */
    rig_append(&rig, "json", 61);
    assert_ok(store_live(rig.store, span_text("live"), 99, &rig.err), &rig);
    gap.count = 0;
    assert_ok(store_gap(rig.store, &gap, &rig.err), &rig);
    gap.reason = span_text("full");
    gap.count = 7;
    assert_ok(store_gap(rig.store, &gap, &rig.err), &rig);
    rig_settle(&rig, siem, rig_row(&rig, siem, 49).id);
    assert_false(store_commit(rig.store, &committed, &rig.err));
    assert_int_equal(rig.err.code, ERR_FULL);
    store_tidy(rig.store);
    assert_int_equal(store_room(rig.store, 0), STORE_ROOM_DISK);
    /* The cursor was committed, and files were removed with it; the batch, and the closing of a gap
     * with it, wait. */
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    assert_int_equal(usage.batches, 10);
    assert_true(usage.bytes - usage.catalogue_bytes < used);
    assert_int_equal(open_gaps(&rig), 5 + 7);
    uint64_t time;
    assert_ok(catalogue_find_live(
                  store_catalogue(rig.store, &rig.err), span_text("live"), &time, &rig.err),
        &rig);
    assert_int_equal(time, 0);
    /* So there is room again. */
    rig_commit(&rig);
    assert_int_equal(open_gaps(&rig), 7);
    assert_ok(catalogue_find_live(
                  store_catalogue(rig.store, &rig.err), span_text("live"), &time, &rig.err),
        &rig);
    assert_int_equal(time, 99);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "51 52 53 54 55 56 57 58 59 60 61");
    rig_pass_seconds(&rig, 5);
    assert_int_equal(store_room(rig.store, 0), STORE_ROOM_OK);
    rig_fini(&rig);
}

static void a_file_that_cannot_be_deleted_is_tried_again(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_usage usage;
    rig_init(&rig, 41);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 60);
    rig_settle(&rig, siem, rig_row(&rig, siem, 59).id);
    let_fail(&rig, DISK_MODEL_UNLINK, 0, 0);
    rig_commit(&rig);
    rig_commit(&rig);
    assert_int_equal(rig.news[STORE_NEWS_NOT_DELETED], 1);
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    uint64_t full = usage.bytes - usage.catalogue_bytes;
    rig_reopen(&rig);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "");
    disk_model_heal(rig.model);
    rig_commit(&rig);
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    assert_true(usage.bytes - usage.catalogue_bytes < full / 2);
    rig_fini(&rig);
}

static void a_disk_that_cannot_be_read_refuses_nothing_for_ever(void **state)
{
    (void)state;
    struct store_rig rig;
    struct buf room;
    struct span body;
    rig_init(&rig, 51);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 1);
    struct store_row row = rig_row(&rig, siem, 0);
    buf_init(&room, STORE_READ_ROOM_BYTES);
    let_fail(&rig, DISK_MODEL_READ, 0, 1);
    assert_int_equal(store_read(rig.store, &row, &room, &body, &rig.err), STORE_READ_FAILED);
    assert_int_equal(store_read(rig.store, &row, &room, &body, &rig.err), STORE_READ_OK);
    buf_fini(&room);
    rig_fini(&rig);
}

static void no_power_means_what_was_committed_and_no_more(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 30; seed++) {
        struct store_rig rig;
        char expected[200] = "";
        rig_init(&rig, seed);
        rig.settings.segment_bytes = 1000;
        rig_open(&rig);
        rig_output(&rig, "siem", "json");
        disk_model_power_off_at(rig.model, disk_model_changes(rig.model) + seed);
        uint64_t committed = 0;
        for (uint64_t number = 1; number < 20; number++) {
            rig_append(&rig, "json", number);
            if (!rig_try_commit(&rig)) {
                break;
            }
            committed = number;
            size_t used = strlen(expected);
            snprintf(expected + used, sizeof(expected) - used, "%s%llu", used ? " " : "",
                (unsigned long long)number);
        }
        rig_close(&rig);
        disk_model_restart(rig.model, DISK_MODEL_LOSE_SOME);
        rig_open(&rig);
        size_t siem = rig_output(&rig, "siem", "json");
        assert_string_equal(rig_waiting(&rig, siem, "json"), expected);
        assert_int_equal(rig_source(&rig, "json"), committed);
        rig_fini(&rig);
    }
}

/* As if another program filled the disk while only a cursor is to be written. */
static void a_disk_that_was_full_without_batches_has_room_again(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 7);
    rig_open(&rig);
    disk_model_set_capacity(rig.model, 100000);
    disk_room_set_full(rig.store->room, true);
    assert_ok(store_live(rig.store, span_text("live"), 1, &rig.err), &rig);
    rig_commit(&rig);
    assert_int_equal(store_room(rig.store, 0), STORE_ROOM_DISK);
    disk_model_set_capacity(rig.model, 100000000);
    assert_ok(store_live(rig.store, span_text("live"), 2, &rig.err), &rig);
    rig_commit(&rig);
    assert_int_equal(store_room(rig.store, 0), STORE_ROOM_OK);
    rig_fini(&rig);
}

/* As if neither the folder nor a catalogue could be created. */
static void a_store_without_a_catalogue_says_so(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_committed committed;
    rig_init(&rig, 0);
    rig_open(&rig);
    catalogue_close(rig.store->catalogue);
    rig.store->catalogue = NULL;
    rig_append(&rig, "json", 1);
    assert_int_equal(temp_folder_remove(rig.path), 0);
    FILE *in_its_place = fopen(rig.path, "w");
    assert_non_null(in_its_place);
    assert_int_equal(fclose(in_its_place), 0);
    assert_false(store_commit(rig.store, &committed, &rig.err));
    assert_false(store_commit(rig.store, &committed, &rig.err));
    assert_ok(plat_path_remove(rig.path, &rig.err), &rig);
    rig_commit(&rig);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_sync_did_not_take_is_written_again),
        cmocka_unit_test(a_body_that_is_lent_is_written_from_where_it_lies),
        cmocka_unit_test(a_commit_that_failed_can_be_repeated_whatever_failed),
        cmocka_unit_test(nothing_of_a_failed_commit_is_true),
        cmocka_unit_test(on_a_full_disk_cursors_move_and_files_go),
        cmocka_unit_test(a_file_that_cannot_be_deleted_is_tried_again),
        cmocka_unit_test(a_disk_that_cannot_be_read_refuses_nothing_for_ever),
        cmocka_unit_test(no_power_means_what_was_committed_and_no_more),
        cmocka_unit_test(a_disk_that_was_full_without_batches_has_room_again),
        cmocka_unit_test(a_store_without_a_catalogue_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
