#include "input/windows/etw_raw.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "input/record/etl_format.h"
#include "support/test.h"

/* Buffers byte by byte: WMI_BUFFER_HEADER, SYSTEM_TRACE_HEADER and EVENT_HEADER of ntwmi.h and
 * evntcons.h. */
enum { BUFFER = 1024, RECORDS = 3 };

struct seen {
    struct event_record records[8];
    size_t count;
};

static size_t put_event(uint8_t *at, uint16_t id, int64_t time, uint8_t payload)
{
    uint16_t size = (uint16_t)(ETL_EVENT_HEADER_SIZE + payload);
    memset(at, 0xee, (size + 7u) / 8 * 8);
    memset(at, 0, size);
    store_le16(at, size);
    at[2] = ETL_EVENT_HEADER64;
    at[3] = 0xc0;
    store_le32(at + 8, 11);
    store_le32(at + 12, 22);
    store_le64(at + 0x10, (uint64_t)time);
    store_le16(at + 0x28, id);
    return (size + 7u) / 8 * 8;
}

static size_t put_buffer(uint8_t *buffer)
{
    memset(buffer, 0, BUFFER);
    size_t at = ETL_BUFFER_HEADER_SIZE;
    for (uint16_t i = 0; i < RECORDS; i++) {
        at += put_event(buffer + at, (uint16_t)(100 + i), 5000 + i * 10, (uint8_t)(i * 3));
    }
    store_le32(buffer + ETL_BUFFER_SIZE, BUFFER);
    store_le32(buffer + ETL_BUFFER_OFFSET, (uint32_t)at);
    store_le64(buffer + ETL_BUFFER_TIME, 6000);
    store_le16(buffer + ETL_BUFFER_CPU, 2);
    memset(buffer + at, 0xff, BUFFER - at);
    return at;
}

static void start(struct etw_trace *trace)
{
    struct etw_logfile_header header = {
        .reserved_flags = 2 /* system time */, .perf_freq = 10000000, .start_time = 1};
    etw_trace_init(trace, "s", &header);
}

static const char *read(const uint8_t *bytes, size_t size, struct seen *seen)
{
    /* Memory of exactly that size, so that sanitizers see a read beyond it. */
    uint8_t *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    struct etw_trace trace;
    start(&trace);
    struct etw_raw raw;
    assert_true(etw_raw_open(&raw, span_make(copy, size), &trace) || raw.problem);
    while (etw_raw_next(&raw, &seen->records[seen->count])) {
        assert_in_range(++seen->count, 1, 7);
    }
    assert_false(etw_raw_next(&raw, &seen->records[seen->count])); /* and no more */
    free(copy);
    return raw.problem;
}

static void the_records_of_a_buffer_come_in_their_order(void **state)
{
    (void)state;
    uint8_t buffer[BUFFER];
    struct seen seen = {.count = 0};
    put_buffer(buffer);
    assert_null(read(buffer, BUFFER, &seen));
    assert_int_equal(seen.count, RECORDS);
    for (size_t i = 0; i < RECORDS; i++) {
        assert_int_equal(seen.records[i].descriptor.id, 100 + i);
        assert_int_equal(seen.records[i].time, 5000 + i * 10);
        assert_int_equal(seen.records[i].cpu, 2);
        assert_int_equal(seen.records[i].process_id, 22);
        assert_int_equal(seen.records[i].payload.size, i * 3);
    }
}

static void a_buffer_cut_anywhere_is_never_read_beyond_its_end(void **state)
{
    (void)state;
    uint8_t buffer[BUFFER];
    size_t end = put_buffer(buffer);
    for (size_t size = 0; size < end; size++) {
        struct seen seen = {.count = 0};
        assert_non_null(read(buffer, size, &seen));
        assert_int_equal(seen.count, 0);
    }
    /* Likewise if the header says so. */
    for (size_t size = ETL_BUFFER_HEADER_SIZE; size < end; size++) {
        struct seen seen = {.count = 0};
        store_le32(buffer + ETL_BUFFER_OFFSET, (uint32_t)size);
        read(buffer, BUFFER, &seen);
        assert_true(seen.count < RECORDS || size + 8 > end);
    }
}

static void what_cannot_be_read_is_said(void **state)
{
    (void)state;
    uint8_t buffer[BUFFER];
    struct seen seen = {.count = 0};
    put_buffer(buffer);
    store_le16(buffer + ETL_BUFFER_FLAGS, ETL_FLAG_COMPRESSED);
    assert_string_equal(read(buffer, BUFFER, &seen), "a buffer is compressed");
    put_buffer(buffer);
    store_le32(buffer + ETL_BUFFER_SIZE, 4);
    assert_string_equal(read(buffer, BUFFER, &seen), "a buffer has no header");
    put_buffer(buffer);
    buffer[ETL_BUFFER_HEADER_SIZE + ETL_EVENT_HEADER_SIZE + 3] = 0x10;
    assert_string_equal(read(buffer, BUFFER, &seen), "a buffer contains an invalid record");
    assert_int_equal(seen.count, 1); /* the record before it came */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_records_of_a_buffer_come_in_their_order),
        cmocka_unit_test(a_buffer_cut_anywhere_is_never_read_beyond_its_end),
        cmocka_unit_test(what_cannot_be_read_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
