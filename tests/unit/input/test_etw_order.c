#include "input/windows/etw_order.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "input/record/etl_format.h"
#include "support/test.h"

/* Buffers byte by byte, as in test_etw_raw.c. The ids of their events say when the events were
 * made. */
enum { MAX_EVENTS = 64, EVENT_BYTES = ETL_EVENT_HEADER_SIZE };

struct rig {
    struct etw_order *order;
    struct etw_trace trace;
    uint16_t ids[MAX_EVENTS];
    size_t count;
    size_t enough; /* 0: never */
    size_t problems;
};

static bool take(void *self, const struct event_record *record)
{
    struct rig *rig = self;
    assert_true(rig->count < MAX_EVENTS);
    assert_int_equal(record->time, record->descriptor.id);
    rig->ids[rig->count++] = record->descriptor.id;
    return rig->count != rig->enough;
}

static void note_problem(void *self, const char *what)
{
    struct rig *rig = self;
    assert_non_null(what);
    rig->problems++;
}

static void setup(struct rig *rig, size_t max_bytes)
{
    static const struct etw_logfile_header header = {
        .reserved_flags = 2 /* system time */, .perf_freq = 10000000, .start_time = 1};
    *rig = (struct rig){.count = 0};
    etw_trace_init(&rig->trace, "s", &header);
    const struct etw_order_settings settings = {
        .max_bytes = max_bytes, .self = rig, .record = take, .problem = note_problem};
    rig->order = etw_order_create(&settings, NULL);
    assert_non_null(rig->order);
}

/* A buffer of ${cpu} with events made at these times; 0 ends the list. */
static void add(struct rig *rig, uint16_t cpu, const uint16_t *times)
{
    uint8_t buffer[ETL_BUFFER_HEADER_SIZE + MAX_EVENTS * EVENT_BYTES] = {0};
    size_t at = ETL_BUFFER_HEADER_SIZE;
    for (; *times; times++) {
        uint8_t *event = buffer + at;
        store_le16(event, EVENT_BYTES);
        event[2] = ETL_EVENT_HEADER64;
        event[3] = 0xc0;
        store_le64(event + 0x10, *times);
        store_le16(event + 0x28, *times);
        at += EVENT_BYTES;
    }
    store_le32(buffer + ETL_BUFFER_SIZE, sizeof(buffer));
    store_le32(buffer + ETL_BUFFER_OFFSET, (uint32_t)at);
    store_le16(buffer + ETL_BUFFER_CPU, cpu);
    etw_order_add(rig->order, span_make(buffer, sizeof(buffer)), &rig->trace);
}

#define TIMES(...) ((const uint16_t[]){__VA_ARGS__, 0})

static void expect(const struct rig *rig, const uint16_t *times)
{
    size_t count = 0;
    for (; times[count]; count++) {
        assert_true(count < rig->count);
        assert_int_equal(rig->ids[count], times[count]);
    }
    assert_int_equal(rig->count, count);
}

static void records_of_all_processors_come_in_one_order_of_time(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, 1 << 20);
    add(&rig, 1, TIMES(20, 50, 60));
    add(&rig, 0, TIMES(10, 30, 40));
    add(&rig, 7, TIMES(5, 70));
    add(&rig, 0, TIMES(65, 66));
    assert_int_equal(rig.count, 0);
    etw_order_give(rig.order, UINT64_MAX);
    expect(&rig, TIMES(5, 10, 20, 30, 40, 50, 60, 65, 66, 70));
    assert_int_equal(etw_order_late(rig.order), 0);
    assert_true(etw_order_is_empty(rig.order));
    etw_order_destroy(rig.order);
}

