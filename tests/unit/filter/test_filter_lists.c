#include "unit/filter/model_expressions.h"

/*
 * Lists of up to hundreds of rules against filter_model.h: the first true rule decides. The rule
 * must not depend on how much of the event is known, on answers that are kept for a type, or on the
 * rules that an index leaves out. Many rules test equal fields for values that events have.
 */
enum { LISTS = 400, EVENTS_PER_LIST = 60, MAX_RULES = 400 };

static unsigned times_more = 1; /* --full: 25, for ten million pairs of rule and event and more */

struct list {
    struct filter_rule rules[MAX_RULES];
    const struct model_node *nodes[MAX_RULES];
    struct buf texts[MAX_RULES];
    size_t count;
};

/* A test of one of few fields for a value that it sometimes has. */
static struct model_node *make_narrow(struct arena *arena, const struct model_event *events)
{
    static const char *const fields[] = {"data.A", "data.B", "data.L", "data.T", "data.G[*].A",
        "process.pid", "data.S.A", "activity_id", "extended.sid"};
    static const enum model_test tests[] = {
        MODEL_EQUAL, MODEL_EQUAL, MODEL_IN, MODEL_CONTAINS, MODEL_STARTS, MODEL_ENDS, MODEL_LIKE};
    static const char *const rare[] = {
        "nonesuch", "xyzzy", "plugh", "abcx", "xabc", "ABCABD.", "q"};
    struct model_node *node = arena_alloc(arena, sizeof(*node));
    assert_non_null(node);
    node->type = MODEL_NODE_TEST;
    node->path = PICK(fields);
    bool is_number = strcmp(node->path, "process.pid") == 0;
    node->test = is_number ? (chance(2) ? MODEL_EQUAL : MODEL_IN) : PICK(tests);
    node->literal_count = node->test == MODEL_EQUAL ? 1 : 1 + chance(3);
    for (unsigned i = 0; i < node->literal_count; i++) {
        struct model_literal *literal = &node->literals[i];
        bool is_like = node->test == MODEL_LIKE;
        if (is_number) {
            char text[16];
            snprintf(text, sizeof(text), "%u", chance(20) ? 100 + chance(900) : chance(8));
            set_number(literal, text);
        } else if (chance(12) == 0 && !is_like &&
                   take_value(node, &events[chance(EVENTS)], literal)) {
            bool searches = node->test != MODEL_EQUAL && node->test != MODEL_IN;
            if (searches && literal->type != MODEL_TEXT) {
                set_text(literal, PICK(rare));
            }
        } else if (is_like) {
            char text[32];
            snprintf(text, sizeof(text), "*%s?*", PICK(rare));
            set_text(literal, chance(30) ? text : PICK(globs));
        } else {
            set_text(literal, chance(10) ? PICK(rare) : PICK(texts));
        }
        bool is_equal = node->test == MODEL_EQUAL || node->test == MODEL_IN;
        if (strcmp(node->path, "activity_id") == 0 && is_equal) {
            set_text(literal, texts[16 + chance(2)]);
        }
    }
    return node;
}

/* Narrow tests alone, joined tests, or any. */
static const struct model_node *make_rule(struct arena *arena, const struct model_event *events)
{
    unsigned choice = chance(20);
    if (choice == 0) {
        struct model_node *any = make_node(arena, events, chance(3));
        struct model_node *both = arena_alloc(arena, sizeof(*both));
        assert_non_null(both);
        *both = (struct model_node){.type = MODEL_NODE_AND,
            .children = {any, make_narrow(arena, events)},
            .child_count = 2};
        return both;
    }
    if (choice < 14) {
        return make_narrow(arena, events);
    }
    struct model_node *node = arena_alloc(arena, sizeof(*node));
    assert_non_null(node);
    node->type = choice < 18 ? MODEL_NODE_AND : MODEL_NODE_OR;
    node->child_count = 2;
    for (unsigned i = 0; i < 2; i++) {
        node->children[i] = make_narrow(arena, events);
    }
    if (choice == 14) {
        struct model_node *no = arena_alloc(arena, sizeof(*no));
        assert_non_null(no);
        *no = (struct model_node){
            .type = MODEL_NODE_NOT, .children = {node->children[1]}, .child_count = 1};
        node->children[1] = no;
    }
    return node;
}

static void make_list(struct list *list, struct arena *arena, const struct model_event *events)
{
    static const char *const by[] = {"data.A", "process.pid", "activity_id"};
    list->count = 1 + chance(chance(2) ? 12 : MAX_RULES);
    for (size_t i = 0; i < list->count; i++) {
        list->nodes[i] = make_rule(arena, events);
        buf_reset(&list->texts[i]);
        filter_model_write(list->nodes[i], chance(1 << 16), &list->texts[i]);
        unsigned action = chance(10);
        list->rules[i] = (struct filter_rule){.action = action < 4   ? FILTER_ACTION_KEEP
                                                        : action < 8 ? FILTER_ACTION_DROP
                                                        : action < 9 ? FILTER_ACTION_SAMPLE
                                                                     : FILTER_ACTION_LIMIT,
            .text = buf_span(&list->texts[i]),
            .every = 2,
            .limit = {.events = 1, .period = 1, .burst = 1},
            .fields = &by[chance(3)],
            .field_count = 1};
    }
}

