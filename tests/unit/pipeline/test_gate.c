#include "event/write/event_edits.h"
#include "pipeline/work/gate.h"

#include <stdlib.h>

#include "support/test.h"

enum { MAX_RULES = 4 };

struct rig {
    struct filter *filters[2];
    atomic_uint_fast64_t hits[2][MAX_RULES];
    atomic_uint_fast64_t dropped[2][MAX_RULES];
    struct gate gates[2];
    struct gate_view views[2];
    struct filter_scratch scratch;
};

static void rig_init(struct rig *rig, const char *first, const char *second)
{
    struct error err;
    const char *texts[2] = {first, second};
    *rig = (struct rig){.filters = {NULL}};
    assert_true(filter_scratch_init(&rig->scratch, NULL, &err));
    for (int i = 0; i < 2; i++) {
        struct filter_rule rule = {.action = FILTER_ACTION_DROP, .text = span_text(texts[i])};
        struct filter_place place;
        rig->filters[i] = filter_create(&rule, 1, &place, &err);
        assert_non_null(rig->filters[i]);
        rig->gates[i] = (struct gate){
            .filter = rig->filters[i], .hits = rig->hits[i], .dropped = rig->dropped[i]};
        assert_true(gate_view_init(&rig->views[i], &rig->gates[i], &err));
    }
}

static void rig_fini(struct rig *rig)
{
    for (int i = 0; i < 2; i++) {
        gate_view_fini(&rig->views[i]);
        filter_destroy(rig->filters[i]);
    }
    filter_scratch_fini(&rig->scratch);
}

static enum filter_verdict ask(struct rig *rig, uint8_t level, bool decoded)
{
    struct event_record record = {.kind = RECORD_EVENT, .descriptor = {.level = level}};
    struct event event = {.record = &record};
    return gate_ask_all(rig->views, 2, &rig->scratch, &event, NULL, decoded);
}

static void every_list_must_keep_an_event(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "event.level == 1", "event.level == 2");
    static const struct {
        uint8_t level;
        enum filter_verdict verdict;
    } cases[] = {{1, FILTER_DROP}, {2, FILTER_DROP}, {3, FILTER_KEEP}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        gate_begin(rig.views, 2);
        assert_int_equal(ask(&rig, cases[i].level, false), cases[i].verdict);
    }
    rig_fini(&rig);
}

static void what_needs_the_payload_is_open_until_it_is_decoded(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "event.level == 1", "exists(data.Name)");
    gate_begin(rig.views, 2);
    assert_int_equal(ask(&rig, 1, false), FILTER_DROP);
    gate_begin(rig.views, 2);
    assert_int_equal(ask(&rig, 3, false), FILTER_UNDECIDED);
    assert_int_equal(ask(&rig, 3, true), FILTER_KEEP);
    rig_fini(&rig);
}

static void each_event_is_counted_once_by_what_decided(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "event.level == 1", "exists(data.Name)");
    for (uint8_t level = 0; level < 5; level++) {
        gate_begin(rig.views, 2);
        if (ask(&rig, level, false) == FILTER_UNDECIDED) {
            ask(&rig, level, true);
        }
    }
    assert_int_equal(rig.hits[0][0], 0); /* only when the worker adds them up */
    gate_flush(&rig.views[0]);
    gate_flush(&rig.views[1]);
    gate_flush(&rig.views[1]);
    assert_int_equal(rig.hits[0][0], 1);
    assert_int_equal(rig.hits[0][1], 4);
    assert_int_equal(rig.hits[1][0], 0);
    assert_int_equal(rig.hits[1][1], 4);
    assert_int_equal(rig.dropped[0][0], 1);
    assert_int_equal(rig.dropped[0][1], 0);
    rig_fini(&rig);
}