static void what_is_younger_than_the_mark_waits(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, 1 << 20);
    add(&rig, 0, TIMES(10, 20, 30));
    add(&rig, 1, TIMES(15, 25));
    etw_order_give(rig.order, 9);
    assert_int_equal(rig.count, 0);
    etw_order_give(rig.order, 20);
    expect(&rig, TIMES(10, 15, 20));
    add(&rig, 2, TIMES(21, 29));
    etw_order_give(rig.order, 25);
    expect(&rig, TIMES(10, 15, 20, 21, 25));
    etw_order_give(rig.order, 30);
    expect(&rig, TIMES(10, 15, 20, 21, 25, 29, 30));
    etw_order_destroy(rig.order);
}

static void what_comes_late_passes_at_once_and_is_counted(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, 1 << 20);
    add(&rig, 0, TIMES(10, 40));
    etw_order_give(rig.order, 40);
    add(&rig, 1, TIMES(20, 30, 50));
    etw_order_give(rig.order, 40);
    expect(&rig, TIMES(10, 40, 20, 30));
    assert_int_equal(etw_order_late(rig.order), 2);
    etw_order_destroy(rig.order); /* with one record still held */
}

static void one_processor_keeps_the_order_that_it_wrote_in(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, 1 << 20);
    add(&rig, 0, TIMES(20, 10)); /* the processor's clock was set back */
    add(&rig, 1, TIMES(15));
    etw_order_give(rig.order, UINT64_MAX);
    expect(&rig, TIMES(15, 20, 10));
    etw_order_destroy(rig.order);
}

static void with_too_much_held_the_oldest_goes_early(void **state)
{
    (void)state;
    struct rig rig;
    enum { TWO = ETL_BUFFER_HEADER_SIZE + 2 * EVENT_BYTES };
    setup(&rig, 2 * TWO);
    add(&rig, 0, TIMES(10, 30));
    add(&rig, 1, TIMES(20, 40));
    etw_order_give(rig.order, 0);
    assert_int_equal(rig.count, 0);
    add(&rig, 2, TIMES(25, 50));
    etw_order_give(rig.order, 0);
    expect(&rig, TIMES(10, 20, 25, 30)); /* until a whole buffer has been given */
    etw_order_destroy(rig.order);
}

static void a_sink_that_has_enough_gets_no_more(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, 1 << 20);
    rig.enough = 2;
    add(&rig, 0, TIMES(10, 20, 30));
    etw_order_give(rig.order, UINT64_MAX);
    etw_order_give(rig.order, UINT64_MAX);
    expect(&rig, TIMES(10, 20));
    etw_order_destroy(rig.order);
}

static void a_buffer_that_makes_no_sense_is_told_and_holds_nothing_up(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, 1 << 20);
    etw_order_add(rig.order, span_text("no buffer at all"), &rig.trace);
    assert_int_equal(rig.problems, 1);
    uint8_t buffer[ETL_BUFFER_HEADER_SIZE + 16] = {0};
    buffer[ETL_BUFFER_HEADER_SIZE + 3] = 0x10; /* no record begins so */
    store_le32(buffer + ETL_BUFFER_SIZE, sizeof(buffer));
    store_le32(buffer + ETL_BUFFER_OFFSET, sizeof(buffer));
    etw_order_add(rig.order, span_make(buffer, sizeof(buffer)), &rig.trace);
    assert_int_equal(rig.problems, 2);
    assert_true(etw_order_is_empty(rig.order));
    add(&rig, 0, TIMES(10));
    etw_order_give(rig.order, UINT64_MAX);
    expect(&rig, TIMES(10));
    etw_order_destroy(rig.order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_all_processors_come_in_one_order_of_time),
        cmocka_unit_test(what_is_younger_than_the_mark_waits),
        cmocka_unit_test(what_comes_late_passes_at_once_and_is_counted),
        cmocka_unit_test(one_processor_keeps_the_order_that_it_wrote_in),
        cmocka_unit_test(with_too_much_held_the_oldest_goes_early),
        cmocka_unit_test(a_sink_that_has_enough_gets_no_more),
        cmocka_unit_test(a_buffer_that_makes_no_sense_is_told_and_holds_nothing_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
