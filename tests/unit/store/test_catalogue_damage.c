#include <sqlite3.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/catalogue/catalogue_letters.h"
#include "store/catalogue/catalogue_outputs.h"
#include "store/catalogue/catalogue_query.h"
#include "store/catalogue/catalogue_sources.h"
#include "unit/store/catalogue_rig.h"

/*
 * A database with changed bytes: reading gives the stored values, or an error, and nothing crashes.
 * The comparison leaves out the sums, and rows that other data proves: a batch's frame proves its
 * row, and nothing depends on letters.
 */
struct reading {
    struct buf text;
    enum error_code code;
};

static bool each_stream(void *self, const struct catalogue_stream *stream)
{
    struct reading *r = self;
    buf_printf(&r->text, "stream %llu %llx %.*s %.*s\n", (unsigned long long)stream->id,
        (unsigned long long)stream->hash, SPAN_ARG(stream->key), SPAN_ARG(stream->about));
    return true;
}

static bool each_segment(void *self, const struct catalogue_segment *segment)
{
    struct reading *r = self;
    buf_printf(&r->text, "segment %llu %llu %d\n", (unsigned long long)segment->id,
        (unsigned long long)segment->bytes, (int)segment->state);
    return true;
}

static bool each_output(void *self, const struct catalogue_output *output)
{
    struct reading *r = self;
    buf_printf(&r->text, "output %llu %.*s %llu %.*s %.*s %llu\n", (unsigned long long)output->id,
        SPAN_ARG(output->name), (unsigned long long)output->position, SPAN_ARG(output->early),
        SPAN_ARG(output->checkpoint), (unsigned long long)output->seen);
    return true;
}

static bool each_range(void *self, const struct catalogue_range *range)
{
    struct reading *r = self;
    buf_printf(&r->text, "range %llu %llu %llu %.*s %llu %llu\n", (unsigned long long)range->output,
        (unsigned long long)range->ordinal, (unsigned long long)range->stream,
        SPAN_ARG(range->about), (unsigned long long)range->after, (unsigned long long)range->last);
    return true;
}

static bool each_source(void *self, const struct catalogue_source *source)
{
    struct reading *r = self;
    buf_printf(&r->text, "source %.*s %llu %llu\n", SPAN_ARG(source->session),
        (unsigned long long)source->stream, (unsigned long long)source->sequence);
    return true;
}

static bool each_done(void *self, const struct catalogue_done *done)
{
    struct reading *r = self;
    buf_printf(
        &r->text, "done %.*s %llu\n", SPAN_ARG(done->session), (unsigned long long)done->sequence);
    buf_add(&r->text, done->file_id, sizeof(done->file_id));
    return true;
}

static bool each_gap(void *self, const struct catalogue_gap *gap)
{
    struct reading *r = self;
    buf_printf(&r->text, "gap %.*s %llu\n", SPAN_ARG(gap->session), (unsigned long long)gap->count);
    return true;
}

static bool each_letter(void *self, const struct catalogue_letter *letter)
{
    (void)self;
    (void)letter;
    return true;
}

/* A transaction like many of an agent. */
static bool write_some(struct catalogue *catalogue, struct error *err)
{
    struct catalogue_info info;
    struct catalogue_output output = {.id = 1, .name = span_text("output"), .position = 4};
    struct catalogue_letter letter = {.output = span_text("o"), .document = span_text("{}")};
    size_t removed;
    if (!catalogue_info(catalogue, &info, err) || !catalogue_begin(catalogue, err)) {
        return false;
    }
    struct catalogue_batch batch = rig_batch(info.next.batch, 1, 2);
    return catalogue_put_batch(catalogue, &batch, err) &&
           catalogue_move_output(catalogue, &output, err) &&
           catalogue_remove_batches(catalogue, 2, 10, 10, &removed, err) &&
           catalogue_put_letters(catalogue, &letter, 1,
               &(struct catalogue_letters_room){.max_bytes = 1000}, NULL, err) &&
           catalogue_commit(catalogue, err);
}

