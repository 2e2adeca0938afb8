#ifndef ETWSHIP_TESTS_UNIT_INPUT_ETL_RECORD_RIG_H
#define ETWSHIP_TESTS_UNIT_INPUT_ETL_RECORD_RIG_H

#include "input/record/etl_record.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "support/test.h"

/* Records are written here by hand, from the tables of the format; the generator is not used. */

static const struct trace_info trace = {
    .clock = {.type = TRACE_CLOCK_QPC,
        .start_time = 1000000,
        .start_raw = 500,
        .frequency = 10000000},
    .pointer_size = 8,
};

static struct extended_item items[RECORD_MAX_EXTENDED];
static struct event_record record;

/* A record that the quick test without reading takes for a plain event must be one. */
static inline void check_plain_event(struct span copy, const char *problem)
{
    if (etl_record_is_plain_event(copy)) {
        assert_null(problem);
        assert_false(record_is_metadata(&record));
        assert_int_not_equal(record.kind, RECORD_CLASSIC);
        assert_false(record.kind == RECORD_KERNEL && record.hook_id >> 8 == 0x18); /* StackWalk */
        assert_false(
            record.kind == RECORD_KERNEL && record.hook_id >> 8 == 0x0b); /* SystemConfig */
    }
}

/* Find and read a record of exactly ${size} bytes, in memory of that size, so that sanitizers see
 * reads beyond it. */
static inline const char *read_bytes(const uint8_t *bytes, size_t size, struct etl_scope *scope)
{
    static uint8_t *copy;
    free(copy);
    copy = malloc(size);
    memcpy(copy, bytes, size);
    uint32_t framed = 0;
    assert_int_equal(etl_record_frame(copy, &framed), ETL_FRAME_RECORD);
    assert_int_equal(framed, size);
    const char *problem = etl_record_read(span_make(copy, size), scope, items, &record);
    check_plain_event(span_make(copy, size), problem);
    return problem;
}

static inline struct etl_scope scope_new(void)
{
    struct etl_scope scope = {.trace = &trace, .cpu = 3};
    scope.position.buffer_offset = 4096;
    scope.position.record_offset = 72;
    return scope;
}

static uint8_t bytes[1024];

static inline void begin(uint8_t header_type, size_t size, bool size_at_4)
{
    memset(bytes, 0, sizeof(bytes));
    bytes[2] = header_type;
    bytes[3] = 0xc0;
    store_le16(bytes + (size_at_4 ? 4 : 0), (uint16_t)size);
    memset(bytes + size - 3, 'p', 3);
}

static const uint8_t guid_bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

#endif
