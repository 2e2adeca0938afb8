#include "pipeline/record/stack_join.h"

#include <stdlib.h>

#include "support/test.h"
#include "unit/pipeline/stack_records.h"

/* Limits of what the join holds back, and that everything comes out unchanged. */

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

/* ---- keys ------------------------------------------------------------------------------------ */

enum { STACK_FRAMES = 23 }; /* the average of a stack */

struct keys_rig {
    struct stack_join *join;
    struct buf payload;
    uint64_t stacks; /* joined stacks that are right */
    uint64_t expected_frame;
};

static bool check_frames(void *self, const struct event_record *record, const uint64_t *frames,
    uint32_t count, uint64_t tag)
{
    (void)tag;
    struct keys_rig *rig = self;
    if (record->kind == RECORD_EVENT && count) {
        assert_int_equal(count, STACK_FRAMES);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(frames[i], rig->expected_frame + i);
        }
        rig->stacks++;
    }
    return true;
}

static void keys_rig_init(struct keys_rig *rig)
{
    *rig = (struct keys_rig){.stacks = 0};
    buf_init(&rig->payload, 1 << 16);
    rig->join = stack_join_create(STACK_WALK_JOIN, check_frames, NULL, rig, NULL);
    assert_non_null(rig->join);
}

static void keys_rig_fini(struct keys_rig *rig)
{
    stack_join_destroy(rig->join);
    buf_fini(&rig->payload);
}

/* A definition of ${key} with the frames ${frame}, ${frame} + 1, … */
static struct event_record long_definition(
    struct keys_rig *rig, uint16_t hook, int64_t time, uint64_t key, uint64_t frame)
{
    struct event_record record = definition(&rig->payload, 80, hook, time, key, frame);
    for (uint64_t i = 1; i < STACK_FRAMES; i++) {
        etl_put_u64(&rig->payload, frame + i);
    }
    record.payload = buf_span(&rig->payload);
    return record;
}

static void push_long_definition(
    struct keys_rig *rig, uint16_t hook, int64_t time, uint64_t key, uint64_t frame)
{
    struct event_record record = long_definition(rig, hook, time, key, frame);
    assert_true(stack_join_push(rig->join, &record, 0));
}

/* An event of ${time} and its reference; the event comes out with its stack at once. */
static void push_referring(struct keys_rig *rig, const struct trace_info *trace, int64_t time,
    uint64_t key, uint64_t frame)
{
    struct event_record event = event_at(1, time, 10, 11);
    event.trace = trace;
    assert_true(stack_join_push(rig->join, &event, 0));
    struct event_record record = reference(&rig->payload, 90, REFERENCE_USER, time, 10, 11, key);
    record.trace = trace;
    assert_true(stack_join_push(rig->join, &record, 0));
    rig->expected_frame = frame;
    assert_true(stack_join_flush(rig->join));
}

/* Ten minutes and some 50 MB of stacks; a key is reused after it was deleted. */
static void a_live_session_resolves_keys_for_as_long_as_it_lasts(void **state)
{
    (void)state;
    enum { LIVES = 200000, KEYS = 1024, STEP = 30000 };
    struct keys_rig rig;
    keys_rig_init(&rig);
    for (uint64_t i = 0; i < LIVES; i++) {
        int64_t time = (int64_t)(i + 1) * STEP;
        if (i >= KEYS) {
            push_long_definition(&rig, KEY_DELETE, time, i % KEYS, (i - KEYS) * 32 + 1);
        }
        push_long_definition(&rig, KEY_CREATE, time + 1, i % KEYS, i * 32 + 1);
        push_referring(&rig, &trace_a, time + 2, i % KEYS, i * 32 + 1);
    }
    assert_int_equal(rig.stacks, LIVES);
    keys_rig_fini(&rig);
}

/* The ends of these lives were lost. */
static void keys_that_are_only_created_give_way_to_their_next_life(void **state)
{
    (void)state;
    enum { LIVES = 100000, KEYS = 256, STEP = 30000 };
    struct keys_rig rig;
    keys_rig_init(&rig);
    for (uint64_t i = 0; i < LIVES; i++) {
        int64_t time = (int64_t)(i + 1) * STEP;
        push_long_definition(&rig, KEY_CREATE, time + 1, i % KEYS, i * 32 + 1);
        push_referring(&rig, &trace_a, time + 2, i % KEYS, i * 32 + 1);
    }
    assert_int_equal(rig.stacks, LIVES);
    keys_rig_fini(&rig);
}