/* For events that are kept, the hits of all rules up to the deciding one count. */
static void rules_that_edit_are_counted_where_they_do(void **state)
{
    (void)state;
    static const char *const tags[] = {"a"};
    struct filter_rule rules[] = {{.action = FILTER_ACTION_TAG,
                                      .fields = tags,
                                      .field_count = 1,
                                      .text = span_text("event.level <= 3")},
        {.action = FILTER_ACTION_KEEP, .text = span_text("event.level == 3")},
        {.action = FILTER_ACTION_TAG, .fields = tags, .field_count = 1, .text = span_text("true")}};
    struct filter_place place;
    struct error err;
    struct filter_scratch scratch;
    struct gate_view view;
    atomic_uint_fast64_t hits[4] = {0};
    atomic_uint_fast64_t dropped[4] = {0};
    struct event_editor *editor = event_editor_create(&err);
    assert_non_null(editor);
    assert_true(filter_scratch_init(&scratch, NULL, &err));
    struct gate gate = {
        .filter = filter_create(rules, 3, &place, &err), .hits = hits, .dropped = dropped};
    assert_non_null(gate.filter);
    assert_true(gate_view_init(&view, &gate, &err));
    for (uint8_t level = 2; level <= 4; level++) {
        struct event_record record = {.kind = RECORD_EVENT, .descriptor = {.level = level}};
        struct event event = {.record = &record};
        gate_begin(&view, 1);
        assert_int_equal(gate_ask(&view, &scratch, &event, NULL, true), FILTER_KEEP);
        event_editor_begin(editor, &event, NULL);
        gate_edit(&view, &scratch, &event, editor);
        const struct event *edited = event_editor_finish(editor, &scratch.paths);
        assert_int_equal(edited->edits->agent->tag_count, 1);
    }
    gate_flush(&view);
    assert_int_equal(hits[0], 2);
    assert_int_equal(hits[1], 1);
    assert_int_equal(hits[2], 2);
    assert_int_equal(hits[3], 2);
    assert_int_equal(dropped[0] + dropped[1] + dropped[2] + dropped[3], 0);
    gate_view_fini(&view);
    event_editor_destroy(editor);
    filter_destroy((struct filter *)gate.filter);
    filter_scratch_fini(&scratch);
}

static void a_token_is_taken_once_where_the_gate_keeps_the_event(void **state)
{
    (void)state;
    struct filter_rule rules[] = {
        {.action = FILTER_ACTION_DROP, .text = span_text("event.level == 2")},
        {.action = FILTER_ACTION_LIMIT,
            .text = span_text("true"),
            .limit = {.events = 1, .period = 1000, .burst = 1}}};
    struct filter_place place;
    struct error err;
    struct filter_scratch scratch;
    struct gate_view view;
    atomic_uint_fast64_t hits[3] = {0};
    atomic_uint_fast64_t dropped[3] = {0};
    assert_true(filter_scratch_init(&scratch, NULL, &err));
    struct gate gate = {
        .filter = filter_create(rules, 2, &place, &err), .hits = hits, .dropped = dropped};
    assert_non_null(gate.filter);
    gate.limiter = limiter_create(gate.filter, 1, &err);
    assert_non_null(gate.limiter);
    assert_true(gate_view_init(&view, &gate, &err));
    static const struct {
        uint8_t level;
        bool kept;
    } events[] = {{2, false}, {3, true}, {2, false}, {3, false}};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        struct event_record record = {
            .kind = RECORD_EVENT, .time = 5, .descriptor = {.level = events[i].level}};
        struct event event = {.record = &record};
        gate_begin(&view, 1);
        for (int again = 0; again < 2; again++) {
            gate_ask(&view, &scratch, &event, NULL, true);
            assert_int_equal(gate_charge(&view, 0, &record), events[i].kept);
        }
        assert_int_equal(view.verdict, events[i].kept ? FILTER_KEEP : FILTER_DROP);
    }
    gate_flush(&view);
    assert_int_equal(hits[0], 2);
    assert_int_equal(dropped[0], 2);
    assert_int_equal(hits[1], 2);
    assert_int_equal(dropped[1], 1);
    gate_view_fini(&view);
    limiter_destroy(gate.limiter);
    filter_destroy((struct filter *)gate.filter);
    filter_scratch_fini(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_list_must_keep_an_event),
        cmocka_unit_test(what_needs_the_payload_is_open_until_it_is_decoded),
        cmocka_unit_test(each_event_is_counted_once_by_what_decided),
        cmocka_unit_test(rules_that_edit_are_counted_where_they_do),
        cmocka_unit_test(a_token_is_taken_once_where_the_gate_keeps_the_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