static bool read_all(struct catalogue *catalogue, struct reading *r, struct error *err)
{
    struct catalogue_info info;
    struct catalogue_batch batches[100];
    struct catalogue_sum sum;
    size_t count;
    uint64_t live;
    uint64_t faults;
    if (!catalogue_info(catalogue, &info, err)) {
        return false;
    }
    buf_printf(
        &r->text, "epoch %llx %.*s\n", (unsigned long long)info.epoch, SPAN_ARG(info.earlier));
    return catalogue_streams(catalogue, each_stream, r, err) &&
           catalogue_segments(catalogue, each_segment, r, err) &&
           catalogue_outputs(catalogue, each_output, r, err) &&
           catalogue_ranges(catalogue, each_range, r, err) &&
           catalogue_leftovers(catalogue, NULL, NULL, err) &&
           catalogue_sources(catalogue, each_source, r, err) &&
           catalogue_dones(catalogue, each_done, r, err) &&
           catalogue_gaps(catalogue, each_gap, r, err) &&
           catalogue_find_state(catalogue, span_text("session"), &r->text, err) &&
           catalogue_find_live(catalogue, span_text("session"), &live, err) &&
           catalogue_next_batches(catalogue, 0, 0, UINT64_MAX, batches, 100, &count, err) &&
           catalogue_next_batches(catalogue, 1, 0, UINT64_MAX, batches, 100, &count, err) &&
           catalogue_sum_batches(catalogue, 1, 3, UINT64_MAX, &sum, err) &&
           catalogue_letters(catalogue, each_letter, NULL, err) &&
           catalogue_verify(catalogue, NULL, NULL, &faults, err) &&
           (faults == 0 || error_set(err, ERR_DAMAGED, "%d faults", (int)faults));
}

/* Reads everything that can be read of the file, and the reason for the end. Writing after that may
 * fail, too. */
