#include "unit/pipeline/flow_rig.h"

/* Header, schema and payload decide; numbers and gaps are as without a filter. */
static void a_filter_drops_and_counts_events_by_rule(void **state)
{
    (void)state;
    static const struct filter_rule rules[] = {
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"event.opcode == 1", 17}},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"not exists(provider.name)", 25}},
        {.action = FILTER_ACTION_KEEP,
            .text = {(const uint8_t *)"exists(data.A) and data.A == 17", 31}},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"event.code in (1-2)", 19}},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"exists(extended.stack)", 22}},
    };
    uint64_t hits[6] = {0};
    struct filter_scratch scratch;
    struct filter_place place;
    struct filter *filter = filter_create(rules, 5, &place, NULL);
    assert_non_null(filter);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct flow_filter by = {.filter = filter, .scratch = &scratch, .hits = hits};
    struct fixture f;
    fixture_init_filtered(&f, (struct input_decoding){.stack_walk = STACK_WALK_JOIN}, 3, &by);
    struct event_record started = manifest_event(3);
    started.descriptor.opcode = 1;
    assert_true(push(&f, started, "")); /* 1: rule 0 */
    struct event_record unknown = manifest_event(1);
    unknown.provider = (struct guid){{7}};
    assert_true(push(&f, unknown, "00"));                 /* 2: rule 1 */
    assert_true(push(&f, manifest_event(2), "11000000")); /* 3: rule 2 */
    assert_true(push(&f, manifest_event(2), "12000000")); /* 4: rule 3 */
    assert_true(push(&f, manifest_event(3), ""));         /* 5: none */
    const struct gap gap = {.stage = "etw", .reason = "lost", .to = 4};
    f.sink.gap(f.sink.self, &gap);                    /* 6 */
    assert_true(push(&f, manifest_event(1), "0011")); /* 7: rule 3 */
    assert_false(push(&f, manifest_event(3), "00"));  /* 8: none, the third to pass */
    assert_true(flow_stopped(f.flow));
    assert_span(buf_span(&f.log), "3:whole/8/1 5:whole/8/0 6:lost@4 8:rest/8/0 ");
    struct flow_counts counts = flow_counts(f.flow);
    assert_int_equal(counts.events, 3);
    assert_int_equal(counts.filtered, 4);
    assert_int_equal(counts.received, counts.events + counts.filtered);
    static const uint64_t expected[] = {1, 1, 1, 2, 0, 2};
    assert_memory_equal(hits, expected, sizeof(expected));
    fixture_fini(&f);
    filter_scratch_fini(&scratch);
    filter_destroy(filter);
}

/* What the header drops is not even held, but has its turn, its number and its stack. */
static void what_the_header_drops_takes_its_stack_along(void **state)
{
    (void)state;
    static const struct filter_rule rules[] = {
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"event.opcode == 1", 17}},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"etw.sequence == 3", 17}},
    };
    uint64_t hits[3] = {0};
    struct filter_scratch scratch;
    struct filter_place place;
    struct filter *filter = filter_create(rules, 2, &place, NULL);
    assert_non_null(filter);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct flow_filter by = {.filter = filter, .scratch = &scratch, .hits = hits};
    struct fixture f;
    fixture_init_filtered(&f, (struct input_decoding){.stack_walk = STACK_WALK_JOIN}, 0, &by);
    struct event_record other = kernel_event(0x0302);
    other.time_raw = 2000;
    assert_true(push(&f, other, "00"));                         /* 1 */
    assert_true(push(&f, kernel_event(0x0301), "00"));          /* 2: dropped by its header */
    assert_true(push(&f, kernel_event(0x1820), STACK_OF_1000)); /* its stack */
    assert_true(push(&f, other, "00"));                         /* 3: dropped by its number */
    assert_true(push(&f, other, "00"));                         /* 4 */
    assert_int_equal(hits[0], 0);                               /* not before its turn */
    assert_true(flow_finish(f.flow));
    assert_span(buf_span(&f.log), "1:raw/8/0 4:raw/8/0 ");
    struct flow_counts counts = flow_counts(f.flow);
    assert_int_equal(counts.joined, 1);
    assert_int_equal(counts.unmatched, 0);
    assert_int_equal(counts.filtered, 2);
    assert_int_equal(counts.received, counts.events + counts.filtered + counts.joined);
    static const uint64_t expected[] = {1, 1, 2};
    assert_memory_equal(hits, expected, sizeof(expected));
    fixture_fini(&f);
    filter_scratch_fini(&scratch);
    filter_destroy(filter);
}

