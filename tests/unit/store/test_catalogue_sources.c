#include "store/catalogue/catalogue_sources.h"

#include <sqlite3.h>

#include "store/catalogue/catalogue_query.h"
#include "unit/store/catalogue_rig.h"

static char seen[1000];

static void note(const char *format, ...) ETWSHIP_PRINTF(1, 2);

static void note(const char *format, ...)
{
    size_t used = strlen(seen);
    va_list args;
    va_start(args, format);
    vsnprintf(seen + used, sizeof(seen) - used, format, args);
    va_end(args);
}

static bool each_source(void *self, const struct catalogue_source *source)
{
    (void)self;
    note("%.*s.%llu %llu, ", SPAN_ARG(source->session), (unsigned long long)source->stream,
        (unsigned long long)source->sequence);
    return true;
}

static bool each_done(void *self, const struct catalogue_done *done)
{
    (void)self;
    note("%.*s %02x%02x %llu, ", SPAN_ARG(done->session), (unsigned)done->file_id[0],
        (unsigned)done->file_id[15], (unsigned long long)done->sequence);
    return true;
}

static bool each_gap(void *self, const struct catalogue_gap *gap)
{
    (void)self;
    note("%.*s/%.*s/%.*s/%.*s/%.*s %llu %d %llx %llx, ", SPAN_ARG(gap->session),
        SPAN_ARG(gap->output), SPAN_ARG(gap->stage), SPAN_ARG(gap->reason), SPAN_ARG(gap->unit),
        (unsigned long long)gap->count, (int)gap->exact, (unsigned long long)gap->from,
        (unsigned long long)gap->to);
    return true;
}

static void put_source(
    struct catalogue *catalogue, const char *session, uint64_t stream, uint64_t sequence)
{
    struct catalogue_source source = {
        .session = span_text(session), .stream = stream, .sequence = sequence};
    assert_good(catalogue_put_source(catalogue, &source, &rig_err));
}

static struct catalogue_done done_of(const char *session, uint64_t number)
{
    struct catalogue_done done = {.session = span_text(session), .sequence = 1000 + number};
    memcpy(done.file_id, &number, sizeof(number));
    done.file_id[15] = 0xee;
    return done;
}

static void put_done(struct catalogue *catalogue, const char *session, uint64_t number)
{
    struct catalogue_done done = done_of(session, number);
    assert_good(catalogue_put_done(catalogue, &done, &rig_err));
}

static bool is_done(
    struct catalogue *catalogue, const char *session, uint64_t number, uint64_t *ret_sequence)
{
    struct catalogue_done done = done_of(session, number);
    bool found = false;
    assert_good(
        catalogue_find_done(catalogue, done.session, done.file_id, ret_sequence, &found, &rig_err));
    return found;
}

static void positions_are_kept_by_session_and_stream(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct error err = {0};
    uint64_t sequence = 77;
    bool found;
    rig_begin(catalogue);
    rig_put_stream(catalogue, 1);
    rig_put_stream(catalogue, 2);
    put_source(catalogue, "b", 1, 5);
    put_source(catalogue, "a", 2, 6);
    put_source(catalogue, "a", 1, 7);
    put_source(catalogue, "b", 1, 8);
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    seen[0] = '\0';
    assert_good(catalogue_sources(catalogue, each_source, NULL, &rig_err));
    assert_string_equal(seen, "a.1 7, a.2 6, b.1 8, ");
    assert_good(catalogue_find_source(catalogue, span_text("a"), 2, &sequence, &found, &rig_err));
    assert_true(found);
    assert_int_equal(sequence, 6);
    assert_good(catalogue_find_source(catalogue, span_text("b"), 2, &sequence, &found, &rig_err));
    assert_false(found);
    assert_int_equal(sequence, 6);
    rig_begin(catalogue);
    struct catalogue_source wrong = {.session = span_text("a"), .stream = 3};
    assert_false(catalogue_put_source(catalogue, &wrong, &err));
    assert_int_equal(err.code, ERR_DAMAGED);
    rig_begin(catalogue);
    assert_good(catalogue_remove_stream(catalogue, 2, &rig_err)); /* with its positions */
    seen[0] = '\0';
    assert_good(catalogue_sources(catalogue, each_source, NULL, &rig_err));
    assert_string_equal(seen, "a.1 7, b.1 8, ");
    catalogue_close(catalogue);
}

static void a_session_has_a_state_and_a_live_time(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct buf found;
    uint64_t live = 1;
    buf_init(&found, 100);
    rig_begin(catalogue);
    assert_good(catalogue_put_state(catalogue, span_text("b"), span_text("one"), &rig_err));
    assert_good(catalogue_put_live(catalogue, span_text("a"), UINT64_MAX, &rig_err));
    assert_good(catalogue_put_live(catalogue, span_text("b"), 5, &rig_err));
    assert_good(catalogue_put_state(catalogue, span_text("b"), span_text("two"), &rig_err));
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    assert_good(catalogue_find_state(catalogue, span_text("a"), &found, &rig_err));
    assert_good(catalogue_find_live(catalogue, span_text("a"), &live, &rig_err));
    assert_span(buf_span(&found), "");
    assert_int_equal(live, UINT64_MAX);
    assert_good(catalogue_find_state(catalogue, span_text("b"), &found, &rig_err));
    assert_good(catalogue_find_live(catalogue, span_text("b"), &live, &rig_err));
    assert_span(buf_span(&found), "two");
    assert_int_equal(live, 5);
    assert_good(catalogue_find_state(catalogue, span_text("c"), &found, &rig_err));
    assert_good(catalogue_find_live(catalogue, span_text("c"), &live, &rig_err));
    assert_span(buf_span(&found), "two");
    assert_int_equal(live, 0);
    buf_fini(&found);
    catalogue_close(catalogue);
}