struct list_counts {
    uint64_t pairs; /* pairs of a rule and an event that the model judged */
    uint64_t events;
    uint64_t decided; /* by a rule */
};

static size_t first_that_holds(
    const struct list *list, const struct model_event *event, struct list_counts *counts)
{
    size_t rule = 0;
    while (rule < list->count && !filter_model_holds(list->nodes[rule], event->json)) {
        rule++;
    }
    counts->pairs += rule + (rule < list->count);
    return rule;
}

/* A rule alone gives its decision for an event. */
static enum filter_verdict verdict_of_rule(
    const struct filter_rule *rule, struct filter_scratch *scratch, const struct event *event)
{
    if (rule->action == FILTER_ACTION_KEEP || rule->action == FILTER_ACTION_LIMIT) {
        return FILTER_KEEP;
    }
    if (rule->action == FILTER_ACTION_DROP) {
        return FILTER_DROP;
    }
    struct filter_rule sample = *rule;
    struct filter_place place;
    size_t decided;
    sample.text = span_text("true");
    struct filter *filter = filter_create(&sample, 1, &place, NULL);
    assert_non_null(filter);
    enum filter_verdict verdict = filter_event(filter, scratch, event, &decided);
    filter_destroy(filter);
    return verdict;
}

static void check_event(const struct filter *filter, struct filter_scratch *scratch,
    const struct list *list, const struct model_event *event, struct list_counts *counts)
{
    const struct event_schema *schema = event->event.schema;
    size_t expected = first_that_holds(list, event, counts);
    size_t rule = SIZE_MAX;
    enum filter_verdict verdict = filter_event(filter, scratch, &event->event, &rule);
    uint64_t key = scratch->key;
    enum filter_verdict wanted = expected == list->count ? FILTER_KEEP
                                                         : verdict_of_rule(&list->rules[expected],
                                                               scratch, &event->event);
    if (rule != expected || verdict != wanted) {
        fail_msg("of %zu rules number %zu decided %d, not %zu %d: %.*s", list->count, rule, verdict,
            expected, wanted,
            SPAN_ARG(expected < list->count ? list->rules[expected].text : span_text("none")));
    }
    struct event partial = model_event_partial(
        event, filter_fields(filter, scratch, &event->event));
    assert_int_equal(filter_event(filter, scratch, &partial, &rule), verdict);
    assert_int_equal(rule, expected);
    assert_int_equal(scratch->key, key);
    rule = expected;
    enum filter_verdict early = filter_header(filter, scratch, &event->record, &rule);
    assert_true(early == FILTER_UNDECIDED || (early == verdict && scratch->key == key));
    assert_int_equal(rule, expected);
    early = filter_candidates(filter, scratch, &event->event, &schema, 1, &rule);
    assert_true(early == FILTER_UNDECIDED || (early == verdict && scratch->key == key));
    assert_int_equal(rule, expected);
    counts->events++;
    counts->decided += expected < list->count;
}

static void check_list(struct list *list, const struct model_event *events,
    struct filter_scratch *scratch, struct list_counts *counts)
{
    struct arena arena;
    struct filter_place place;
    struct error err;
    arena_init(&arena, 1 << 24);
    make_list(list, &arena, events);
    struct filter *filter = filter_create(list->rules, list->count, &place, &err);
    if (!filter) {
        fail_msg("%.*s: %s", SPAN_ARG(list->rules[place.rule].text), err.text);
    }
    for (unsigned i = 0; i < EVENTS_PER_LIST; i++) {
        check_event(filter, scratch, list, &events[chance(EVENTS)], counts);
    }
    filter_destroy(filter);
    arena_fini(&arena);
}

static void the_first_rule_that_is_true_decides(void **state)
{
    (void)state;
    struct model_rig rig;
    struct list_counts counts = {0};
    struct list *list = calloc(1, sizeof(*list));
    assert_non_null(list);
    model_rig_init(&rig, EVENTS);
    for (size_t i = 0; i < MAX_RULES; i++) {
        buf_init(&list->texts[i], 1 << 16);
    }
    for (unsigned i = 0; i < LISTS * times_more; i++) {
        check_list(list, rig.events, &rig.scratch, &counts);
    }
    assert_int_equal(counts.events, (uint64_t)LISTS * times_more * EVENTS_PER_LIST);
    assert_true(counts.pairs > 10 * counts.events);
    assert_in_range(counts.decided, counts.events / 4, counts.events);
    print_message("%llu events, %llu pairs of a rule and an event\n",
        (unsigned long long)counts.events, (unsigned long long)counts.pairs);
    for (size_t i = 0; i < MAX_RULES; i++) {
        buf_fini(&list->texts[i]);
    }
    model_rig_fini(&rig);
    free(list);
}

int main(int argc, char **argv)
{
    times_more = argc > 1 && strcmp(argv[1], "--full") == 0 ? 25 : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_is_true_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
