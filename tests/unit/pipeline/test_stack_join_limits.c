#include "pipeline/stack_join.h"

#include <stdlib.h>

#include "support/test.h"
#include "unit/pipeline/stack_records.h"

/* What is held back: how much at most, and that it comes out as it went in. */

static size_t records_out;
static size_t bytes_in_order;

static bool count_record(void *self, const struct event_record *record, const uint64_t *frames,
    uint32_t count, uint64_t tag)
{
    (void)tag;
    (void)self;
    (void)frames;
    (void)count;
    assert_int_equal(record->sequence, records_out);
    records_out++;
    bytes_in_order += record->payload.size;
    for (size_t i = 0; i < record->payload.size; i += 997) {
        assert_int_equal(record->payload.data[i], (uint8_t)record->sequence);
    }
    return true;
}

static void at_most_65536_events_or_8_mb_are_held(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 100, 60000, 200000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        records_out = 0;
        struct stack_join *join = stack_join_create(
            STACK_WALK_JOIN, count_record, NULL, NULL, NULL);
        assert_non_null(join);
        uint8_t *bytes = malloc(sizes[i] + 1);
        assert_non_null(bytes);
        size_t events = sizes[i] < 1000 ? 100000 : 300;
        size_t most = 0;
        for (size_t n = 0; n < events; n++) {
            struct event_record record = event_at(1, 100, 10, 11);
            record.sequence = n;
            memset(bytes, (int)(n & 0xff), sizes[i]);
            record.payload = span_make(bytes, sizes[i]);
            assert_true(stack_join_push(join, &record, 0));
            most = n + 1 - records_out > most ? n + 1 - records_out : most;
        }
        assert_true(most > 1);
        assert_true(most <= 65536);
        assert_true(most * sizes[i] <= 8 * 1024 * 1024);
        assert_true(stack_join_flush(join));
        assert_int_equal(records_out, events);
        stack_join_destroy(join);
        free(bytes);
    }
}

static void giant_records_pass_in_their_place(void **state)
{
    (void)state;
    records_out = 0;
    bytes_in_order = 0;
    struct stack_join *join = stack_join_create(STACK_WALK_JOIN, count_record, NULL, NULL, NULL);
    assert_non_null(join);
    static const size_t sizes[] = {10, 9000000, 10, 2500000, 2000000, 2000000, 2000000, 2000000,
        2000000, 20000000, 1, 1900000, 0};
    size_t total = 0;
    for (size_t n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
        uint8_t *bytes = malloc(sizes[n] + 1);
        assert_non_null(bytes);
        memset(bytes, (int)n, sizes[n]);
        struct event_record record = event_at(1, 100, 10, 11);
        record.sequence = n;
        record.payload = span_make(bytes, sizes[n]);
        assert_true(stack_join_push(join, &record, 0));
        free(bytes);
        total += sizes[n];
    }
    assert_true(stack_join_flush(join));
    assert_int_equal(records_out, sizeof(sizes) / sizeof(sizes[0]));
    assert_int_equal(bytes_in_order, total);
    stack_join_destroy(join);
}

static bool check_copy(void *self, const struct event_record *record, const uint64_t *frames,
    uint32_t count, uint64_t tag)
{
    (void)tag;
    (void)frames;
    (void)count;
    assert_int_equal(record->extended_count, 3);
    assert_int_equal(record->extended[0].type, EXTENDED_SID);
    assert_span(record->extended[0].data, "abc");
    assert_int_equal(record->extended[1].data.size, 0);
    assert_int_equal(record->extended[2].type, 0x77);
    assert_span(record->extended[2].data, "defgh");
    assert_span(record->payload, "payload");
    assert_int_equal(record->instance_id, 42);
    assert_ptr_equal(record->trace, &trace_a);
    *(int *)self += 1;
    return true;
}

static void extended_items_and_payload_survive_being_held(void **state)
{
    (void)state;
    int seen = 0;
    struct stack_join *join = stack_join_create(STACK_WALK_JOIN, check_copy, NULL, &seen, NULL);
    assert_non_null(join);
    char text[] = "abcdefghpayload";
    struct extended_item items[] = {{EXTENDED_SID, span_make(text, 3)},
        {EXTENDED_TS_ID, span_make(NULL, 0)}, {0x77, span_make(text + 3, 5)}};
    struct event_record record = event_at(1, 100, 10, 11);
    record.extended = items;
    record.extended_count = 3;
    record.payload = span_make(text + 8, 7);
    record.instance_id = 42;
    assert_true(stack_join_push(join, &record, 0));
    memset(text, 0, sizeof(text));
    memset(items, 0, sizeof(items));
    assert_true(stack_join_flush(join));
    assert_int_equal(seen, 1);
    stack_join_destroy(join);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_most_65536_events_or_8_mb_are_held),
        cmocka_unit_test(giant_records_pass_in_their_place),
        cmocka_unit_test(extended_items_and_payload_survive_being_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
