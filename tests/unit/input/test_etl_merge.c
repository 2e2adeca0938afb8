#include "input/etl/etl_merge.h"

#include "support/test.h"
#include "unit/input/trace_bytes.h"

/* The order of records, over processors, buffers and files in memory. */

enum { MAX_FILES = 100, MAX_RECORDS = 1000 };

static struct trace traces[MAX_FILES];
static uint16_t ids[MAX_RECORDS];
static uint16_t cpus[MAX_RECORDS];
static size_t count;
static size_t ends[MAX_FILES]; /* records given before the end of each file */

/* The first pass leaves out records of level 1 and 2, for that reason. NULL: it leaves out
 * nothing. */
static bool by_level(void *self, const struct event_record *record, uint8_t *ret_reason)
{
    (void)self;
    *ret_reason = record->descriptor.level;
    return record->descriptor.level == 1 || record->descriptor.level == 2;
}

static bool (*leaves_out)(void *self, const struct event_record *record, uint8_t *ret_reason);
static struct etl_merge_left_out left_out[4]; /* steps that counted some */
static size_t left_out_before[4];             /* records before each */
static size_t left_out_count;

static void take_left_out(const struct etl_merge *merge)
{
    assert_true(left_out_count < 4);
    left_out_before[left_out_count] = count;
    left_out[left_out_count++] = *etl_merge_left_out(merge);
}

static bool take_any(void *self, const struct event_record *record)
{
    (void)self;
    (void)record;
    return true;
}

/* Merge the first ${files} traces into ids, headers left out. */
static void merge(size_t files)
{
    size_t budget = 1 << 20;
    const struct etl_visitor visitor = {.record = take_any, .leaves_out = leaves_out};
    static struct etl_file *open[MAX_FILES];
    struct arena arena;
    struct error err;
    arena_init(&arena, 1 << 24);
    for (size_t i = 0; i < files; i++) {
        struct span bytes = span_make(traces[i].bytes, traces[i].size);
        open[i] = etl_file_open_memory(bytes, "mem.etl", &arena, &err);
        assert_non_null(open[i]);
        etl_left_out_init(&open[i]->left_out, &budget);
        assert_true(etl_file_index(open[i], &visitor, &err));
        ends[i] = SIZE_MAX;
    }
    struct etl_merge *merge = etl_merge_create(open, files, &err);
    assert_non_null(merge);
    count = 0;
    left_out_count = 0;
    enum etl_merge_step step;
    const struct event_record *record;
    size_t file;
    while ((step = etl_merge_next(merge, &record, &file, &err)) != ETL_MERGE_END) {
        assert_int_not_equal(step, ETL_MERGE_FAILED);
        if (step == ETL_MERGE_FILE_END) {
            assert_true(ends[file] == SIZE_MAX);
            ends[file] = count;
        } else if (step == ETL_MERGE_LEFT_OUT) {
            take_left_out(merge);
        } else if (record->kind == RECORD_EVENT) {
            assert_true(count < MAX_RECORDS);
            cpus[count] = record->cpu;
            ids[count++] = record->descriptor.id;
        }
    }
    for (size_t i = 0; i < files; i++) {
        assert_true(ends[i] != SIZE_MAX);
    }
    etl_merge_destroy(merge);
    for (size_t i = 0; i < files; i++) {
        etl_file_destroy(open[i]);
    }
    assert_int_equal(budget, 1 << 20);
    arena_fini(&arena);
}

static struct trace *begin(size_t index, struct trace_options options)
{
    memset(&traces[index], 0, sizeof(traces[index]));
    trace_header(&traces[index], options);
    return &traces[index];
}

static void assert_order(const uint16_t *expected, size_t expected_count)
{
    assert_int_equal(count, expected_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ids[i], expected[i]);
    }
}

#define ORDER(...)                                \
    assert_order((const uint16_t[]){__VA_ARGS__}, \
        sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

static void processors_are_interleaved_by_time(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){0});
    trace_buffer(t, 0, 1, 2000, 10, 1, 3); /* 2000 2010 2020 */
    trace_buffer(t, 1, 2, 2005, 10, 11, 3);
    trace_buffer(t, 2, 3, 2001, 1, 21, 3);
    merge(1);
    ORDER(1, 21, 22, 23, 11, 2, 12, 3, 13);
    assert_int_equal(cpus[1], 2);
}

