#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/catalogue/catalogue_letters.h"
#include "store/catalogue/catalogue_outputs.h"
#include "store/catalogue/catalogue_query.h"
#include "store/catalogue/catalogue_sources.h"
#include "unit/store/catalogue_rig.h"

/*
 * The state after a killed process, in a folder without the right to write, and after a file was
 * removed. A kill is a child that ends at once, without closing anything.
 */

static void stage(struct catalogue *catalogue)
{
    struct catalogue_output output = {.id = 1, .name = span_text("o"), .position = 2};
    struct catalogue_source source = {.session = span_text("s"), .stream = 1, .sequence = 9};
    struct catalogue_letter letter = {.output = span_text("o"), .document = span_text("{}")};
    rig_begin(catalogue);
    rig_put_batch(catalogue, 5, 1, 2);
    assert_good(catalogue_put_output(catalogue, &output, &rig_err));
    assert_good(catalogue_put_source(catalogue, &source, &rig_err));
    assert_good(catalogue_put_letters(catalogue, &letter, 1, NULL, NULL, &rig_err));
}

static bool count_output(void *self, const struct catalogue_output *output)
{
    (void)output;
    ++*(int *)self;
    return true;
}

/* All of stage() is there, or nothing of it. */
static void assert_staged(struct catalogue *catalogue, bool all)
{
    int outputs = 0;
    uint64_t sequence;
    bool found;
    struct catalogue_info info = rig_info(catalogue);
    assert_int_equal(info.batches, all ? 5 : 4);
    assert_int_equal(info.next.batch, all ? 6 : 5);
    assert_int_equal(info.letters, all ? 1 : 0);
    assert_good(catalogue_outputs(catalogue, count_output, &outputs, &rig_err));
    assert_int_equal(outputs, all ? 1 : 0);
    assert_good(catalogue_find_source(catalogue, span_text("s"), 1, &sequence, &found, &rig_err));
    assert_int_equal(found, all);
    rig_verify(catalogue);
}

static void run_killed(bool committed)
{
    pid_t child = fork();
    if (child == 0) {
        struct catalogue *catalogue = catalogue_open(rig_path, CATALOGUE_WRITE, NULL);
        stage(catalogue);
        _exit(!committed || catalogue_commit(catalogue, NULL) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void make(void)
{
    struct catalogue *catalogue = rig_create();
    rig_fill(catalogue, 4);
    catalogue_close(catalogue);
}

static void a_kill_before_the_commit_leaves_nothing(void **state)
{
    (void)state;
    make();
    run_killed(false);
    struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
    assert_staged(catalogue, false);
    stage(catalogue);
    rig_commit(catalogue);
    assert_staged(catalogue, true);
    catalogue_close(catalogue);
}

static void a_kill_after_the_commit_leaves_everything(void **state)
{
    (void)state;
    make();
    run_killed(true);
    struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
    assert_staged(catalogue, true);
    catalogue_close(catalogue);
}

static void a_command_reads_what_a_killed_agent_left(void **state)
{
    (void)state;
    make();
    run_killed(true);
    struct catalogue *catalogue = rig_open(CATALOGUE_READ);
    assert_staged(catalogue, true);
    catalogue_close(catalogue);
    catalogue = rig_open(CATALOGUE_WRITE);
    assert_staged(catalogue, true);
    catalogue_close(catalogue);
}

/* The next agent would take a missing log for a lost one. */
static void a_second_writer_leaves_the_log_that_was_there(void **state)
{
    (void)state;
    char log[300];
    snprintf(log, sizeof(log), "%s-wal", rig_path);
    make();
    for (unsigned i = 0; i < 2; i++) {
        bool is_killed = i == 1;
        if (is_killed) {
            run_killed(true);
        }
        struct error err = {0};
        struct catalogue *catalogue = catalogue_open_beside(rig_path, 5, &err);
        assert_non_null(catalogue);
        rig_begin(catalogue);
        rig_put_stream(catalogue, 7 + i);
        rig_commit(catalogue);
        catalogue_close(catalogue);
        assert_int_equal(plat_path_kind(log) != PLAT_PATH_NONE, is_killed);
    }
    struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
    assert_staged(catalogue, true);
    assert_int_equal(rig_info(catalogue).next.stream, 9);
    catalogue_close(catalogue);
    assert_null(catalogue_open_beside("none", 5, &(struct error){0}));
}

static void a_kill_while_it_is_made_leaves_none(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct catalogue *catalogue = catalogue_create(rig_path, 1, span_text(""), NULL);
        rig_put_stream(catalogue, 1);
        _exit(0);
    }
    int status = -1;
    struct error err = {0};
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_null(catalogue_open(rig_path, CATALOGUE_WRITE, &err));
    assert_int_equal(err.code, ERR_MISSING);
    make();
    struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
    assert_staged(catalogue, false);
    catalogue_close(catalogue);
}

/* ---- copies of the files, like those after a crash ------------------------------------------- */

static void copy_file(const char *suffix, size_t max_bytes, const char *folder)
{
    char from[300];
    char to[300];
    char *bytes;
    size_t size;
    snprintf(from, sizeof(from), "%s%s", rig_path, suffix);
    snprintf(to, sizeof(to), "%s/catalogue.db%s", folder, suffix);
    assert_true(plat_file_load(from, 1 << 26, &bytes, &size, NULL));
    struct plat_file *file = plat_file_open(to, PLAT_FILE_CREATE, NULL);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_make(bytes, size < max_bytes ? size : max_bytes), NULL));
    plat_file_close(file);
    free(bytes);
}

