#include "unit/pipeline/observer_rig.h"

/* Header, schema and payload decide. Numbers and gaps do not depend on filters. */
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
    atomic_uint_fast64_t hits[6] = {0};
    atomic_uint_fast64_t dropped[6] = {0};
    struct filter_place place;
    struct filter *filter = filter_create(rules, 5, &place, NULL);
    assert_non_null(filter);
    const struct gate by = {.filter = filter, .hits = hits, .dropped = dropped};
    struct fixture f;
    fixture_start(&f, &(struct pipeline_session){.decoding = {.stack_walk = STACK_WALK_JOIN},
                          .rules = {.gates = &by, .gate_count = 1}});
    struct event_record started = manifest_event(3);
    started.descriptor.opcode = 1;
    assert_true(push(&f, started, "")); /* 1: rule 0 */
    struct event_record unknown = manifest_event(1);
    unknown.provider = (struct guid){{7}};
    assert_true(push(&f, unknown, "00"));                 /* 2: rule 1 */
    assert_true(push(&f, manifest_event(2), "11000000")); /* 3: rule 2 */
    assert_true(push(&f, manifest_event(2), "12000000")); /* 4: rule 3 */
    assert_true(push(&f, manifest_event(3), ""));         /* 5: none */
    const struct gap gap = {.stage = "etw", .unit = "events", .reason = "lost", .to = 4};
    f.sink.gap(f.sink.self, &gap);                    /* 6 */
    assert_true(push(&f, manifest_event(1), "0011")); /* 7: rule 3 */
    assert_true(push(&f, manifest_event(3), "00"));   /* 8: none */
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "3:whole/8/1 5:whole/8/0 6:lost@4 8:rest/8/0 ");
    const struct session_counts counts = f.counts;
    assert_int_equal(counts.accepted, 3);
    assert_int_equal(counts.filtered, 4);
    assert_int_equal(counts.received, counts.accepted + counts.filtered);
    static const unsigned expected[] = {1, 1, 1, 2, 0, 2};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(hits[i], expected[i]);
    }
    fixture_fini(&f);
    filter_destroy(filter);
}

/* An event that the header drops is not even held, but has its turn, its number and its stack. */
static void what_the_header_drops_takes_its_stack_along(void **state)
{
    (void)state;
    static const struct filter_rule rules[] = {
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"event.opcode == 1", 17}},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"etw.sequence == 3", 17}},
    };
    atomic_uint_fast64_t hits[3] = {0};
    atomic_uint_fast64_t dropped[3] = {0};
    struct filter_place place;
    struct filter *filter = filter_create(rules, 2, &place, NULL);
    assert_non_null(filter);
    const struct gate by = {.filter = filter, .hits = hits, .dropped = dropped};
    struct fixture f;
    fixture_start(&f, &(struct pipeline_session){.decoding = {.stack_walk = STACK_WALK_JOIN},
                          .rules = {.gates = &by, .gate_count = 1}});
    struct event_record other = kernel_event(0x0302);
    other.time_raw = 2000;
    assert_true(push(&f, other, "00"));                         /* 1 */
    assert_true(push(&f, kernel_event(0x0301), "00"));          /* 2: dropped by its header */
    assert_true(push(&f, kernel_event(0x1820), STACK_OF_1000)); /* its stack */
    assert_true(push(&f, other, "00"));                         /* 3: dropped by its number */
    assert_true(push(&f, other, "00"));                         /* 4 */
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "1:raw/8/0 4:raw/8/0 ");
    const struct session_counts counts = f.counts;
    assert_int_equal(counts.joined, 1);
    assert_int_equal(counts.unmatched, 0);
    assert_int_equal(counts.filtered, 2);
    assert_int_equal(counts.received, counts.accepted + counts.filtered + counts.joined);
    static const unsigned expected[] = {1, 1, 2};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(hits[i], expected[i]);
    }
    fixture_fini(&f);
    filter_destroy(filter);
}

/* Rules decide early, before an event is held for its stack. Undecided rules decide again in the
 * event's turn. */
static void doubt_is_counted_once(void **state)
{
    (void)state;
    static const char slow[] = "provider.name matches '^(\\w+\\w*\\w*\\w*\\w*\\w*\\w*\\w*)+[!-]$'";
    for (int drops = 0; drops < 2; drops++) {
        const struct filter_rule rule = {
            .action = FILTER_ACTION_DROP, .text = span_text(slow), .drops_unsure = drops};
        atomic_uint_fast64_t hits[2] = {0};
        atomic_uint_fast64_t dropped[2] = {0};
        struct filter_place place;
        struct filter *filter = filter_create(&rule, 1, &place, NULL);
        assert_non_null(filter);
        const struct gate by = {.filter = filter, .hits = hits, .dropped = dropped};
        struct fixture f;
        fixture_start(&f, &(struct pipeline_session){.decoding = {.stack_walk = STACK_WALK_JOIN},
                              .rules = {.gates = &by, .gate_count = 1}});
        assert_true(push(&f, manifest_event(3), ""));
        assert_true(push(&f, manifest_event(3), ""));
        fixture_finish(&f);
        assert_int_equal(filter_rule_unsure(filter, 0), 2);
        assert_int_equal(hits[0], drops ? 2 : 0);
        assert_int_equal(f.counts.filtered, drops ? 2 : 0);
        fixture_fini(&f);
        filter_destroy(filter);
    }
}

/* Rules decide before an event is decoded if its schema is certain, else after that. */
static bool wants_no_code_1(const void *self, const struct event *event)
{
    (void)self;
    bool is_certain = event->record->descriptor.id != 2;
    assert_int_equal(event->field_count, is_certain ? 0 : 1);
    return event->record->descriptor.id != 1;
}

static void what_is_not_wanted_has_its_turn_and_its_number(void **state)
{
    (void)state;
    struct fixture f;
    fixture_start(&f, &(struct pipeline_session){.decoding = {.stack_walk = STACK_WALK_JOIN},
                          .rules.wants = wants_no_code_1});
    assert_true(push(&f, manifest_event(3), ""));               /* 1 */
    assert_true(push(&f, manifest_event(1), "0011"));           /* 2: not wanted */
    assert_true(push(&f, kernel_event(0x0301), "00"));          /* 3 */
    assert_true(push(&f, kernel_event(0x1820), STACK_OF_1000)); /* its stack */
    assert_true(push(&f, manifest_event(2), "11000000"));       /* 4: two schemas */
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "1:whole/8/0 3:raw/8/0+stack 4:whole/8/1 ");
    assert_int_equal(f.counts.filtered, 1);
    assert_int_equal(f.counts.accepted, 3);
    assert_int_equal(f.counts.received, f.counts.accepted + f.counts.filtered + f.counts.joined);
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
