#include "store/catalogue/catalogue_batches.h"

#include <sqlite3.h>

#include "store/catalogue/catalogue_outputs.h"
#include "store/catalogue/catalogue_query.h"
#include "unit/store/catalogue_rig.h"

/* ---- streams and segments -------------------------------------------------------------------- */

static bool add_stream(void *self, const struct catalogue_stream *stream)
{
    char *text = self;
    size_t used = strlen(text);
    snprintf(text + used, 300 - used, "%llu %llx %.*s %.*s, ", (unsigned long long)stream->id,
        (unsigned long long)stream->hash, SPAN_ARG(stream->key), SPAN_ARG(stream->about));
    return stream->id != 2;
}

static void streams_come_by_id_and_may_change(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    char text[300] = "";
    rig_begin(catalogue);
    rig_put_stream(catalogue, 3);
    rig_put_stream(catalogue, 1);
    rig_put_stream(catalogue, 2);
    struct catalogue_stream changed = {
        .id = 1, .hash = UINT64_MAX, .key = span_text("other"), .about = span_text("")};
    assert_good(catalogue_put_stream(catalogue, &changed, &rig_err));
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    assert_good(catalogue_streams(catalogue, add_stream, text, &rig_err));
    assert_string_equal(text, "1 ffffffffffffffff other , 2 fffffffffffffffd key 2 about, ");
    catalogue_close(catalogue);
}

static void two_streams_with_one_key_are_refused(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct error err = {0};
    struct catalogue_stream second = {.id = 2, .key = span_text("key 1")};
    rig_begin(catalogue);
    rig_put_stream(catalogue, 1);
    assert_false(catalogue_put_stream(catalogue, &second, &err));
    assert_int_equal(err.code, ERR_DAMAGED);
    catalogue_close(catalogue);
}