/* A log that was cut anywhere, or has other bytes at its end, gives complete transactions: those
 * before the damage. */
static void a_torn_log_gives_whole_transactions(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    char folder[200];
    char path[300];
    char log[300];
    snprintf(folder, sizeof(folder), "%s/copy", rig_folder);
    snprintf(path, sizeof(path), "%s/catalogue.db", folder);
    snprintf(log, sizeof(log), "%s-wal", rig_path);
    rig_fill(catalogue, 0);
    assert_good(catalogue_checkpoint(catalogue, &rig_err));
    for (uint64_t id = 1; id <= 5; id++) {
        rig_begin(catalogue);
        rig_put_batch(catalogue, id, 1, 1);
        rig_commit(catalogue);
    }
    size_t size = (size_t)plat_path_stamp(log).size;
    uint64_t before = 0;
    assert_true(plat_dir_create(folder, NULL));
    for (size_t left = 0; left <= size; left += 1000) {
        copy_file("", SIZE_MAX, folder);
        copy_file("-wal", left, folder);
        struct catalogue *copy = catalogue_open(path, CATALOGUE_WRITE, NULL);
        assert_non_null(copy);
        uint64_t batches = rig_info(copy).batches;
        assert_in_range(batches, before, before + 1);
        assert_int_equal(rig_info(copy).next.batch, batches + 1);
        rig_verify(copy);
        catalogue_close(copy);
        before = batches;
    }
    assert_in_range(before, 4, 5);
    catalogue_close(catalogue);
}

/* ---- files that disappear, and folders without the right to write ---------------------------- */

static void a_removed_file_is_noticed_by_the_next_transaction(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"", "-wal"};
    for (size_t i = 0; i < 2; i++) {
        char path[300];
        struct error err = {0};
        make();
        struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
        snprintf(path, sizeof(path), "%s%s", rig_path, suffixes[i]);
        assert_int_equal(unlink(path), 0);
        assert_false(catalogue_begin(catalogue, &err));
        assert_int_equal(err.code, ERR_MISSING);
        int file = open(path, O_CREAT | O_RDWR, 0600); /* another file is not it */
        assert_true(file >= 0);
        close(file);
        assert_false(catalogue_begin(catalogue, &err));
        assert_int_equal(rig_info(catalogue).batches, 4);
        catalogue_close(catalogue);
        unlink(rig_path);
        unlink(path);
    }
}

