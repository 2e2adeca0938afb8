#include "pipeline/source/source_gates.h"

#include <stdio.h>

#include "support/test.h"

/*
 * A source leaves out the events that the session's workers would drop by the header, and counts
 * them by rule in the same way. This test asks the same gates in both.
 */
enum { GATES = 2, STREAMS = 2, HITS = 4 };

struct rig {
    struct gate gates[GATES];
    struct worker_stream streams[STREAMS];
    atomic_uint_fast64_t hits[GATES + STREAMS][HITS];
    atomic_uint_fast64_t dropped[GATES + STREAMS][HITS];
    size_t stream_numbers[STREAMS];
    uint64_t resume[STREAMS];
    struct worker_session session;
    struct source_gates *source;
};

static struct filter *compile(enum filter_action action, const char *text)
{
    struct filter_place place;
    const struct filter_rule rules[] = {
        {.action = action, .text = span_text(text), .limit = {1, 1, 1}, .every = 2}};
    struct filter *filter = filter_create(rules, 1, &place, NULL);
    assert_non_null(filter);
    return filter;
}

static bool select_all(const void *self, struct filter_scratch *scratch, const struct event *event)
{
    (void)self;
    (void)scratch;
    (void)event;
    return true;
}

/* Rules that drop, in two lists of the session and of two streams; NULL: the stream has none. */
static void rig_init(struct rig *rig, const char *const texts[GATES + STREAMS])
{
    *rig = (struct rig){.stream_numbers = {0, 1}};
    for (size_t i = 0; i < GATES + STREAMS; i++) {
        struct gate *gate = i < GATES ? &rig->gates[i] : &rig->streams[i - GATES].gate;
        if (texts[i]) {
            *gate = (struct gate){.filter = compile(FILTER_ACTION_DROP, texts[i]),
                .hits = rig->hits[i],
                .dropped = rig->dropped[i]};
        }
    }
    rig->session = (struct worker_session){.name = "s",
        .rules = {.gates = rig->gates, .gate_count = GATES},
        .streams = rig->stream_numbers,
        .resume = rig->resume,
        .stream_count = STREAMS};
}

static void rig_start(struct rig *rig)
{
    const struct source_gates_settings settings = {
        .session = &rig->session, .streams = rig->streams};
    assert_true(source_gates_create(&settings, &rig->source, NULL));
}

static void rig_fini(struct rig *rig)
{
    source_gates_destroy(rig->source);
    for (size_t i = 0; i < GATES; i++) {
        filter_destroy((struct filter *)(uintptr_t)rig->gates[i].filter);
    }
    for (size_t i = 0; i < STREAMS; i++) {
        filter_destroy((struct filter *)(uintptr_t)rig->streams[i].gate.filter);
    }
}

static enum source_gates_level ask(struct rig *rig, uint16_t id, uint64_t *ret_tag)
{
    const struct event_record record = {.kind = RECORD_EVENT, .descriptor = {.id = id}};
    return source_gates_ask(rig->source, &record, 10, ret_tag);
}

static void assert_hits(struct rig *rig, const char *expected)
{
    char text[128] = "";
    source_gates_flush(rig->source);
    for (size_t i = 0; i < GATES + STREAMS; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u/%u %u", i ? ", " : "",
            (unsigned)rig->hits[i][0], (unsigned)rig->dropped[i][0], (unsigned)rig->hits[i][1]);
    }
    assert_string_equal(text, expected);
}

static void an_event_is_counted_by_every_list_that_decided(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "event.code == 1", "event.code == 2", "event.code in (3, 4)", "event.code in (3, 5)"};
    static const enum source_gates_level levels[] = {SOURCE_GATES_PASS, SOURCE_GATES_SESSION,
        SOURCE_GATES_SESSION, SOURCE_GATES_STREAMS, SOURCE_GATES_PASS, SOURCE_GATES_PASS};
    struct rig rig;
    rig_init(&rig, texts);
    rig_start(&rig);
    for (uint16_t id = 0; id < 6; id++) {
        uint64_t tag = 0;
        assert_int_equal(ask(&rig, id, &tag), levels[id]);
        if (levels[id] != SOURCE_GATES_PASS) {
            assert_int_equal(source_gates_count(rig.source, tag, id != 1), levels[id]);
            assert_int_equal(source_gates_count(rig.source, tag, true), levels[id]);
        }
    }
    /* Hits and drops of the rule, and by list the events that no rule decided: id 1 was counted
     * once. */
    assert_hits(&rig, "1/1 4, 2/2 2, 2/2 0, 2/2 0");
    rig_fini(&rig);
}