static void buffers_of_a_processor_go_by_sequence_not_by_place(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){.mode = 2});
    trace_buffer(t, 0, 9, 4000, 1, 31, 2); /* circular: the newest overwrote the oldest */
    trace_buffer(t, 0, 7, 2000, 1, 11, 2);
    trace_buffer(t, 0, 8, 3000, 1, 21, 2);
    merge(1);
    ORDER(11, 12, 21, 22, 31, 32);
}

static void one_processor_is_never_reordered(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){.clock = 2, .start_raw = 1000});
    trace_begin(t, 0, 1);
    trace_record(t, 5000, 1);
    trace_record(t, 3000, 2); /* the clock was set back */
    trace_record(t, 6000, 3);
    trace_buffer(t, 1, 2, 4000, 1500, 11, 2);
    merge(1);
    ORDER(11, 1, 2, 12, 3);
}

static void ties_go_by_file_then_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct trace *t = begin(i, (struct trace_options){0});
        uint16_t base = (uint16_t)(100 * i);
        trace_buffer(t, 5, 1, 2000, 0, (uint16_t)(base + 1), 2);
        trace_buffer(t, 0, 2, 2000, 0, (uint16_t)(base + 11), 2);
    }
    merge(2);
    ORDER(1, 2, 11, 12, 101, 102, 111, 112);
}

static void files_with_different_clocks_meet_in_utc(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){0});
    trace_buffer(t, 0, 1, 1000 + 5000, 10000, 1, 2); /* start + 0.5 ms, + 1.5 ms */
    t = begin(1, (struct trace_options){.frequency = 1000, .start_raw = 7});
    trace_buffer(t, 0, 1, 7, 1, 11, 3); /* start + 0, + 1, + 2 ms */
    merge(2);
    ORDER(11, 1, 12, 2, 13);
}

static void appended_sessions_follow_each_other(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){0});
    trace_buffer(t, 0, 5, 2000, 1, 1, 2);
    trace_header(t, (struct trace_options){.start_time = trace_start_time + 100000000});
    trace_buffer(t, 0, 1, 2000, 1, 11, 2); /* sequence numbers start anew */
    merge(1);
    ORDER(1, 2, 11, 12);
}

static void damage_leaves_out_the_rest_of_a_buffer_only(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){0});
    trace_buffer(t, 0, 1, 2000, 10, 1, 3);
    t->bytes[t->buffer + 0x48 + 0x58 + 3] = 0; /* the second record */
    trace_buffer(t, 0, 2, 3000, 10, 11, 2);
    merge(1);
    ORDER(1, 11, 12);
}

static void buffers_without_records_are_passed_over(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){0});
    trace_buffer(t, 0, 1, 2000, 10, 0, 0);
    trace_buffer(t, 0, 2, 2000, 10, 1, 1);
    trace_buffer(t, 1, 3, 2000, 10, 0, 0);
    merge(1);
    ORDER(1);
    assert_int_equal(ends[0], 1);
}

static void hundreds_of_chains_keep_one_order(void **state)
{
    (void)state;
    /* More chains than the merge keeps windows for while they wait; files overlap like bricks. */
    for (size_t i = 0; i < MAX_FILES; i++) {
        struct trace *t = begin(i, (struct trace_options){0});
        trace_buffer(t, 0, 1, (int64_t)(2000 + i * 4), 4, (uint16_t)(i * 4), 2);
        trace_buffer(t, 1, 2, (int64_t)(2001 + i * 4), 4, (uint16_t)(i * 4 + 1), 2);
    }
    merge(MAX_FILES);
    assert_int_equal(count, MAX_FILES * 4);
    /* Times: 2000+4i (ids 4i, 4(i-1)+1), 2001+4i (ids 4i+1, 4(i-1)+2); the earlier file first. */
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 1);
    for (size_t i = 1; i < MAX_FILES; i++) {
        const uint16_t *at = ids + 2 + (i - 1) * 4;
        assert_int_equal(at[0], (i - 1) * 4 + 1);
        assert_int_equal(at[1], i * 4);
        assert_int_equal(at[2], (i - 1) * 4 + 2);
        assert_int_equal(at[3], i * 4 + 1);
    }
}

/* Records of ${level}, in a buffer of their own; trace_bytes.h leaves levels at 0. */
static void buffer_of_level(
    struct trace *t, uint8_t cpu, uint64_t sequence, int64_t time, uint8_t level, uint16_t records)
{
    trace_buffer(t, cpu, sequence, time, 10, 100, records);
    for (size_t i = 0; i < records; i++) {
        t->bytes[t->buffer + 0x48 + i * 0x58 + 0x2c] = level;
    }
}