/* Root may write anywhere, so a child without rights does it. */
static int without_rights(int (*run)(void))
{
    pid_t child = fork();
    if (child == 0) {
        _exit(geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0) ? 77 : run());
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int read_four_batches(void)
{
    struct error err = {0};
    struct catalogue_info info;
    struct catalogue *catalogue = catalogue_open(rig_path, CATALOGUE_READ, &err);
    bool good = catalogue && catalogue_info(catalogue, &info, &err) && info.batches == 4;
    if (!good) {
        print_error("%s\n", err.text);
    }
    catalogue_close(catalogue);
    return good ? 0 : 1;
}

static int fail_to_write(void)
{
    struct error err = {0};
    struct catalogue *catalogue = catalogue_open(rig_path, CATALOGUE_WRITE, &err);
    bool good = catalogue == NULL && err.code == ERR_READ_ONLY;
    if (!good) {
        print_error("%d: %s\n", (int)err.code, err.text);
    }
    return good ? 0 : 1;
}

static void a_folder_that_may_not_be_written_can_be_read(void **state)
{
    (void)state;
    char odd[TEMP_FOLDER_BYTES + 20];
    make();
    assert_int_equal(chmod(rig_path, 0444), 0);
    assert_int_equal(chmod(rig_folder, 0555), 0);
    assert_int_equal(without_rights(read_four_batches), 0);
    assert_int_equal(without_rights(fail_to_write), 0);
    assert_int_equal(chmod(rig_path, 0400), 0); /* not even the right to read */
    assert_int_equal(without_rights(fail_to_write), 0);
    assert_int_equal(chmod(rig_path, 0444), 0);
    assert_int_equal(chmod(rig_folder, 0755), 0);
    /* With a name that needs escapes in a URI. */
    snprintf(odd, sizeof(odd), "%s/a b%%41?c#d", rig_folder);
    assert_true(plat_dir_create(odd, NULL));
    char path[sizeof(odd) + 20];
    snprintf(path, sizeof(path), "%s/catalogue.db", odd);
    assert_true(plat_path_rename(rig_path, path, NULL));
    assert_int_equal(chmod(odd, 0555), 0);
    memcpy(rig_path, path, sizeof(path));
    assert_int_equal(without_rights(read_four_batches), 0);
    assert_int_equal(chmod(odd, 0755), 0);
}

static void beside_an_agent_one_without_rights_reads_too(void **state)
{
    (void)state;
    make();
    struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
    assert_int_equal(rig_info(catalogue).batches, 4);
    char path[300];
    snprintf(path, sizeof(path), "%s-shm", rig_path);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(rig_folder, 0755), 0);
    assert_int_equal(without_rights(read_four_batches), 0);
    catalogue_close(catalogue);
}

/* ---- the log's size -------------------------------------------------------------------------- */