static void what_the_header_leaves_open_is_for_the_workers(void **state)
{
    (void)state;
    static const char *const cases[][GATES + STREAMS] = {
        /* Number and names are not known yet. */
        {"etw.sequence == 0 or event.code == 9", "event.code == 1", NULL, NULL},
        {"provider.name == 'x' and event.code == 1", "event.code == 9", NULL, NULL},
        /* A stream takes everything. */
        {"event.code == 9", "event.code == 9", "event.code == 1", NULL},
        {"event.code == 9", "event.code == 9", "event.code == 1", "data.X == 1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        uint64_t tag;
        rig_init(&rig, cases[i]);
        rig_start(&rig);
        assert_non_null(rig.source);
        assert_int_equal(ask(&rig, 1, &tag), SOURCE_GATES_PASS);
        rig_fini(&rig);
    }
}

static void streams_are_asked_where_all_of_them_begin_and_nothing_else_selects(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "event.code == 9", "event.code == 9", "event.code == 1", "event.code == 1"};
    struct rig rig;
    uint64_t tag;
    rig_init(&rig, texts);
    rig.resume[1] = 11; /* one output has delivered the next one, number 11 */
    rig_start(&rig);
    assert_int_equal(ask(&rig, 1, &tag), SOURCE_GATES_PASS);
    rig_fini(&rig);
    rig_init(&rig, texts);
    rig.session.rules.selects = select_all;
    rig_start(&rig);
    assert_int_equal(ask(&rig, 1, &tag), SOURCE_GATES_PASS);
    assert_int_equal(ask(&rig, 9, &tag), SOURCE_GATES_SESSION);
    rig_fini(&rig);
}

static void a_limit_or_rollup_is_left_to_the_workers(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "event.code == 9", "event.code == 9", "event.code == 1", "event.code == 1"};
    struct rig rig;
    uint64_t tag;
    struct error err;
    rig_init(&rig, texts);
    filter_destroy((struct filter *)(uintptr_t)rig.gates[0].filter);
    rig.gates[0].filter = compile(FILTER_ACTION_LIMIT, "true");
    rig.gates[0].limiter = limiter_create(rig.gates[0].filter, 1, &err);
    rig_start(&rig);
    assert_int_equal(ask(&rig, 1, &tag), SOURCE_GATES_PASS);
    assert_int_equal(ask(&rig, 9, &tag), SOURCE_GATES_PASS);
    limiter_destroy(rig.gates[0].limiter);
    rig_fini(&rig);
    rig_init(&rig, texts);
    filter_destroy((struct filter *)(uintptr_t)rig.gates[0].filter);
    rig.gates[0].filter = compile(FILTER_ACTION_ROLLUP, "true");
    rig.gates[0].rolls_up = true;
    rig_start(&rig);
    assert_int_equal(ask(&rig, 1, &tag), SOURCE_GATES_PASS);
    rig_fini(&rig);
}

static void nothing_is_made_where_nothing_can_be_left_out(void **state)
{
    (void)state;
    static const char *const texts[] = {"data.X == 1", "data.X == 1", "event.code == 1", NULL};
    struct rig rig;
    rig_init(&rig, texts);
    rig_start(&rig);
    assert_null(rig.source);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_counted_by_every_list_that_decided),
        cmocka_unit_test(what_the_header_leaves_open_is_for_the_workers),
        cmocka_unit_test(streams_are_asked_where_all_of_them_begin_and_nothing_else_selects),
        cmocka_unit_test(a_limit_or_rollup_is_left_to_the_workers),
        cmocka_unit_test(nothing_is_made_where_nothing_can_be_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
