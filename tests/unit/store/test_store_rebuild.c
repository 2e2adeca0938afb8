#include <sqlite3.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/catalogue/catalogue.h"
#include "unit/store/rig_forget_own.h"
#include "unit/store/store_rig.h"

/* The store with a damaged catalogue or damaged segments. */

static void put_file(struct store_rig *rig, const char *name, struct span content)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", rig->path, name);
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, &rig->err);
    assert_non_null(file);
    assert_ok(plat_file_write(file, content, &rig->err), rig);
    plat_file_close(file);
}

static void copy_file(struct store_rig *rig, const char *from, const char *to)
{
    char path[400];
    char *data;
    size_t size;
    snprintf(path, sizeof(path), "%s/%s", rig->path, from);
    assert_ok(plat_file_load(path, 1 << 24, &data, &size, &rig->err), rig);
    put_file(rig, to, span_make(data, size));
    free(data);
}

static void remove_file(struct store_rig *rig, const char *name)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", rig->path, name);
    assert_ok(plat_path_remove(path, &rig->err), rig);
}

static const char *segment_path(struct store_rig *rig, uint64_t segment)
{
    static char path[400];
    snprintf(path, sizeof(path), "%s/%016llx.seg", rig->path, (unsigned long long)segment);
    return path;
}

/* ---- a catalogue that is lost ---- */

static void lose_catalogue(struct store_rig *rig, int how)
{
    static const char *const beginning = "SQLite format 3";
    char zeros[8192] = {0};
    switch (how) {
    case 0:
        remove_file(rig, "catalogue.db");
        break;
    case 1:
        put_file(rig, "catalogue.db", span_text("garbage, and not a little of it"));
        break;
    case 2:
        memcpy(zeros, beginning, strlen(beginning) + 1);
        put_file(rig, "catalogue.db", span_make(zeros, sizeof(zeros)));
        break;
    default: /* a log of another catalogue */
        remove_file(rig, "catalogue.db");
        put_file(rig, "catalogue.db-wal", span_make(zeros, sizeof(zeros)));
        break;
    }
}

static void a_lost_catalogue_is_made_anew(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct store_rig rig;
        struct store_output_state seen;
        struct store_row before[10];
        struct store_row after;
        rig_init(&rig, 0);
        rig_open(&rig);
        size_t siem = rig_output(&rig, "siem", "json");
        rig_output(&rig, "lake", "ecs");
        for (uint64_t i = 1; i <= 9; i++) {
            before[i] = rig_append(&rig, "json", i);
            rig_append(&rig, "ecs", i);
            rig_commit(&rig);
        }
        rig_settle(&rig, siem, before[4].id);
        rig_commit(&rig);
        rig_close(&rig);
        lose_catalogue(&rig, how);
        rig_open(&rig);
        assert_int_equal(rig.news[STORE_NEWS_REBUILT], 1);
        assert_int_equal(rig_source(&rig, "json"), 9);
        assert_int_equal(rig_source(&rig, "ecs"), 9);
        siem = rig_output_at(&rig, "siem", "json", false, &seen);
        /* Cursors are lost, so everything comes again, the oldest first and unchanged. */
        const char *waiting = rig_waiting(&rig, siem, "json");
        assert_string_equal(waiting, "1 2 3 4 5 6 7 8 9");
        after = rig_row(&rig, siem, 4);
        assert_true(after.id == before[5].id && after.epoch == before[5].epoch);
        assert_true(after.first_record == before[5].first_record);
        assert_true(after.records == before[5].records && after.first_time == 5);
        assert_true(after.last_time == 6 && after.entered == before[5].entered);
        assert_true(after.body_bytes == before[5].body_bytes);
        size_t lake = rig_output(&rig, "lake", "ecs");
        assert_string_equal(rig_waiting(&rig, lake, "ecs"), "1 2 3 4 5 6 7 8 9");
        assert_true(rig_append(&rig, "json", 10).id > before[9].id);
        rig_commit(&rig);
        rig_reopen(&rig);
        assert_int_equal(rig.news[STORE_NEWS_REBUILT], 1);
        siem = rig_output(&rig, "siem", "json");
        assert_string_equal(rig_waiting(&rig, siem, "json"), "1 2 3 4 5 6 7 8 9 10");
        rig_fini(&rig);
    }
}

