#include "store/catalogue/catalogue.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_thread.h"
#include "store/catalogue/catalogue_letters.h"
#include "store/catalogue/catalogue_query.h"
#include "unit/store/catalogue_rig.h"

/* Changes of the database by another program: SQL by SQLite itself. */
static void run_sql(const char *text)
{
    sqlite3 *db;
    char *words = NULL;
    assert_int_equal(sqlite3_open(rig_path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &words) != SQLITE_OK) {
        fail_msg("%s", words);
    }
    sqlite3_close(db);
}

static void write_file(const char *path, struct span bytes)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, NULL);
    assert_non_null(file);
    assert_true(plat_file_write(file, bytes, NULL));
    plat_file_close(file);
}

static void assert_refused(enum error_code code, const char *words)
{
    for (int mode = CATALOGUE_WRITE; mode <= CATALOGUE_READ; mode++) {
        struct error err = {0};
        assert_null(catalogue_open(rig_path, (enum catalogue_mode)mode, &err));
        assert_int_equal(err.code, code);
        if (!strstr(err.text, words) || !strstr(err.text, rig_path)) {
            fail_msg("%s", err.text);
        }
    }
}

static void what_is_committed_is_there_after_reopening(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    rig_fill(catalogue, 10);
    catalogue = rig_reopen(catalogue);
    struct catalogue_info info = rig_info(catalogue);
    assert_int_equal(info.epoch, RIG_EPOCH);
    assert_span(info.earlier, "earlier");
    assert_int_equal(info.next.stream, 3);
    assert_int_equal(info.next.segment, 3);
    assert_int_equal(info.next.batch, 11);
    assert_int_equal(info.next.record, 111);
    assert_int_equal(info.next.output, 1);
    assert_int_equal(info.next.letter, 1);
    assert_int_equal(info.batches, 10);
    assert_int_equal(info.batch_bytes, 1055);
    assert_int_equal(info.letters, 0);
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

static void what_is_rolled_back_never_was(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    rig_fill(catalogue, 4);
    rig_begin(catalogue);
    assert_true(catalogue_is_open(catalogue));
    rig_put_batch(catalogue, 5, 1, 2);
    assert_int_equal(rig_info(catalogue).batches, 5);
    catalogue_rollback(catalogue);
    assert_false(catalogue_is_open(catalogue));
    catalogue_rollback(catalogue);
    assert_int_equal(rig_info(catalogue).batches, 4);
    assert_int_equal(rig_info(catalogue).next.batch, 5);
    catalogue_close(catalogue);
}

static void a_close_within_a_transaction_undoes_it(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    rig_begin(catalogue);
    rig_put_stream(catalogue, 1);
    catalogue = rig_reopen(catalogue);
    assert_int_equal(rig_info(catalogue).next.stream, 1);
    catalogue_close(catalogue);
}

static void a_change_outside_a_transaction_is_refused(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_segment segment = {.id = 1};
    struct error err = {0};
    assert_false(catalogue_put_segment(catalogue, &segment, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_false(catalogue_commit(catalogue, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_int_equal(rig_info(catalogue).next.segment, 1);
    catalogue_close(catalogue);
}

static void a_second_transaction_at_a_time_undoes_both(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct error err = {0};
    rig_begin(catalogue);
    rig_put_stream(catalogue, 1);
    assert_false(catalogue_begin(catalogue, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_false(catalogue_is_open(catalogue));
    assert_int_equal(rig_info(catalogue).next.stream, 1);
    catalogue_close(catalogue);
}

static void a_failed_change_undoes_the_transaction_which_may_be_repeated(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct error err = {0};
    rig_fill(catalogue, 4);
    rig_begin(catalogue);
    rig_put_batch(catalogue, 5, 1, 2);
    struct catalogue_batch batch = rig_batch(UINT64_C(1) << 62, 1, 2);
    assert_false(catalogue_put_batch(catalogue, &batch, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_false(catalogue_is_open(catalogue));
    assert_false(catalogue_commit(catalogue, &err));
    assert_int_equal(rig_info(catalogue).batches, 4);
    rig_begin(catalogue);
    rig_put_batch(catalogue, 5, 1, 2);
    rig_commit(catalogue);
    assert_int_equal(rig_info(catalogue).batches, 5);
    catalogue_close(catalogue);
}

static void identity_and_counters_can_be_set(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_counters higher = {
        .stream = 7, .segment = 6, .batch = 5, .record = 4, .output = 3, .letter = 2};
    struct catalogue_counters lower = {.stream = 1, .batch = 4};
    uint8_t earlier[CATALOGUE_EPOCHS_MAX_BYTES + 1] = {1, 0, 255};
    struct error err = {0};
    rig_begin(catalogue);
    assert_true(catalogue_set_epochs(
        catalogue, UINT64_MAX, span_make(earlier, CATALOGUE_EPOCHS_MAX_BYTES), &err));
    assert_true(catalogue_raise(catalogue, &higher, &err));
    assert_true(catalogue_raise(catalogue, &lower, &err));
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    struct catalogue_info info = rig_info(catalogue);
    assert_true(info.epoch == UINT64_MAX);
    assert_true(span_equal(info.earlier, span_make(earlier, CATALOGUE_EPOCHS_MAX_BYTES)));
    assert_memory_equal(&info.next, &higher, sizeof(higher));
    rig_begin(catalogue);
    assert_false(catalogue_set_epochs(catalogue, 1, span_make(earlier, sizeof(earlier)), &err));
    assert_int_equal(err.code, ERR_LIMIT);
    catalogue_close(catalogue);
}

/* ---- making and opening ---------------------------------------------------------------------- */

static void without_a_file_it_is_missing(void **state)
{
    (void)state;
    assert_refused(ERR_MISSING, "no catalogue");
    assert_false(temp_file_is_there(rig_path));
}

static void it_is_missing_until_its_making_is_committed(void **state)
{
    (void)state;
    struct catalogue *catalogue = catalogue_create(rig_path, 1, span_text(""), NULL);
    assert_non_null(catalogue);
    rig_put_stream(catalogue, 1);
    assert_refused(ERR_MISSING, "no catalogue");
    catalogue_close(catalogue);
    assert_refused(ERR_MISSING, "no catalogue");
    catalogue_close(rig_create());
    catalogue_close(rig_open(CATALOGUE_WRITE));
}

static void an_empty_file_is_no_catalogue_and_one_can_be_made_in_it(void **state)
{
    (void)state;
    write_file(rig_path, span_text(""));
    assert_refused(ERR_MISSING, "no catalogue");
    catalogue_close(rig_create());
    catalogue_close(rig_open(CATALOGUE_READ));
}

static void where_there_is_one_none_is_made(void **state)
{
    (void)state;
    struct error err = {0};
    struct catalogue *catalogue = rig_create();
    rig_fill(catalogue, 2);
    catalogue_close(catalogue);
    assert_null(catalogue_create(rig_path, 1, span_text(""), &err));
    assert_int_equal(err.code, ERR_CONFIG);
    catalogue = rig_open(CATALOGUE_WRITE);
    assert_int_equal(rig_info(catalogue).batches, 2);
    catalogue_close(catalogue);
}

static bool is_letter_7(void *self, const struct catalogue_letter *letter)
{
    ++*(unsigned *)self;
    assert_int_equal(letter->id, 7);
    assert_int_equal(letter->epoch, 0);
    return true;
}

/* The tables of format 1, which had neither a letter's record nor the outputs' progress, and kept
 * no room. */
static const char format_1[] =
    "DROP TABLE progress; DROP TABLE reserve; DROP INDEX letter_of_record; ALTER TABLE letter DROP "
    "COLUMN epoch;"
    "ALTER TABLE letter DROP COLUMN record; PRAGMA user_version = 1;"
    "INSERT INTO letter VALUES(7, 70, 1, 400, 'o', '', '', '', '', '', x'')";

static void an_older_version_is_upgraded_by_an_opener_that_may_write(void **state)
{
    (void)state;
    unsigned letters = 0;
    catalogue_close(rig_create());
    run_sql(format_1);
    struct error err = {0};
    assert_null(catalogue_open(rig_path, CATALOGUE_READ, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "has format 1, of an older etwship"));
    catalogue_close(rig_open(CATALOGUE_WRITE));
    struct catalogue *catalogue = rig_open(CATALOGUE_READ);
    assert_good(catalogue_letters(catalogue, is_letter_7, &letters, &rig_err));
    assert_int_equal(letters, 1);
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

static unsigned rivals;

/* Just before the first connection begins its transaction, another one comes and goes. */
static int come_first(unsigned event, void *self, void *statement, void *text)
{
    (void)event;
    (void)self;
    (void)statement;
    if (rivals == 0 && strcmp(text, "BEGIN IMMEDIATE") == 0) {
        rivals++;
        catalogue_close(rig_open(CATALOGUE_WRITE));
    }
    return 0;
}

static int watch_statements(
    sqlite3 *db, const char **ret_words, const struct sqlite3_api_routines *routines)
{
    (void)ret_words;
    (void)routines;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, come_first, NULL);
}

static void two_openers_at_a_time_upgrade_it_once(void **state)
{
    (void)state;
    unsigned letters = 0;
    catalogue_close(rig_create());
    run_sql(format_1);
    rivals = 0;
    assert_int_equal(sqlite3_auto_extension((void (*)(void))watch_statements), SQLITE_OK);
    struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
    sqlite3_reset_auto_extension();
    assert_int_equal(rivals, 1);
    assert_good(catalogue_letters(catalogue, is_letter_7, &letters, &rig_err));
    assert_int_equal(letters, 1);
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

static void a_newer_version_is_refused_and_left_alone(void **state)
{
    (void)state;
    catalogue_close(rig_create());
    run_sql("PRAGMA user_version = 5");
    char *before;
    char *after;
    size_t size;
    assert_true(plat_file_load(rig_path, SIZE_MAX / 2, &before, &size, NULL));
    assert_refused(
        ERR_UNSUPPORTED, "has format 5, of a newer etwship, and this one supports up to 4");
    size_t again;
    assert_true(plat_file_load(rig_path, SIZE_MAX / 2, &after, &again, NULL));
    assert_int_equal(size, again);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
}

static void what_is_no_catalogue_is_damage(void **state)
{
    (void)state;
    static const struct span texts[] = {
        {(const uint8_t *)"x", 1},
        {(const uint8_t *)"this is no database, though it has more bytes than the head of one "
                          "that SQLite would make, so that it is looked at",
            115},
    };
    for (size_t i = 0; i < 2; i++) {
        write_file(rig_path, texts[i]);
        assert_refused(ERR_DAMAGED, "damaged");
    }
    assert_true(plat_path_remove(rig_path, NULL));
    run_sql("CREATE TABLE other(a)");
    assert_refused(ERR_DAMAGED, "not a catalogue of etwship");
}

static void missing_tables_columns_and_rows_are_damage(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "DROP TABLE gap",
        "DROP TRIGGER batch_put; DROP TABLE letter",
        "ALTER TABLE stream RENAME COLUMN key TO other",
        "DELETE FROM meta",
        "UPDATE meta SET epoch = 0",
        "UPDATE meta SET next_batch = -1",
        "UPDATE meta SET earlier = zeroblob(2000)",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        catalogue_close(rig_create());
        run_sql(texts[i]);
        assert_refused(ERR_DAMAGED, "damaged");
        assert_true(plat_path_remove(rig_path, NULL));
    }
}

static void a_folder_in_its_place_is_no_damage(void **state)
{
    (void)state;
    struct error err = {0};
    assert_true(plat_dir_create(rig_path, NULL));
    assert_null(catalogue_open(rig_path, CATALOGUE_WRITE, &err));
    assert_int_equal(err.code, ERR_IO);
}

/* ---- several connections --------------------------------------------------------------------- */

static void a_reader_sees_what_is_committed_and_changes_nothing(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue *reader = rig_open(CATALOGUE_READ);
    struct error err = {0};
    rig_fill(catalogue, 2);
    rig_begin(catalogue);
    rig_put_batch(catalogue, 3, 1, 1);
    assert_int_equal(rig_info(reader).batches, 2);
    rig_commit(catalogue);
    assert_int_equal(rig_info(reader).batches, 3);
    assert_false(catalogue_begin(reader, &err));
    assert_int_equal(err.code, ERR_READ_ONLY);
    rig_verify(reader);
    catalogue_close(catalogue);
    assert_int_equal(rig_info(reader).batches, 3);
    catalogue_close(reader);
}

static void a_second_writer_waits_and_then_is_told(void **state)
{
    (void)state;
    struct catalogue *first = rig_create();
    struct catalogue *second = rig_open(CATALOGUE_WRITE);
    struct error err = {0};
    rig_begin(first);
    second->wait_ms = 0;
    assert_false(catalogue_begin(second, &err));
    assert_int_equal(err.code, ERR_BUSY);
    assert_non_null(strstr(err.text, "another process"));
    rig_commit(first);
    assert_true(catalogue_begin(second, &err));
    catalogue_close(second);
    catalogue_close(first);
}

/* Lets go for a moment only, as an agent does on a disk that takes long for a sync. */
static void write_all_the_time(void *self)
{
    atomic_bool *is_over = self;
    struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
    while (!atomic_load(is_over)) {
        rig_begin(catalogue);
        plat_sleep_ms(200);
        rig_commit(catalogue);
        plat_sleep_ms(1);
    }
    catalogue_close(catalogue);
}

static void a_writer_gets_its_turn_beside_one_that_writes_all_the_time(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct error err;
    atomic_bool is_over = false;
    struct plat_thread *other = plat_thread_start("other", write_all_the_time, &is_over, &err);
    assert_non_null(other);
    for (int i = 0; i < 3; i++) {
        rig_begin(catalogue);
        rig_commit(catalogue);
    }
    atomic_store(&is_over, true);
    plat_thread_join(other);
    catalogue_close(catalogue);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_make_folder, rig_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(what_is_committed_is_there_after_reopening),
        TEST(what_is_rolled_back_never_was),
        TEST(a_close_within_a_transaction_undoes_it),
        TEST(a_change_outside_a_transaction_is_refused),
        TEST(a_second_transaction_at_a_time_undoes_both),
        TEST(a_failed_change_undoes_the_transaction_which_may_be_repeated),
        TEST(identity_and_counters_can_be_set),
        TEST(without_a_file_it_is_missing),
        TEST(it_is_missing_until_its_making_is_committed),
        TEST(an_empty_file_is_no_catalogue_and_one_can_be_made_in_it),
        TEST(where_there_is_one_none_is_made),
        TEST(an_older_version_is_upgraded_by_an_opener_that_may_write),
        TEST(two_openers_at_a_time_upgrade_it_once),
        TEST(a_newer_version_is_refused_and_left_alone),
        TEST(what_is_no_catalogue_is_damage),
        TEST(missing_tables_columns_and_rows_are_damage),
        TEST(a_folder_in_its_place_is_no_damage),
        TEST(a_reader_sees_what_is_committed_and_changes_nothing),
        TEST(a_second_writer_waits_and_then_is_told),
        TEST(a_writer_gets_its_turn_beside_one_that_writes_all_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