/* Rules are asked early, before an event is held for its stack, and those in doubt again in its turn. */
static void doubt_is_counted_once(void **state)
{
    (void)state;
    static const char slow[] = "provider.name matches '^(\\w+\\w*\\w*\\w*\\w*\\w*\\w*\\w*)+[!-]$'";
    for (int drops = 0; drops < 2; drops++) {
        const struct filter_rule rule = {
            .action = FILTER_ACTION_DROP, .text = span_text(slow), .drops_unsure = drops};
        uint64_t hits[2] = {0};
        struct filter_scratch scratch;
        struct filter_place place;
        struct filter *filter = filter_create(&rule, 1, &place, NULL);
        assert_non_null(filter);
        assert_true(filter_scratch_init(&scratch, NULL, NULL));
        struct flow_filter by = {.filter = filter, .scratch = &scratch, .hits = hits};
        struct fixture f;
        fixture_init_filtered(&f, (struct input_decoding){.stack_walk = STACK_WALK_JOIN}, 0, &by);
        assert_true(push(&f, manifest_event(3), ""));
        assert_true(push(&f, manifest_event(3), ""));
        assert_true(flow_finish(f.flow));
        assert_int_equal(filter_rule_unsure(filter, 0), 2);
        assert_int_equal(hits[0], drops ? 2 : 0);
        assert_int_equal(flow_counts(f.flow).unsure, drops ? 0 : 2);
        fixture_fini(&f);
        filter_scratch_fini(&scratch);
        filter_destroy(filter);
    }
}

/* Asked once for each event whose schema is certain, before it is decoded or held for its stack. */
static bool wants_no_code_1(void *self, const struct event *event)
{
    unsigned *asked = self;
    ++*asked;
    assert_int_equal(event->field_count, 0);
    return event->record->descriptor.id != 1;
}

static void what_is_not_wanted_has_its_turn_and_its_number(void **state)
{
    (void)state;
    struct fixture f;
    unsigned asked = 0;
    const struct flow_settings settings = {.decoding = {.stack_walk = STACK_WALK_JOIN},
        .wants = wants_no_code_1,
        .wants_self = &asked};
    fixture_start(&f, &settings);
    assert_true(push(&f, manifest_event(3), ""));               /* 1 */
    assert_true(push(&f, manifest_event(1), "0011"));           /* 2: not wanted */
    assert_true(push(&f, kernel_event(0x0301), "00"));          /* 3 */
    assert_true(push(&f, kernel_event(0x1820), STACK_OF_1000)); /* its stack: not asked about */
    assert_true(push(&f, manifest_event(2), "11000000")); /* 4: two schemas: not asked about */
    assert_true(flow_finish(f.flow));
    assert_span(buf_span(&f.log), "1:whole/8/0 3:raw/8/0+stack 4:whole/8/1 ");
    struct flow_counts counts = flow_counts(f.flow);
    assert_int_equal(asked, 3);
    assert_int_equal(counts.filtered, 1);
    assert_int_equal(counts.events, 3);
    assert_int_equal(counts.received, counts.events + counts.filtered + counts.joined);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_drops_and_counts_events_by_rule),
        cmocka_unit_test(what_the_header_drops_takes_its_stack_along),
        cmocka_unit_test(doubt_is_counted_once),
        cmocka_unit_test(what_is_not_wanted_has_its_turn_and_its_number),
    };
    return cmocka_run_group_tests(tests, make_pack, remove_pack);
}