static void unclaimed_batches_stay_after_a_rebuild(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_usage usage;
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_output(&rig, "lake", "ecs");
    rig_append(&rig, "json", 1);
    rig_append(&rig, "ecs", 1);
    rig_commit(&rig);
    rig_close(&rig);
    remove_file(&rig, "catalogue.db");
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_settle(&rig, siem, rig_row(&rig, siem, 0).id);
    rig_commit(&rig);
    rig_commit(&rig);
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    assert_int_equal(usage.batches, 1);
    /* The other output comes back later. */
    rig_reopen(&rig);
    size_t lake = rig_output(&rig, "lake", "ecs");
    assert_string_equal(rig_waiting(&rig, lake, "ecs"), "1");
    rig_commit(&rig);
    assert_false(rig_forget(&rig, "(rebuilt)"));
    rig_fini(&rig);
}

static void two_outputs_of_one_stream_both_get_what_was_found(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 3);
    rig_close(&rig);
    remove_file(&rig, "catalogue.db");
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    size_t lake = rig_output(&rig, "lake", "json");
    rig_commit(&rig);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 2 3");
    assert_string_equal(rig_waiting(&rig, lake, "json"), "1 2 3");
    rig_fini(&rig);
}

static void an_older_catalogue_gets_back_what_it_has_lost(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 4);
    rig_settle(&rig, siem, rig_row(&rig, siem, 1).id);
    rig_commit(&rig);
    rig_close(&rig);
    copy_file(&rig, "catalogue.db", "copy");
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_output(&rig, "lake", "ecs"); /* the copy does not know it */
    rig_fill(&rig, "json", 5, 8);
    rig_fill(&rig, "ecs", 5, 6);
    rig_close(&rig);
    copy_file(&rig, "copy", "catalogue.db");
    rig_open(&rig);
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 1);
    assert_int_equal(rig_source(&rig, "json"), 8);
    siem = rig_output(&rig, "siem", "json");
    size_t lake = rig_output(&rig, "lake", "ecs");
    /* The copy's facts about its outputs are true. */
    assert_string_equal(rig_waiting(&rig, siem, "json"), "3 4 5 6 7 8");
    assert_string_equal(rig_waiting(&rig, lake, "ecs"), "5 6");
    rig_commit(&rig);
    rig_reopen(&rig);
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 1);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "3 4 5 6 7 8");
    rig_fini(&rig);
}

static void a_newer_catalogue_is_refused_and_untouched(void **state)
{
    (void)state;
    struct store_rig rig;
    char path[400];
    char *before;
    char *after;
    size_t size;
    size_t size_after;
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_fill(&rig, "json", 1, 1);
    rig_close(&rig);
    snprintf(path, sizeof(path), "%s/catalogue.db", rig.path);
    assert_ok(plat_file_load(path, 1 << 24, &before, &size, &rig.err), &rig);
    before[63] = 9; /* user_version, big-endian at 60 (SQLite, Database File Format, 1.3) */
    put_file(&rig, "catalogue.db", span_make(before, size));
    assert_false(rig_try_open(&rig));
    assert_int_equal(rig.err.code, ERR_UNSUPPORTED);
    assert_ok(plat_file_load(path, 1 << 24, &after, &size_after, &rig.err), &rig);
    assert_true(span_equal(span_make(before, size), span_make(after, size_after)));
    free(before);
    free(after);
    rig_fini(&rig);
}

struct losses {
    size_t count;
    uint64_t id;
    uint64_t records;
    char name[20];
};

static void note_loss(void *self, size_t output, struct span name, const struct store_row *row)
{
    struct losses *losses = self;
    (void)output;
    losses->count++;
    losses->id = row->id;
    losses->records += row->records;
    snprintf(losses->name, sizeof(losses->name), "%.*s", SPAN_ARG(name));
}

/* ---- a catalogue that is lost while it is used ---- */

static struct catalogue *reader;
static unsigned closed;

static void close_reader(void *self)
{
    closed++;
    (void)self;
    catalogue_close(reader);
    reader = NULL;
}

/* Windows does not move open files. */
static void a_reader_closes_a_catalogue_when_it_is_rebuilt(void **state)
{
    (void)state;
    struct store_rig rig;
    char path[400];
    sqlite3 *db;
    rig_init(&rig, 0);
    rig.settings.close_readers = close_reader;
    closed = 0;
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 3);
    assert_int_equal(closed, 2); /* once before there was one, and once after that */
    snprintf(path, sizeof(path), "%s/catalogue.db", rig.path);
    reader = catalogue_open(path, CATALOGUE_READ, &rig.err);
    assert_non_null(reader);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DROP TABLE meta", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    rig_fill(&rig, "json", 4, 4);
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 1);
    assert_int_equal(closed, 4);
    assert_null(reader);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 2 3 4");
    rig_fini(&rig);
}