/* Commands with short transactions do not make it grow, however many there are. */
static void the_log_stays_small_beside_readers(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue *reader = rig_open(CATALOGUE_READ);
    static char value[100 * 1024];
    char path[300];
    uint64_t largest = 0;
    snprintf(path, sizeof(path), "%s-wal", rig_path);
    sqlite3_exec(catalogue->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    for (int i = 0; i < 500; i++) { /* 50 MB of changes */
        struct catalogue_output output = {
            .id = 1, .name = span_text("o"), .checkpoint = span_make(value, sizeof(value))};
        int outputs = 0;
        rig_begin(catalogue);
        assert_good(catalogue_put_output(catalogue, &output, &rig_err));
        assert_good(catalogue_outputs(reader, count_output, &outputs, &rig_err));
        rig_commit(catalogue);
        uint64_t bytes = plat_path_stamp(path).size;
        largest = bytes > largest ? bytes : largest;
    }
    assert_in_range(largest, 1, 8 << 20);
    assert_in_range(catalogue_disk_bytes(catalogue), 1, 9 << 20);
    catalogue_close(reader);
    catalogue_close(catalogue);
}

static void a_checkpoint_empties_the_log_and_a_reader_delays_it(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue *reader = rig_open(CATALOGUE_READ);
    struct error err = {0};
    char path[300];
    snprintf(path, sizeof(path), "%s-wal", rig_path);
    assert_int_equal(sqlite3_exec(reader->db, "BEGIN; SELECT * FROM meta", NULL, NULL, NULL), 0);
    rig_fill(catalogue, 10);
    sqlite3_busy_timeout(catalogue->db, 0);
    assert_false(catalogue_checkpoint(catalogue, &err));
    assert_int_equal(err.code, ERR_BUSY);
    assert_int_equal(sqlite3_exec(reader->db, "COMMIT", NULL, NULL, NULL), 0);
    assert_good(catalogue_checkpoint(catalogue, &rig_err));
    assert_int_equal(plat_path_stamp(path).size, 0);
    catalogue_close(reader);
    catalogue_close(catalogue);
}

static void freed_pages_are_given_back_in_steps(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    static char document[1000000];
    memset(document, 'd', sizeof(document));
    struct catalogue_letter letter = {
        .output = span_text("o"), .document = span_make(document, sizeof(document))};
    static const uint64_t id = 1;
    uint64_t removed;
    rig_begin(catalogue);
    assert_good(catalogue_put_letters(catalogue, &letter, 1, NULL, NULL, &rig_err));
    rig_commit(catalogue);
    rig_begin(catalogue);
    assert_good(catalogue_remove_letters(catalogue, &id, 1, &removed, &rig_err));
    rig_commit(catalogue);
    assert_good(catalogue_checkpoint(catalogue, &rig_err));
    uint64_t before = plat_path_stamp(rig_path).size;
    rig_begin(catalogue);
    assert_good(catalogue_shrink(catalogue, 100, &rig_err));
    rig_commit(catalogue);
    assert_good(catalogue_checkpoint(catalogue, &rig_err));
    assert_int_equal(plat_path_stamp(rig_path).size, before - 100 * 4096);
    rig_begin(catalogue);
    assert_good(catalogue_shrink(catalogue, 1000000, &rig_err));
    rig_commit(catalogue);
    assert_good(catalogue_checkpoint(catalogue, &rig_err));
    /* The reserve for a full disk stays. */
    assert_in_range(plat_path_stamp(rig_path).size, 512 * 1024, 900 * 1024);
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

/* Each written row takes a page of its own. */
static void write_pages(struct catalogue *catalogue, unsigned count)
{
    char text[200];
    snprintf(text, sizeof(text),
        "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %u)"
        " INSERT INTO state SELECT 's' || i, randomblob(4000), 0 FROM n; DELETE FROM state; COMMIT",
        count);
    assert_int_equal(sqlite3_exec(catalogue->db, text, NULL, NULL, NULL), SQLITE_OK);
}

static void commits_find_room_in_what_is_reserved(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    char log[300];
    snprintf(log, sizeof(log), "%s-wal", rig_path);
    assert_good(catalogue_reserve(catalogue, &rig_err));
    rig_verify(catalogue);
    uint64_t bytes = plat_path_stamp(rig_path).size;
    uint64_t log_bytes = plat_path_stamp(log).size;
    assert_true(bytes >= 512 * 1024 && log_bytes >= 512 * 1024);
    for (unsigned i = 0; i < 50; i++) {
        assert_true(catalogue_rewind_log(catalogue));
        write_pages(catalogue, 100);
    }
    assert_true(catalogue_rewind_log(catalogue));
    assert_good(catalogue_reserve(catalogue, &rig_err));
    assert_int_equal(plat_path_stamp(rig_path).size, bytes);
    assert_int_equal(plat_path_stamp(log).size, log_bytes);

    /* Repeating it takes no more room, and a reader only delays that. */
    struct catalogue *reader = rig_open(CATALOGUE_READ);
    assert_int_equal(sqlite3_exec(reader->db, "BEGIN; SELECT * FROM meta", NULL, NULL, NULL), 0);
    write_pages(catalogue, 1);
    assert_false(catalogue_rewind_log(catalogue));
    assert_int_equal(sqlite3_exec(reader->db, "COMMIT", NULL, NULL, NULL), 0);
    assert_true(catalogue_rewind_log(catalogue));
    rig_verify(catalogue);
    catalogue_close(reader);
    catalogue_close(catalogue);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_make_folder, rig_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_kill_before_the_commit_leaves_nothing),
        TEST(a_kill_after_the_commit_leaves_everything),
        TEST(a_command_reads_what_a_killed_agent_left),
        TEST(a_second_writer_leaves_the_log_that_was_there),
        TEST(a_kill_while_it_is_made_leaves_none),
        TEST(a_torn_log_gives_whole_transactions),
        TEST(a_removed_file_is_noticed_by_the_next_transaction),
        TEST(a_folder_that_may_not_be_written_can_be_read),
        TEST(beside_an_agent_one_without_rights_reads_too),
        TEST(the_log_stays_small_beside_readers),
        TEST(a_checkpoint_empties_the_log_and_a_reader_delays_it),
        TEST(freed_pages_are_given_back_in_steps),
        TEST(commits_find_room_in_what_is_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