static void records_that_are_left_out_are_counted_in_their_places(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){0});
    buffer_of_level(t, 0, 1, 2000, 1, 3);  /* 2000 2010 2020 */
    buffer_of_level(t, 1, 2, 2001, 2, 4);  /* 2001 2011 2021 2031 */
    trace_buffer(t, 2, 3, 2012, 10, 1, 2); /* 2012 2022 */
    trace_buffer(t, 0, 4, 2025, 1, 3, 1);
    leaves_out = by_level;
    merge(1);
    leaves_out = NULL;
    ORDER(1, 2, 3);
    assert_int_equal(left_out_count, 3);
    static const struct {
        size_t before;
        uint64_t counts[3];
        int64_t newest;
    } expected[] = {{0, {0, 2, 2}, 2011}, {1, {0, 1, 1}, 2021}, {3, {0, 0, 1}, 2031}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(left_out_before[i], expected[i].before);
        assert_memory_equal(left_out[i].counts, expected[i].counts, sizeof(expected[i].counts));
        assert_int_equal(left_out[i].total, expected[i].counts[1] + expected[i].counts[2]);
        assert_int_equal(left_out[i].newest,
            trace_start_time + (uint64_t)(expected[i].newest - TRACE_START_RAW));
    }
}

static void records_of_many_processors_are_counted_in_their_places(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){0});
    for (uint8_t i = 0; i < 12; i++) {
        buffer_of_level(t, i, i + 1u, 2000 + i, 1, 2); /* 2000+i 2010+i */
    }
    trace_buffer(t, 12, 13, 2012, 20, 1, 2); /* 2012 2032 */
    leaves_out = by_level;
    merge(1);
    leaves_out = NULL;
    ORDER(1, 2);
    assert_int_equal(left_out_count, 2);
    assert_int_equal(left_out[0].total, 15); /* one of 2012, too: its buffer comes first */
    assert_int_equal(left_out[1].total, 9);
    assert_int_equal(left_out_before[1], 1);
}

static void a_buffer_with_a_record_that_is_wanted_is_read(void **state)
{
    (void)state;
    struct trace *t = begin(0, (struct trace_options){0});
    buffer_of_level(t, 0, 1, 2000, 1, 3);
    t->bytes[t->buffer + 0x48 + 2 * 0x58 + 0x2c] = 4; /* the last one */
    leaves_out = by_level;
    merge(1);
    leaves_out = NULL;
    ORDER(100, 101, 102);
    assert_int_equal(left_out_count, 0);
}

static void a_file_ends_behind_what_is_left_out_of_it(void **state)
{
    (void)state;
    buffer_of_level(begin(0, (struct trace_options){0}), 0, 1, 2000, 1, 2);
    struct trace *t = begin(1, (struct trace_options){0});
    trace_buffer(t, 0, 1, 2005, 1, 1, 1);
    buffer_of_level(t, 0, 2, 3000, 1, 1);
    leaves_out = by_level;
    merge(2);
    leaves_out = NULL;
    ORDER(1);
    assert_int_equal(left_out_count, 3);
    assert_int_equal(ends[0], 1);
    assert_int_equal(ends[1], 1);
    assert_int_equal(left_out_before[1], 1); /* 2010 of the first file */
    assert_int_equal(left_out[1].total, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processors_are_interleaved_by_time),
        cmocka_unit_test(buffers_of_a_processor_go_by_sequence_not_by_place),
        cmocka_unit_test(one_processor_is_never_reordered),
        cmocka_unit_test(ties_go_by_file_then_place),
        cmocka_unit_test(files_with_different_clocks_meet_in_utc),
        cmocka_unit_test(appended_sessions_follow_each_other),
        cmocka_unit_test(damage_leaves_out_the_rest_of_a_buffer_only),
        cmocka_unit_test(buffers_without_records_are_passed_over),
        cmocka_unit_test(hundreds_of_chains_keep_one_order),
        cmocka_unit_test(records_that_are_left_out_are_counted_in_their_places),
        cmocka_unit_test(records_of_many_processors_are_counted_in_their_places),
        cmocka_unit_test(a_buffer_with_a_record_that_is_wanted_is_read),
        cmocka_unit_test(a_file_ends_behind_what_is_left_out_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