#ifndef _WIN32
static void a_catalogue_that_goes_under_a_running_store_is_written_anew(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 6);
    uint64_t early = rig_row(&rig, siem, 3).id;
    const struct span checkpoint = span_text("so far");
    assert_ok(store_progress(rig.store,
                  &(struct store_progress){.output = siem,
                      .position = rig_row(&rig, siem, 1).id,
                      .early = &early,
                      .early_count = 1,
                      .checkpoint = &checkpoint},
                  &rig.err),
        &rig);
    rig_commit(&rig);
    rig_append(&rig, "json", 7);
    remove_file(&rig, "catalogue.db");
    remove_file(&rig, "catalogue.db-wal");
    rig_commit(&rig);
    assert_int_equal(rig.news[STORE_NEWS_DAMAGED], 1);
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 0);
    /* Nothing has changed. */
    assert_string_equal(rig_waiting(&rig, siem, "json"), "3 5 6 7");
    rig_fill(&rig, "json", 8, 8);
    rig_reopen(&rig);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "3 5 6 7 8");
    struct buf value;
    buf_init(&value, 100);
    assert_ok(store_checkpoint(rig.store, siem, &value, &rig.err), &rig);
    assert_span(buf_span(&value), "so far");
    buf_fini(&value);
    rig_fini(&rig);
}

/* A damaged file must not be made new, and a log left by another file does not belong to it. */
static void a_log_that_is_left_alone_is_not_taken_for_that_of_another_catalogue(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 3);
    remove_file(&rig, "catalogue.db");
    rig_fill(&rig, "json", 4, 4);
    rig_settle(&rig, siem, rig_row(&rig, siem, 0).id);
    rig_commit(&rig);
    rig_reopen(&rig);
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 0);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "2 3 4");
    rig_fini(&rig);
}

static void a_folder_that_is_removed_costs_what_was_in_its_segments_only(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses lost = {0};
    const struct store_loss loss = {.lost = note_loss, .self = &lost};
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 2);
    assert_int_equal(temp_folder_remove(rig.path), 0);
    rig_append(&rig, "json", 3);
    for (int i = 0; i < 2 && !rig_try_commit(&rig); i++) {}
    assert_string_equal(rig_waiting(&rig, siem, "json"), "? ? 3");
    for (int i = 0; i < 2; i++) {
        struct store_row row = rig_row(&rig, siem, 0);
        assert_ok(store_set_aside(rig.store, &row, &loss, &rig.err), &rig);
        rig_commit(&rig);
    }
    assert_int_equal(lost.count, 2);
    rig_fill(&rig, "json", 4, 4);
    rig_reopen(&rig);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "3 4");
    rig_fini(&rig);
}
#endif

/* ---- segments that are damaged ---- */

static void damage_is_read_as_such_and_set_aside(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses losses = {.count = 0};
    const struct store_loss loss = {.lost = note_loss, .self = &losses};
    struct buf room;
    struct span body;
    rig_init(&rig, 3);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 3);
    struct store_row row = rig_row(&rig, siem, 1);
    assert_true(disk_model_flip(rig.model, segment_path(&rig, row.segment), row.offset + 150, 4));
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 ? 3");
    buf_init(&room, STORE_READ_ROOM_BYTES);
    assert_int_equal(store_read(rig.store, &row, &room, &body, &rig.err), STORE_READ_DAMAGED);
    assert_ok(store_set_aside(rig.store, &row, &loss, &rig.err), &rig);
    assert_ok(store_set_aside(rig.store, &row, &loss, &rig.err), &rig);
    assert_int_equal(losses.count, 1);
    assert_int_equal(losses.id, row.id);
    assert_int_equal(losses.records, row.records);
    assert_string_equal(losses.name, "siem");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 3");
    rig_commit(&rig);
    assert_int_equal(rig.news[STORE_NEWS_DAMAGED], 1);
    rig_reopen(&rig);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 3");
    char kept[400];
    snprintf(kept, sizeof(kept), "%s/damaged/%016llx-%llu-batch-damaged", rig.path,
        (unsigned long long)row.segment, (unsigned long long)row.offset);
    assert_int_equal(disk_model_content(rig.model, kept).size, row.disk_bytes);
    buf_fini(&room);
    rig_fini(&rig);
}

static void a_segment_that_is_missing_costs_its_batches_only(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 3);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 40);
    struct store_row row = rig_row(&rig, siem, 15);
    rig_close(&rig);
    assert_true(disk_model_remove(rig.model, segment_path(&rig, row.segment)));
    rig_open(&rig);
    assert_int_equal(rig.news[STORE_NEWS_MISSING], 1);
    siem = rig_output(&rig, "siem", "json");
    size_t lost = 0;
    for (size_t i = 0; i < 40; i++) {
        struct store_row at = rig_row(&rig, siem, i);
        uint64_t number = rig_number(&rig, &at, "json");
        assert_true(at.segment == row.segment ? number == 0 : number == i + 1);
        lost += number == 0;
    }
    assert_true(lost > 0 && lost < 20);
    rig_fini(&rig);
}

