#include "unit/filter/model_expressions.h"

/*
 * A million random pairs of expression and event: the compiled program against filter_model.h,
 * which reads the JSON of the event's writer. A decision by header or schema must be that of the
 * whole event, and so must be a decision by only the fields that the filter asks for.
 */
enum { EXPRESSIONS = 20000, EVENTS_PER_EXPRESSION = 50 };

static unsigned millions = 1; /* --full: 10, for ten million pairs */

/* ---- both ------------------------------------------------------------------------------------ */

struct pair_counts {
    unsigned pairs;
    unsigned kept;
    unsigned by_header;
    unsigned by_schema;
};

static void check_pair(const struct filter *filter, struct filter_scratch *scratch,
    const struct model_node *node, const struct model_event *event, struct span text,
    struct pair_counts *pair_counts)
{
    const struct event_schema *schema = event->event.schema;
    size_t rule = 0;
    bool expected = filter_model_holds(node, event->json);
    enum filter_verdict verdict = filter_event(filter, scratch, &event->event, &rule);
    if (verdict != (expected ? FILTER_KEEP : FILTER_DROP) || rule != !expected) {
        fail_msg("%.*s is %d", SPAN_ARG(text), verdict == FILTER_KEEP);
    }
    struct event partial = model_event_partial(
        event, filter_fields(filter, scratch, &event->event));
    size_t partial_rule = 0;
    if (filter_event(filter, scratch, &partial, &partial_rule) != verdict || partial_rule != rule) {
        fail_msg("%.*s: of the fields that it asks for", SPAN_ARG(text));
    }
    enum filter_verdict header = filter_header(filter, scratch, &event->record, &rule);
    enum filter_verdict early = filter_candidates(
        filter, scratch, &event->event, &schema, 1, &rule);
    if ((header != FILTER_UNDECIDED && header != verdict) ||
        (early != FILTER_UNDECIDED && early != verdict) ||
        (early == FILTER_UNDECIDED && header != FILTER_UNDECIDED)) {
        fail_msg("%.*s: header %d, schema %d, event %d", SPAN_ARG(text), header, early, verdict);
    }
    pair_counts->pairs++;
    pair_counts->kept += expected;
    pair_counts->by_header += header != FILTER_UNDECIDED;
    pair_counts->by_schema += early != FILTER_UNDECIDED;
}

static void check_expression(const struct model_event *events, struct filter_scratch *scratch,
    struct buf *text, struct pair_counts *pair_counts)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    const struct model_node *node = make_node(&arena, events, chance(4));
    buf_reset(text);
    filter_model_write(node, chance(1 << 16), text);
    struct filter_rule rules[] = {{.action = FILTER_ACTION_KEEP, .text = buf_span(text)},
        {.action = FILTER_ACTION_DROP, .text = span_text("true")}};
    struct filter_place place;
    struct error err;
    struct filter *filter = filter_create(rules, 2, &place, &err);
    if (!filter) {
        fail_msg("%.*s: %s", SPAN_ARG(buf_span(text)), err.text);
    }
    for (unsigned i = 0; i < EVENTS_PER_EXPRESSION; i++) {
        check_pair(filter, scratch, node, &events[chance(EVENTS)], buf_span(text), pair_counts);
    }
    filter_destroy(filter);
    arena_fini(&arena);
}

static void a_million_random_pairs_agree_with_the_model(void **state)
{
    (void)state;
    struct model_rig rig;
    struct pair_counts pair_counts = {0};
    model_rig_init(&rig, EVENTS);
    for (unsigned i = 0; i < EXPRESSIONS * millions; i++) {
        check_expression(rig.events, &rig.scratch, &rig.text, &pair_counts);
    }
    /* The pairs cover enough cases. */
    assert_int_equal(pair_counts.pairs, 1000000 * millions);
    assert_in_range(pair_counts.kept, 200000 * millions, 800000 * millions);
    assert_in_range(pair_counts.by_header, 100000 * millions, 900000 * millions);
    assert_in_range(
        pair_counts.by_schema, pair_counts.by_header + 10000 * millions, 950000 * millions);
    assert_int_equal(rig.scratch.given_up, 0);
    model_rig_fini(&rig);
}

int main(int argc, char **argv)
{
    millions = argc > 1 && strcmp(argv[1], "--full") == 0 ? 10 : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_random_pairs_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