static void the_keys_of_a_trace_go_with_it(void **state)
{
    (void)state;
    enum { TRACES = 40, KEYS = 8192, HOUR = 3600 };
    struct keys_rig rig;
    keys_rig_init(&rig);
    static struct trace_info traces[TRACES];
    for (uint64_t t = 0; t < TRACES; t++) {
        /* Each reference is earlier than the previous one, and reaches none of its definitions. */
        int64_t start = (int64_t)(TRACES - t) * HOUR * SECOND;
        traces[t] = trace_a;
        for (uint64_t key = 0; key < KEYS; key++) {
            struct event_record record = long_definition(
                &rig, KEY_RUNDOWN, start + 60 * (int64_t)SECOND, key, key * 32 + t + 1);
            record.trace = &traces[t];
            stack_join_learn(rig.join, &record);
        }
        for (uint64_t key = 0; key < KEYS; key++) {
            push_referring(&rig, &traces[t], start + (int64_t)key, key, key * 32 + t + 1);
        }
        stack_join_remove_trace(rig.join, &traces[t]);
    }
    assert_int_equal(rig.stacks, (uint64_t)TRACES * KEYS);
    keys_rig_fini(&rig);
}

static void what_is_passed_of_a_trace_is_forgotten_where_the_next_one_is_earlier(void **state)
{
    (void)state;
    enum { TRACES = 20, KEYS = 8192, HOUR = 3600 };
    struct keys_rig rig;
    keys_rig_init(&rig);
    for (uint64_t t = 0; t < TRACES; t++) {
        int64_t start = (int64_t)(TRACES - t) * HOUR * SECOND;
        for (uint64_t key = 0; key < KEYS; key++) {
            push_long_definition(&rig, KEY_CREATE, start, key, key * 32 + t + 1);
            push_referring(&rig, &trace_a, start + (int64_t)key, key, key * 32 + t + 1);
            push_long_definition(&rig, KEY_DELETE, start + KEYS, key, key * 32 + t + 1);
        }
    }
    assert_int_equal(rig.stacks, (uint64_t)TRACES * KEYS);
    keys_rig_fini(&rig);
}

/* All definitions of a long trace are learned in the first pass. Stacks that were in the cache
 * until the end come last. */
static void at_most_8_mb_are_learned_and_rundowns_find_room(void **state)
{
    (void)state;
    enum { LIVES = 200000, KEYS = 1024, EVERY = 100 };
    struct keys_rig rig;
    keys_rig_init(&rig);
    for (uint64_t i = 0; i < LIVES; i++) {
        struct event_record record = long_definition(
            &rig, KEY_DELETE, (int64_t)i + SECOND, KEYS + i % 8000, i * 32 + 1);
        stack_join_learn(rig.join, &record);
    }
    for (uint64_t key = 0; key < KEYS; key++) {
        struct event_record record = long_definition(
            &rig, KEY_RUNDOWN, 3 * (int64_t)SECOND, key, key + 1);
        stack_join_learn(rig.join, &record);
    }
    for (uint64_t key = 0; key < KEYS; key++) {
        push_referring(&rig, &trace_a, SECOND / 2, key, key + 1);
    }
    assert_int_equal(rig.stacks, KEYS);
    for (uint64_t i = 0; i < LIVES; i += EVERY) {
        push_referring(&rig, &trace_a, (int64_t)i + SECOND - 5, KEYS + i % 8000, i * 32 + 1);
    }
    uint64_t lives = (rig.stacks - KEYS) * EVERY;
    assert_true(lives >= 20000);
    assert_true((lives + KEYS) * (STACK_FRAMES + 1) * sizeof(uint64_t) <= 8 * 1024 * 1024);
    keys_rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_most_65536_events_or_8_mb_are_held),
        cmocka_unit_test(giant_records_pass_in_their_place),
        cmocka_unit_test(extended_items_and_payload_survive_being_held),
        cmocka_unit_test(a_live_session_resolves_keys_for_as_long_as_it_lasts),
        cmocka_unit_test(keys_that_are_only_created_give_way_to_their_next_life),
        cmocka_unit_test(the_keys_of_a_trace_go_with_it),
        cmocka_unit_test(what_is_passed_of_a_trace_is_forgotten_where_the_next_one_is_earlier),
        cmocka_unit_test(at_most_8_mb_are_learned_and_rundowns_find_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