static void names_may_have_any_bytes(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    static const char *const names[] = {
        "", "a\0b", "a\0c", "a", "'; DROP TABLE session", "\xff\xfe"};
    static const size_t sizes[] = {0, 3, 3, 1, 21, 2};
    rig_begin(catalogue);
    for (size_t i = 0; i < 6; i++) {
        assert_good(
            catalogue_put_live(catalogue, span_make(names[i], sizes[i]), 100 + i, &rig_err));
    }
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    for (size_t i = 0; i < 6; i++) {
        uint64_t live = 0;
        assert_good(catalogue_find_live(catalogue, span_make(names[i], sizes[i]), &live, &rig_err));
        assert_int_equal(live, 100 + i);
    }
    catalogue_close(catalogue);
}

static void files_that_are_done_are_known_by_session_and_identity(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    uint64_t sequence = 0;
    rig_begin(catalogue);
    put_done(catalogue, "b", 1);
    put_done(catalogue, "a", 3);
    put_done(catalogue, "a", 2);
    put_done(catalogue, "a", 3);
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    assert_true(is_done(catalogue, "a", 2, &sequence));
    assert_int_equal(sequence, 1002);
    assert_false(is_done(catalogue, "a", 1, &sequence));
    assert_false(is_done(catalogue, "c", 1, &sequence));
    assert_int_equal(sequence, 1002);
    seen[0] = '\0';
    assert_good(catalogue_dones(catalogue, each_done, NULL, &rig_err));
    assert_string_equal(seen, "a 03ee 1003, a 02ee 1002, b 01ee 1001, ");
    catalogue_close(catalogue);
}

static void the_oldest_of_too_many_files_are_forgotten(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    uint64_t sequence;
    rig_begin(catalogue);
    put_done(catalogue, "other", 1);
    for (uint64_t i = 1; i <= CATALOGUE_DONE_MAX + 2; i++) {
        put_done(catalogue, "a", i);
    }
    rig_commit(catalogue);
    assert_true(is_done(catalogue, "other", 1, &sequence));
    assert_false(is_done(catalogue, "a", 1, &sequence));
    assert_false(is_done(catalogue, "a", 2, &sequence));
    assert_true(is_done(catalogue, "a", 3, &sequence));
    assert_true(is_done(catalogue, "a", CATALOGUE_DONE_MAX + 2, &sequence));
    catalogue_close(catalogue);
}

static void gaps_are_set_and_removed_by_all_that_names_them(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    static const char *const names[5] = {"s", "o", "spool", "full", "events"};
    struct catalogue_gap gap = {.count = 3, .exact = true, .from = 1, .to = UINT64_MAX};
    struct span *const keys[5] = {&gap.session, &gap.output, &gap.stage, &gap.reason, &gap.unit};
    for (size_t i = 0; i < 5; i++) {
        *keys[i] = span_text(names[i]);
    }
    rig_begin(catalogue);
    assert_good(catalogue_put_gap(catalogue, &gap, &rig_err));
    gap.exact = false;
    gap.count = 9;
    for (size_t i = 0; i < 5; i++) { /* a different one each time */
        *keys[i] = span_text("z");
        assert_good(catalogue_put_gap(catalogue, &gap, &rig_err));
        *keys[i] = span_text(names[i]);
    }
    gap.count = 4;
    assert_good(catalogue_put_gap(catalogue, &gap, &rig_err));
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    seen[0] = '\0';
    assert_good(catalogue_gaps(catalogue, each_gap, NULL, &rig_err));
    assert_string_equal(seen, "s/o/spool/full/events 4 0 1 ffffffffffffffff, "
                              "s/o/spool/full/z 9 0 1 ffffffffffffffff, "
                              "s/o/spool/z/events 9 0 1 ffffffffffffffff, "
                              "s/o/z/full/events 9 0 1 ffffffffffffffff, "
                              "s/z/spool/full/events 9 0 1 ffffffffffffffff, "
                              "z/o/spool/full/events 9 0 1 ffffffffffffffff, ");
    rig_begin(catalogue);
    assert_good(catalogue_remove_gap(catalogue, &gap, &rig_err));
    assert_good(catalogue_remove_gap(catalogue, &gap, &rig_err));
    *keys[4] = span_text("z");
    assert_good(catalogue_remove_gap(catalogue, &gap, &rig_err));
    rig_commit(catalogue);
    seen[0] = '\0';
    assert_good(catalogue_gaps(catalogue, each_gap, NULL, &rig_err));
    assert_int_equal(strncmp(seen, "s/o/spool/z/events 9", 20), 0);
    catalogue_close(catalogue);
}

static void a_file_identity_of_another_size_is_damage(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct error err = {0};
    rig_begin(catalogue);
    put_done(catalogue, "a", 1);
    rig_commit(catalogue);
    assert_int_equal(
        sqlite3_exec(catalogue->db, "UPDATE done SET file_id = x'00'", NULL, NULL, NULL),
        SQLITE_OK);
    assert_false(catalogue_dones(catalogue, each_done, NULL, &err));
    assert_int_equal(err.code, ERR_DAMAGED);
    catalogue_close(catalogue);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_make_folder, rig_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(positions_are_kept_by_session_and_stream),
        TEST(a_session_has_a_state_and_a_live_time),
        TEST(names_may_have_any_bytes),
        TEST(files_that_are_done_are_known_by_session_and_identity),
        TEST(the_oldest_of_too_many_files_are_forgotten),
        TEST(gaps_are_set_and_removed_by_all_that_names_them),
        TEST(a_file_identity_of_another_size_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
