#include "support/etl_encode.h"
#include "support/input_follow_rig.h"

/* Numbers of messages in a growing trace: the input reports missing ones when a flush proves that
 * they are missing. */
enum { LOCAL = 0x8000, MAX_GAPS = 16 };

static struct growing trace;
static struct gap gaps[MAX_GAPS];
static size_t gap_records[MAX_GAPS]; /* how many records had come before each */
static size_t gap_count;

static void on_gap(void *self, const struct gap *gap)
{
    (void)self;
    plat_mutex_lock(&run.mutex);
    assert_true(gap_count < MAX_GAPS);
    gaps[gap_count] = *gap;
    gap_records[gap_count++] = run.seen.count;
    plat_cond_broadcast(&run.changed);
    plat_mutex_unlock(&run.mutex);
}

static void put(uint16_t cpu, uint32_t number)
{
    struct buf record;
    buf_init(&record, 1024);
    const struct etl_message message = {.number = 10,
        .flags = ETL_MESSAGE_SEQUENCE | ETL_MESSAGE_TIMESTAMP,
        .sequence = number,
        .time = trace.start_raw + 1000 + number};
    etl_encode_message(&record, &message, span_text("value"));
    assert_true(etl_writer_put(trace.writer, cpu, message.time, buf_span(&record), NULL));
    buf_fini(&record);
}

/* The numbers of three flushes, each of two processors; 4, 11 and 12, and 16 are missing. */
static size_t writes_at[4]; /* the writes done up to each of them, and in all */

static void make_trace(uint32_t mode)
{
    static const uint32_t numbers[][6] = {{1, 2, 3, 5, 6, 7}, {8, 9, 10, 13, 14}, {15, 17, 18}};
    growing_init(&trace, &(struct etl_options){.buffer_size = 1024,
                             .processors = 2,
                             .log_file_mode = mode,
                             .start_time = UINT64_C(134397270000000000)});
    for (size_t flush = 0; flush < 3; flush++) {
        for (size_t i = 0; i < 6 && numbers[flush][i]; i++) {
            put(numbers[flush][i] % 2, numbers[flush][i]);
        }
        growing_flush(&trace);
        writes_at[flush] = trace.write_count;
    }
    growing_close(&trace);
    writes_at[3] = trace.write_count;
}

static void write_up_to(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        growing_write(&trace, i, paths[0]);
    }
}

static void run_thread(void *self)
{
    struct input_sink with_gaps = sink;
    (void)self;
    with_gaps.gap = on_gap;
    run.end = input_file.run(run.input, &with_gaps, &err);
}

static void wait_for(const size_t *what, size_t count)
{
    plat_mutex_lock(&run.mutex);
    while (*what < count) {
        plat_cond_wait(&run.changed, &run.mutex);
    }
    plat_mutex_unlock(&run.mutex);
}

static void missing_numbers_are_told_while_the_trace_grows(void **state)
{
    (void)state;
    gap_count = 0;
    make_trace(LOCAL);
    make(MILLISECOND);
    struct plat_thread *thread = plat_thread_start("input", run_thread, NULL, &err);
    assert_non_null(thread);
    write_up_to(0, writes_at[0]);
    wait_for(&run.seen.count, 1 + 6); /* the header is a record, too */
    assert_int_equal(gap_count, 0);   /* 4 may still lie in a buffer */
    write_up_to(writes_at[0], writes_at[1]);
    wait_for(&gap_count, 1);
    assert_int_equal(gaps[0].count, 1);
    assert_int_equal(gap_records[0], 1 + 6 + 5);
    write_up_to(writes_at[1], writes_at[2]);
    wait_for(&gap_count, 2);
    assert_int_equal(gaps[1].count, 2);
    write_up_to(writes_at[2], writes_at[3]);
    wait_for(&run.ends, 1);
    input_file.stop(run.input);
    plat_thread_join(thread);
    input_file.destroy(run.input);
    assert_int_equal(gap_count, 3); /* the end proves that these are missing */
    assert_int_equal(gaps[2].count, 1);
    for (size_t i = 0; i < gap_count; i++) {
        assert_string_equal(gaps[i].stage, "etw");
        assert_string_equal(gaps[i].reason, "message_numbers");
        assert_string_equal(gaps[i].unit, "events");
        assert_true(gaps[i].exact);
        assert_true(gaps[i].from <= gaps[i].to);
    }
    growing_fini(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(missing_numbers_are_told_while_the_trace_grows, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