static void a_stream_goes_when_nothing_names_it(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct error err = {0};
    char text[300] = "";
    rig_fill(catalogue, 2);
    rig_begin(catalogue);
    assert_false(catalogue_remove_stream(catalogue, 1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_non_null(strstr(err.text, "stream 1 is still in use"));
    rig_begin(catalogue);
    assert_good(catalogue_remove_batch(catalogue, 1, &rig_err));
    assert_good(catalogue_remove_stream(catalogue, 1, &rig_err));
    assert_good(catalogue_remove_stream(catalogue, 99, &rig_err));
    struct catalogue_output output = {.id = 1, .name = span_text("o")};
    struct catalogue_range range = {.output = 1, .ordinal = 1, .stream = 2, .last = UINT64_MAX};
    assert_good(catalogue_put_output(catalogue, &output, &rig_err));
    assert_good(catalogue_put_range(catalogue, &range, &rig_err));
    assert_good(catalogue_remove_batch(catalogue, 2, &rig_err));
    rig_commit(catalogue);
    assert_good(catalogue_streams(catalogue, add_stream, text, &rig_err));
    assert_string_equal(text, "2 fffffffffffffffd key 2 about, ");
    assert_int_equal(rig_info(catalogue).next.stream, 3);
    rig_begin(catalogue);
    assert_false(catalogue_remove_stream(catalogue, 2, &err));
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

static bool add_segment(void *self, const struct catalogue_segment *segment)
{
    char *text = self;
    size_t used = strlen(text);
    snprintf(text + used, 300 - used, "%llu %llu %d %llu %llu, ", (unsigned long long)segment->id,
        (unsigned long long)segment->bytes, (int)segment->state,
        (unsigned long long)segment->batches, (unsigned long long)segment->batch_bytes);
    return true;
}

static const char *segments_of(struct catalogue *catalogue)
{
    static char text[300];
    text[0] = '\0';
    assert_good(catalogue_segments(catalogue, add_segment, text, &rig_err));
    return text;
}

static void segments_know_what_lies_in_them(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct error err = {0};
    rig_fill(catalogue, 4);
    assert_string_equal(
        segments_of(catalogue), "1 1099511627776 0 2 203, 2 1099511627776 0 2 207, ");
    rig_begin(catalogue);
    struct catalogue_segment segment = {
        .id = 1, .bytes = 5, .state = CATALOGUE_SEGMENT_DELETING, .batches = 99};
    assert_good(catalogue_put_segment(catalogue, &segment, &rig_err));
    assert_good(catalogue_remove_batch(catalogue, 3, &rig_err));
    assert_good(catalogue_remove_batch(catalogue, 3, &rig_err));
    rig_commit(catalogue);
    assert_string_equal(segments_of(catalogue), "1 5 1 2 203, 2 1099511627776 0 1 104, ");
    rig_begin(catalogue);
    assert_false(catalogue_remove_segment(catalogue, 1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    rig_begin(catalogue);
    assert_good(catalogue_remove_batch(catalogue, 4, &rig_err));
    assert_good(catalogue_remove_segment(catalogue, 2, &rig_err));
    assert_good(catalogue_remove_segment(catalogue, 2, &rig_err));
    rig_commit(catalogue);
    assert_string_equal(segments_of(catalogue), "1 5 1 2 203, ");
    catalogue_close(catalogue);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void assert_same(const struct catalogue_batch *a, const struct catalogue_batch *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->stream, b->stream);
    assert_int_equal(a->segment, b->segment);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->raw_bytes, b->raw_bytes);
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(a->first_record, b->first_record);
    assert_int_equal(a->records, b->records);
    assert_int_equal(a->first_time, b->first_time);
    assert_int_equal(a->last_time, b->last_time);
    assert_int_equal(a->entered, b->entered);
}

static void a_batch_is_found_as_it_was_put(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    rig_fill(catalogue, 3);
    catalogue = rig_reopen(catalogue);
    struct catalogue_batch found = {.id = 77};
    struct catalogue_batch expected = rig_batch(3, 1, 2);
    bool is_there = false;
    assert_good(catalogue_find_batch(catalogue, 3, &found, &is_there, &rig_err));
    assert_true(is_there);
    assert_same(&found, &expected);
    static const uint64_t others[] = {0, 4, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        found.id = 77;
        assert_good(catalogue_find_batch(catalogue, others[i], &found, &is_there, &rig_err));
        assert_false(is_there);
        assert_int_equal(found.id, 77);
    }
    catalogue_close(catalogue);
}

static void batches_come_in_order_between_two_ids(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    rig_fill(catalogue, 10);
    static const struct {
        uint64_t stream;
        uint64_t after;
        uint64_t last;
        size_t max;
        const char *ids;
    } cases[] = {
        {0, 0, UINT64_MAX, 100, "1 2 3 4 5 6 7 8 9 10"},
        {1, 0, UINT64_MAX, 100, "1 3 5 7 9"},
        {2, 0, UINT64_MAX, 100, "2 4 6 8 10"},
        {1, 3, UINT64_MAX, 2, "5 7"},
        {1, 4, 8, 100, "5 7"},
        {2, 4, 8, 100, "6 8"},
        {0, 4, 8, 3, "5 6 7"},
        {0, 8, 4, 100, ""},
        {1, 9, UINT64_MAX, 100, ""},
        {1, UINT64_MAX, UINT64_MAX, 100, ""},
        {3, 0, UINT64_MAX, 100, ""},
        {1, 0, UINT64_MAX, 0, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(
            rig_ids(catalogue, cases[i].stream, cases[i].after, cases[i].last, cases[i].max),
            cases[i].ids);
    }
    catalogue_close(catalogue);
}

static void a_batch_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_batch good = rig_batch(5, 1, 1);
    struct catalogue_batch wrong[9];
    static const enum error_code codes[9] = {ERR_LIMIT, ERR_LIMIT, ERR_LIMIT, ERR_LIMIT, ERR_LIMIT,
        ERR_DAMAGED, ERR_DAMAGED, ERR_DAMAGED, ERR_LIMIT};
    for (size_t i = 0; i < 9; i++) {
        wrong[i] = good;
    }
    wrong[0].id = 0;
    wrong[1].id = UINT64_C(1) << 62;
    wrong[2].first_record = UINT64_MAX;
    wrong[3].bytes = UINT64_C(1) << 62;
    wrong[4].offset = UINT64_C(1) << 63;
    wrong[5].stream = 3;
    wrong[6].segment = 3;
    wrong[7].id = 4;
    wrong[8].raw_bytes = (UINT64_C(1) << 40) + 1;
    rig_fill(catalogue, 4);
    for (size_t i = 0; i < 9; i++) {
        struct error err = {0};
        rig_begin(catalogue);
        assert_false(catalogue_put_batch(catalogue, &wrong[i], &err));
        assert_int_equal(err.code, codes[i]);
        assert_false(catalogue_is_open(catalogue));
    }
    rig_begin(catalogue);
    assert_good(catalogue_put_batch(catalogue, &good, &rig_err));
    rig_commit(catalogue);
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

static void the_largest_numbers_are_kept(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    uint64_t large = (UINT64_C(1) << 62) - 1;
    struct catalogue_batch batch = rig_batch(large, 1, 1);
    struct catalogue_batch found;
    bool is_there;
    batch.offset = large;
    batch.bytes = UINT64_C(1) << 40;
    batch.raw_bytes = batch.bytes;
    batch.first_record = large;
    batch.records = UINT32_MAX;
    rig_fill(catalogue, 0);
    rig_begin(catalogue);
    assert_good(catalogue_put_batch(catalogue, &batch, &rig_err));
    rig_commit(catalogue);
    assert_good(catalogue_find_batch(catalogue, large, &found, &is_there, &rig_err));
    assert_same(&found, &batch);
    assert_int_equal(rig_info(catalogue).next.batch, large + 1);
    assert_int_equal(rig_info(catalogue).next.record, large + UINT32_MAX);
    catalogue_close(catalogue);
}

static void old_batches_go_in_bounded_steps(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    size_t removed = 0;
    rig_fill(catalogue, 10);
    rig_begin(catalogue);
    assert_good(catalogue_remove_batches(catalogue, 1, 7, 3, &removed, &rig_err));
    assert_int_equal(removed, 3);
    assert_string_equal(rig_ids(catalogue, 0, 0, UINT64_MAX, 100), "2 4 6 7 8 9 10");
    assert_good(catalogue_remove_batches(catalogue, 1, 7, 3, &removed, &rig_err));
    assert_int_equal(removed, 1);
    assert_good(catalogue_remove_batches(catalogue, 1, 7, 3, &removed, &rig_err));
    assert_int_equal(removed, 0);
    assert_good(catalogue_remove_batches(catalogue, 2, UINT64_MAX, 2, &removed, &rig_err));
    assert_int_equal(removed, 2);
    rig_commit(catalogue);
    assert_string_equal(rig_ids(catalogue, 0, 0, UINT64_MAX, 100), "6 8 9 10");
    assert_string_equal(segments_of(catalogue), "1 1099511627776 0 0 0, 2 1099511627776 0 4 433, ");
    assert_int_equal(rig_info(catalogue).batches, 4);
    assert_int_equal(rig_info(catalogue).batch_bytes, 433);
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

static void a_number_is_given_once_even_if_its_batch_is_gone(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    size_t removed;
    rig_fill(catalogue, 4);
    rig_begin(catalogue);
    assert_good(catalogue_remove_batches(catalogue, 1, UINT64_MAX, 100, &removed, &rig_err));
    assert_good(catalogue_remove_batches(catalogue, 2, UINT64_MAX, 100, &removed, &rig_err));
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    assert_int_equal(rig_info(catalogue).batches, 0);
    assert_int_equal(rig_info(catalogue).next.batch, 5);
    assert_int_equal(rig_info(catalogue).next.record, 51);
    catalogue_close(catalogue);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void sums_are_those_of_the_batches_between_two_ids(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    size_t removed;
    rig_fill(catalogue, 40);
    for (int round = 0; round < 2; round++) {
        for (uint64_t after = 0; after <= 41; after++) {
            for (uint64_t last = 0; last <= 42; last++) {
                struct catalogue_batch batches[100];
                struct catalogue_sum sum;
                struct catalogue_sum expected = {0};
                size_t count;
                uint64_t end = last == 42 ? UINT64_MAX : last;
                assert_good(catalogue_next_batches(
                    catalogue, 1, after, end, batches, 100, &count, &rig_err));
                for (size_t i = 0; i < count; i++) {
                    expected.batches++;
                    expected.records += batches[i].records;
                    expected.bytes += batches[i].bytes;
                }
                assert_good(catalogue_sum_batches(catalogue, 1, after, end, &sum, &rig_err));
                assert_memory_equal(&sum, &expected, sizeof(sum));
            }
        }
        rig_begin(catalogue); /* and also when the oldest are gone */
        assert_good(catalogue_remove_batches(catalogue, 1, 9, 100, &removed, &rig_err));
        rig_commit(catalogue);
    }
    catalogue_close(catalogue);
}

static void a_hole_is_counted_until_those_before_it_are_gone(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_sum sum;
    size_t removed;
    rig_fill(catalogue, 10);
    rig_begin(catalogue);
    assert_good(catalogue_remove_batch(catalogue, 3, &rig_err));
    assert_good(catalogue_sum_batches(catalogue, 1, 0, UINT64_MAX, &sum, &rig_err));
    assert_int_equal(sum.batches, 5);
    assert_good(catalogue_remove_batches(catalogue, 1, 1, 100, &removed, &rig_err));
    assert_good(catalogue_sum_batches(catalogue, 1, 0, UINT64_MAX, &sum, &rig_err));
    assert_int_equal(sum.batches, 3);
    assert_int_equal(sum.records, 30);
    rig_commit(catalogue);
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

static void a_stream_that_is_not_there_has_nothing(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_sum sum = {1, 1, 1};
    assert_good(catalogue_sum_batches(catalogue, 5, 0, UINT64_MAX, &sum, &rig_err));
    assert_int_equal(sum.batches + sum.records + sum.bytes, 0);
    catalogue_close(catalogue);
}

/* ---- cost ------------------------------------------------------------------------------------ */

struct cost {
    uint64_t steps; /* of SQLite's machine */
    uint64_t pages; /* read */
};

static int count_step(void *self)
{
    ++*(uint64_t *)self;
    return 0;
}

static uint64_t pages_looked_at(struct catalogue *catalogue)
{
    int hits = 0;
    int misses = 0;
    int ignored;
    sqlite3_db_status(catalogue->db, SQLITE_DBSTATUS_CACHE_HIT, &hits, &ignored, 0);
    sqlite3_db_status(catalogue->db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &ignored, 0);
    return (uint64_t)hits + (uint64_t)misses;
}

/* The queries of an agent when it starts and while it runs. */
static struct cost cost_of_a_start(uint64_t batches)
{
    struct cost cost = {0};
    struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
    struct catalogue_batch next[10];
    struct catalogue_sum sum;
    size_t count;
    bool is_there;
    sqlite3_progress_handler(catalogue->db, 1, count_step, &cost.steps);
    rig_info(catalogue);
    segments_of(catalogue);
    assert_good(catalogue_next_batches(catalogue, 0, 0, UINT64_MAX, next, 10, &count, &rig_err));
    assert_good(
        catalogue_next_batches(catalogue, 1, batches / 2, UINT64_MAX, next, 10, &count, &rig_err));
    assert_int_equal(count, 10);
    assert_good(catalogue_find_batch(catalogue, batches, next, &is_there, &rig_err));
    assert_true(is_there);
    assert_good(catalogue_sum_batches(catalogue, 1, batches / 3, UINT64_MAX, &sum, &rig_err));
    assert_true(sum.batches > 3);
    rig_begin(catalogue);
    assert_good(catalogue_remove_batches(catalogue, 2, UINT64_MAX, 10, &count, &rig_err));
    assert_int_equal(count, 10);
    rig_put_batch(catalogue, batches + 1, 1, 2);
    catalogue_rollback(catalogue);
    cost.pages = pages_looked_at(catalogue);
    sqlite3_progress_handler(catalogue->db, 0, NULL, NULL);
    catalogue_close(catalogue);
    return cost;
}

static void add_rows(uint64_t from, uint64_t to)
{
    struct catalogue *catalogue = rig_open(CATALOGUE_WRITE);
    rig_begin(catalogue);
    for (uint64_t id = from; id <= to; id++) {
        rig_put_batch(catalogue, id, 2 - id % 2, id <= 100 ? 1 : 2);
    }
    rig_commit(catalogue);
    catalogue_close(catalogue);
}

static void what_a_start_costs_does_not_depend_on_how_much_waits(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    enum { MANY = 100000 };
    rig_fill(catalogue, 0);
    catalogue_close(catalogue);
    add_rows(1, 1000);
    struct cost few = cost_of_a_start(1000);
    add_rows(1001, MANY);
    struct cost many = cost_of_a_start(MANY);
    assert_true(few.steps > 100);
    assert_int_equal(few.steps, many.steps);
    /* A tree over a hundred times as many rows is a page or two deeper. */
    assert_in_range(many.pages, few.pages, 2 * few.pages);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_make_folder, rig_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(streams_come_by_id_and_may_change),
        TEST(two_streams_with_one_key_are_refused),
        TEST(a_stream_goes_when_nothing_names_it),
        TEST(segments_know_what_lies_in_them),
        TEST(a_batch_is_found_as_it_was_put),
        TEST(batches_come_in_order_between_two_ids),
        TEST(a_batch_that_does_not_fit_is_refused),
        TEST(the_largest_numbers_are_kept),
        TEST(old_batches_go_in_bounded_steps),
        TEST(a_number_is_given_once_even_if_its_batch_is_gone),
        TEST(sums_are_those_of_the_batches_between_two_ids),
        TEST(a_hole_is_counted_until_those_before_it_are_gone),
        TEST(a_stream_that_is_not_there_has_nothing),
        TEST(what_a_start_costs_does_not_depend_on_how_much_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