static bool count_name(void *self, const char *name)
{
    (void)name;
    ++*(size_t *)self;
    return true;
}

static void a_rebuild_leaves_out_what_is_damaged(void **state)
{
    (void)state;
    struct store_rig rig;
    char kept[400];
    rig_init(&rig, 3);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 5);
    struct store_row second = rig_row(&rig, siem, 1);
    struct store_row fourth = rig_row(&rig, siem, 3);
    rig_close(&rig);
    remove_file(&rig, "catalogue.db");
    disk_model_flip(rig.model, segment_path(&rig, second.segment), second.offset + 150, 1);
    disk_model_flip(rig.model, segment_path(&rig, fourth.segment), fourth.offset + 50, 1);
    disk_model_put(rig.model, segment_path(&rig, 77), span_text("no segment"));
    rig_open(&rig);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 3 5");
    snprintf(kept, sizeof(kept), "%s/damaged/%016llx-%llu-batch-damaged", rig.path,
        (unsigned long long)second.segment, (unsigned long long)second.offset);
    assert_int_equal(disk_model_content(rig.model, kept).size, second.disk_bytes);
    snprintf(kept, sizeof(kept), "%s/damaged/%016llx-%llu-unreadable", rig.path,
        (unsigned long long)fourth.segment, (unsigned long long)fourth.offset);
    assert_int_equal(disk_model_content(rig.model, kept).size, fourth.disk_bytes);
    snprintf(kept, sizeof(kept), "%s/damaged/%016x.seg-unreadable", rig.path, 77u);
    assert_span(disk_model_content(rig.model, kept), "no segment");
    snprintf(kept, sizeof(kept), "%s/damaged/%016x-0-unreadable", rig.path, 77u);
    assert_span(disk_model_content(rig.model, kept), "no segment");
    /* Nothing else is copied: neither a good frame, nor any twice. */
    size_t files = 0;
    snprintf(kept, sizeof(kept), "%s/damaged", rig.path);
    struct disk *disk = disk_model_disk(rig.model);
    assert_ok(disk->ops->list(disk, kept, count_name, &files, &rig.err), &rig);
    assert_int_equal(files, 4);
    rig_fini(&rig);
}

static void a_rebuild_gets_over_sectors_that_cannot_be_read(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 3);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 40);
    struct store_row row = rig_row(&rig, siem, 0);
    struct store_row later = rig_row(&rig, siem, 39);
    assert_true(later.segment > row.segment);
    rig_close(&rig);
    remove_file(&rig, "catalogue.db");
    const struct disk_model_fault fault = {
        .operations = DISK_MODEL_READ, .part = strrchr(segment_path(&rig, row.segment), '/')};
    char part[64];
    snprintf(part, sizeof(part), "%s", fault.part);
    disk_model_fail(
        rig.model, &(struct disk_model_fault){.operations = DISK_MODEL_READ, .part = part});
    rig_open(&rig);
    disk_model_heal(rig.model);
    siem = rig_output(&rig, "siem", "json");
    const char *waiting = rig_waiting(&rig, siem, "json");
    assert_non_null(strstr(waiting, "39 40"));
    assert_true(waiting[0] != '1' || waiting[1] != ' ');
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_catalogue_is_made_anew),
        cmocka_unit_test(unclaimed_batches_stay_after_a_rebuild),
        cmocka_unit_test(two_outputs_of_one_stream_both_get_what_was_found),
        cmocka_unit_test(an_older_catalogue_gets_back_what_it_has_lost),
        cmocka_unit_test(a_newer_catalogue_is_refused_and_untouched),
        cmocka_unit_test(a_reader_closes_a_catalogue_when_it_is_rebuilt),
#ifndef _WIN32
        cmocka_unit_test(a_catalogue_that_goes_under_a_running_store_is_written_anew),
        cmocka_unit_test(a_log_that_is_left_alone_is_not_taken_for_that_of_another_catalogue),
        cmocka_unit_test(a_folder_that_is_removed_costs_what_was_in_its_segments_only),
#endif
        cmocka_unit_test(damage_is_read_as_such_and_set_aside),
        cmocka_unit_test(a_segment_that_is_missing_costs_its_batches_only),
        cmocka_unit_test(a_rebuild_leaves_out_what_is_damaged),
        cmocka_unit_test(a_rebuild_gets_over_sectors_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