static void read_file(enum catalogue_mode mode, struct reading *r)
{
    struct error err = {0};
    struct catalogue *catalogue = catalogue_open(rig_path, mode, &err);
    if (catalogue) { /* there are thousands of files: no sync is waited for */
        sqlite3_exec(catalogue->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    }
    if (catalogue && read_all(catalogue, r, &err) && mode == CATALOGUE_WRITE) {
        write_some(catalogue, &err);
    }
    if (catalogue && err.code == ERR_NONE && mode == CATALOGUE_WRITE) {
        catalogue_checkpoint(catalogue, &err);
    }
    r->code = err.code;
    catalogue_close(catalogue);
}

static void fill(struct catalogue *catalogue)
{
    static const uint8_t file_id[16] = {1, 2, 3};
    rig_fill(catalogue, 60);
    rig_begin(catalogue);
    for (uint64_t id = 1; id <= 2; id++) {
        struct catalogue_output output = {.id = id,
            .name = span_text(id == 1 ? "output" : "other"),
            .position = 3,
            .early = span_text("early"),
            .checkpoint = span_text("checkpoint")};
        struct catalogue_range range = {.output = id,
            .ordinal = 1,
            .stream = id,
            .about = span_text("range"),
            .last = UINT64_MAX};
        struct catalogue_source source = {
            .session = span_text("session"), .stream = id, .sequence = 12345};
        struct catalogue_leftover leftover = {
            .output = id, .batch = 7, .left = span_text("leftover")};
        assert_good(catalogue_put_output(catalogue, &output, &rig_err));
        assert_good(catalogue_put_range(catalogue, &range, &rig_err));
        assert_good(catalogue_put_source(catalogue, &source, &rig_err));
        assert_good(catalogue_put_leftover(catalogue, &leftover, &rig_err));
    }
    struct catalogue_done done = {.session = span_text("session"), .sequence = 777};
    struct catalogue_gap gap = {.session = span_text("session"), .count = 5};
    memcpy(done.file_id, file_id, sizeof(file_id));
    assert_good(catalogue_put_done(catalogue, &done, &rig_err));
    assert_good(catalogue_put_gap(catalogue, &gap, &rig_err));
    assert_good(catalogue_put_state(catalogue, span_text("session"), span_text("state"), &rig_err));
    static char document[20000];
    memset(document, 'd', sizeof(document) - 1);
    struct catalogue_letter letter = {.output = span_text("o"), .document = span_text(document)};
    assert_good(catalogue_put_letters(catalogue, &letter, 1, NULL, NULL, &rig_err));
    rig_commit(catalogue);
}

static void store(struct span bytes)
{
    char path[sizeof(rig_path) + 8];
    snprintf(path, sizeof(path), "%s-wal", rig_path);
    assert_true(plat_path_remove(path, NULL));
    snprintf(path, sizeof(path), "%s-shm", rig_path);
    assert_true(plat_path_remove(path, NULL));
    struct plat_file *file = plat_file_open(rig_path, PLAT_FILE_CREATE, NULL);
    assert_non_null(file);
    assert_true(plat_file_write(file, bytes, NULL));
    plat_file_close(file);
}

static const char *name_of(enum error_code code)
{
    static const char *const names[] = {"none", "io", "format", "limit", "memory", "config",
        "unsupported", "stopped", "damaged", "missing", "full", "busy", "read-only"};
    return names[code];
}

/* Reading damaged bytes gives the previous values, or an error that says what is damaged. */
static void check(struct span bytes, const struct reading *whole, size_t at, size_t *counts)
{
    for (int mode = CATALOGUE_WRITE; mode <= CATALOGUE_READ; mode++) {
        struct reading r = {.code = ERR_NONE};
        buf_init(&r.text, 1 << 20);
        store(bytes);
        read_file((enum catalogue_mode)mode, &r);
        bool is_good = r.code == ERR_DAMAGED || (r.code == ERR_NONE && span_equal(buf_span(&r.text),
                                                                           buf_span(&whole->text)));
        /* The version, and a file that ends before its header does. */
        is_good = is_good || (r.code == ERR_UNSUPPORTED && at >= 60 && at < 64) ||
                  (r.code == ERR_MISSING && bytes.size == 0);
        if (!is_good) {
            fail_msg("byte %d, mode %d: %s, and read is\n%.*s", (int)at, mode, name_of(r.code),
                SPAN_ARG(buf_span(&r.text)));
        }
        counts[r.code]++;
        buf_fini(&r.text);
    }
}

static char *make_file(struct reading *whole, size_t *ret_size)
{
    struct catalogue *catalogue = rig_create();
    char *bytes;
    fill(catalogue);
    catalogue_close(catalogue);
    assert_true(plat_file_load(rig_path, 1 << 24, &bytes, ret_size, NULL));
    buf_init(&whole->text, 1 << 20);
    read_file(CATALOGUE_WRITE, whole);
    assert_int_equal(whole->code, ERR_NONE);
    assert_false(whole->text.failed);
    return bytes;
}

static void any_changed_byte_is_noticed_or_does_not_matter(void **state)
{
    (void)state;
    struct reading whole;
    size_t size;
    size_t counts[20] = {0};
    char *bytes = make_file(&whole, &size);
    for (size_t at = 0; at < size; at += at < 100 ? 1 : 509) {
        char was = bytes[at];
        bytes[at] = (char)(was ^ (1 << at % 8));
        check(span_make(bytes, size), &whole, at, counts);
        bytes[at] = (char)(was ^ 0xff);
        check(span_make(bytes, size), &whole, at, counts);
        bytes[at] = was;
    }
    assert_true(counts[ERR_DAMAGED] > 100);
    assert_true(counts[ERR_NONE] > 100); /* free space and documents */
    buf_fini(&whole.text);
    free(bytes);
}

static void a_page_of_zeros_or_of_another_place_is_noticed(void **state)
{
    (void)state;
    struct reading whole;
    size_t size;
    size_t counts[20] = {0};
    char *bytes = make_file(&whole, &size);
    char page[4096];
    for (size_t at = 0; at < size; at += sizeof(page)) {
        memcpy(page, bytes + at, sizeof(page));
        memset(bytes + at, 0, sizeof(page));
        check(span_make(bytes, size), &whole, 0, counts);
        memcpy(bytes + at, bytes + (at + sizeof(page)) % size, sizeof(page));
        check(span_make(bytes, size), &whole, 0, counts);
        memcpy(bytes + at, page, sizeof(page));
    }
    assert_true(counts[ERR_DAMAGED] > 10);
    buf_fini(&whole.text);
    free(bytes);
}

static void a_file_that_was_cut_is_noticed(void **state)
{
    (void)state;
    struct reading whole;
    size_t size;
    size_t counts[20] = {0};
    char *bytes = make_file(&whole, &size);
    for (size_t left = 0; left + 4096 <= size; left += left < 1024 ? 100 : 3000) {
        check(span_make(bytes, left), &whole, 0, counts);
    }
    assert_int_equal(counts[ERR_NONE], 0);
    buf_fini(&whole.text);
    free(bytes);
}

static void run_sql(struct catalogue *catalogue, const char *text)
{
    char *words = NULL;
    if (sqlite3_exec(catalogue->db, text, NULL, NULL, &words) != SQLITE_OK) {
        fail_msg("%s", words);
    }
}

struct faults {
    char text[4000];
};

static void add_fault(void *self, const char *fault)
{
    struct faults *faults = self;
    size_t used = strlen(faults->text);
    snprintf(faults->text + used, sizeof(faults->text) - used, "%s\n", fault);
}

static void verify_says_what_does_not_fit(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        const char *words;
    } cases[] = {
        {"UPDATE meta SET batches = 7", "7 batches of "},
        {"UPDATE meta SET letter_bytes = 7",
            "the totals count 1 dead letters of 7 bytes, but there are 1 of "},
        {"UPDATE segment SET batches = 7 WHERE id = 2", "segment 2: its row counts 7 batches"},
        {"UPDATE batch SET offset = 1 << 41 WHERE id = 5",
            "batch 5 ends after the end of segment 1"},
        {"PRAGMA foreign_keys = OFF; DELETE FROM stream WHERE id = 2",
            "a row of batch refers to a missing row of stream"},
        {"UPDATE batch SET batches_before = 0 WHERE id = 9", "totals of batches do not increase"},
        {"UPDATE stream SET records = 7 WHERE id = 1",
            "stream 1: its totals do not match its last batch, 59"},
        {"UPDATE meta SET next_record = 7", "assigned twice"},
        {"UPDATE output SET position = 9", "damaged"},
        {"UPDATE checkpoint SET value = x''", "damaged"},
        {"UPDATE range SET last = 9", "damaged"},
        {"UPDATE range SET last = 9", "damaged"},
        {"UPDATE leftover SET batch = 9", "damaged"},
        {"UPDATE source SET sequence = 9", "damaged"},
        {"UPDATE state SET value = x''", "damaged"},
        {"UPDATE done SET sequence = 9", "damaged"},
        {"UPDATE gap SET count = 9", "damaged"},
        {"UPDATE stream SET about = x''", "damaged"},
        {"UPDATE segment SET bytes = 1 << 42", "damaged"},
    };
    struct catalogue *catalogue = rig_create();
    fill(catalogue);
    rig_verify(catalogue);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct faults faults = {{0}};
        uint64_t count = 0;
        run_sql(catalogue, "PRAGMA foreign_keys = OFF; BEGIN");
        run_sql(catalogue, cases[i].sql);
        assert_good(catalogue_verify(catalogue, add_fault, &faults, &count, &rig_err));
        if (count == 0 || !strstr(faults.text, cases[i].words)) {
            fail_msg("%s: %d faults:\n%s", cases[i].sql, (int)count, faults.text);
        }
        catalogue_rollback(catalogue);
    }
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_make_folder, rig_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(any_changed_byte_is_noticed_or_does_not_matter),
        TEST(a_page_of_zeros_or_of_another_place_is_noticed),
        TEST(a_file_that_was_cut_is_noticed),
        TEST(verify_says_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
