#include "store/catalogue/catalogue_progress.h"
#include "store/catalogue/catalogue_sources.h"

#include "store/catalogue/catalogue_query.h"
#include "store/store.h"
#include "support/test.h"
#include "unit/store/catalogue_rig.h"

/* The progress of outputs if no batch waits in a segment. */

struct seen {
    struct buf text; /* rows: output=session:sequence,… checkpoint; */
};

static bool look(void *self, const struct catalogue_progress *progress)
{
    struct seen *seen = self;
    struct span rest = progress->sessions;
    struct span session;
    uint64_t sequence;
    buf_printf(&seen->text, "%.*s=", SPAN_ARG(progress->output));
    while (catalogue_progress_next(&rest, &session, &sequence)) {
        buf_printf(&seen->text, "%.*s:%llu,", SPAN_ARG(session), (unsigned long long)sequence);
    }
    assert_int_equal(rest.size, 0);
    buf_printf(&seen->text, " %.*s;", SPAN_ARG(progress->checkpoint));
    return true;
}

static void expect_rows(struct catalogue *catalogue, const char *text)
{
    struct seen seen;
    buf_init(&seen.text, 10000);
    assert_good(catalogue_progresses(catalogue, look, &seen, &rig_err));
    assert_span(buf_span(&seen.text), text);
    buf_fini(&seen.text);
}

static void put(struct catalogue *catalogue, const char *output, const char *session,
    uint64_t sequence, const char *checkpoint)
{
    struct buf sessions;
    buf_init(&sessions, 10000);
    if (session) {
        catalogue_progress_add(&sessions, span_text(session), sequence);
        catalogue_progress_add(&sessions, span_text("other"), 2 * sequence);
    }
    const struct catalogue_progress row = {.output = span_text(output),
        .sessions = buf_span(&sessions),
        .checkpoint = span_text(checkpoint)};
    assert_good(catalogue_begin(catalogue, &rig_err));
    assert_good(catalogue_put_progress(catalogue, &row, &rig_err));
    assert_good(catalogue_commit(catalogue, &rig_err));
    buf_fini(&sessions);
}

static void a_row_is_replaced_as_a_whole(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    expect_rows(catalogue, "");
    put(catalogue, "siem", "s", 7, "at 7");
    put(catalogue, "local", NULL, 0, "c");
    expect_rows(catalogue, "local= c;siem=s:7,other:14, at 7;");
    put(catalogue, "siem", "t", 9, "");
    expect_rows(catalogue, "local= c;siem=t:9,other:18, ;");
    put(catalogue, "local", NULL, 0, "");
    put(catalogue, "nobody", NULL, 0, "");
    catalogue_close(catalogue);
    catalogue = rig_open(CATALOGUE_READ);
    expect_rows(catalogue, "siem=t:9,other:18, ;");
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

static void sessions_that_are_cut_off_are_none(void **state)
{
    (void)state;
    struct buf sessions;
    struct span session = span_text("untouched");
    uint64_t sequence = 3;
    buf_init(&sessions, 10000);
    catalogue_progress_add(&sessions, span_text("name"), UINT64_MAX);
    for (size_t size = 0; size < sessions.size; size++) {
        struct span rest = span_first(buf_span(&sessions), size);
        assert_false(catalogue_progress_next(&rest, &session, &sequence));
        assert_int_equal(rest.size, size);
        assert_span(session, "untouched");
        assert_int_equal(sequence, 3);
    }
    struct span rest = buf_span(&sessions);
    assert_true(catalogue_progress_next(&rest, &session, &sequence));
    assert_span(session, "name");
    assert_true(sequence == UINT64_MAX);
    buf_fini(&sessions);
}

static void a_row_that_was_changed_is_damage(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    put(catalogue, "siem", "s", 7, "at 7");
    struct error err = {0};
    assert_int_equal(sqlite3_exec(catalogue->db,
                         "UPDATE progress SET checkpoint = CAST('at 8' AS BLOB)", NULL, NULL, NULL),
        SQLITE_OK);
    assert_false(catalogue_progresses(catalogue, NULL, NULL, &err));
    assert_int_equal(err.code, ERR_DAMAGED);
    catalogue_close(catalogue);
}

static void expect_in_store(struct store *store, const char *text)
{
    struct error err = {0};
    struct seen seen;
    buf_init(&seen.text, 10000);
    assert_true(catalogue_progresses(store_catalogue(store, &err), look, &seen, &err));
    assert_span(buf_span(&seen.text), text);
    buf_fini(&seen.text);
}

/* Without a folder nothing is on a disk, and everything but batches can be kept. */
static void a_store_in_memory_keeps_what_was_committed_until_it_is_closed(void **state)
{
    (void)state;
    static const uint8_t file_id[16] = {1};
    struct error err = {0};
    struct store_committed committed;
    struct store *store = store_open(&(struct store_settings){.no_batches = true}, &err);
    assert_string_equal(err.text, "");
    struct buf sessions;
    buf_init(&sessions, 1000);
    catalogue_progress_add(&sessions, span_text("s"), 5);
    const struct span checkpoint = span_text("c");
    struct store_progress progress = {
        .name = span_text("o"), .sessions = buf_span(&sessions), .checkpoint = &checkpoint};
    assert_true(store_progress(store, &progress, &err));
    assert_true(store_source_state(store, span_text("s"), span_text("state"), &err));
    assert_true(store_live(store, span_text("l"), 77, &err));
    assert_true(store_done(store, span_text("s"), file_id, 5, &err));
    expect_in_store(store, "");
    assert_true(store_commit(store, &committed, &err));
    expect_in_store(store, "o=s:5, c;");
    uint64_t number = 0;
    bool done = false;
    struct buf value;
    buf_init(&value, 1000);
    assert_true(catalogue_find_state(store_catalogue(store, &err), span_text("s"), &value, &err));
    assert_span(buf_span(&value), "state");
    assert_true(catalogue_find_live(store_catalogue(store, &err), span_text("l"), &number, &err));
    assert_int_equal(number, 77);
    assert_true(catalogue_find_done(
        store_catalogue(store, &err), span_text("s"), file_id, &number, &done, &err));
    assert_true(done && number == 5);
    /* An empty row removes the staged one. */
    progress = (struct store_progress){.name = span_text("o")};
    assert_true(store_progress(store, &progress, &err));
    assert_true(store_drop_checkpoint(store, span_text("o"), &err));
    assert_true(store_commit(store, &committed, &err));
    expect_in_store(store, "");
    store_tidy(store);
    buf_fini(&value);
    buf_fini(&sessions);
    store_close(store);
    store = store_open(&(struct store_settings){.no_batches = true}, &err);
    assert_non_null(store);
    assert_true(catalogue_find_live(store_catalogue(store, &err), span_text("l"), &number, &err));
    assert_int_equal(number, 0);
    store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_make_folder, rig_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_row_is_replaced_as_a_whole),
        TEST(sessions_that_are_cut_off_are_none),
        TEST(a_row_that_was_changed_is_damage),
        TEST(a_store_in_memory_keeps_what_was_committed_until_it_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
