#include <stdio.h>

#include "filter/filter_edit.h"
#include "unit/event/writer_fixture.h"

/*
 * Rules over two texts: T is too hard for the pattern below, N is "n". If the result of such a
 * search does not matter, the decision stands; else the event is kept, and the doubt is reported.
 */
#define SLOW "data.T matches '(a+)+$'"

static const struct piece texts[] = {
    {"T", IN_ANSI_STRING, 0, "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'", NULL},
    {"N", IN_ANSI_STRING, 0, "'n'", NULL}};

struct rig {
    struct writer_fixture f;
    struct filter_scratch scratch;
};

static void rig_init(struct rig *rig)
{
    fixture_init(&rig->f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&rig->f, texts, 2);
    assert_true(filter_scratch_init(&rig->scratch, NULL, NULL));
}

static void rig_fini(struct rig *rig)
{
    filter_scratch_fini(&rig->scratch);
    fixture_fini(&rig->f);
}

static struct filter *make(const struct filter_rule *rules, size_t count)
{
    struct filter_place place;
    struct error err = {0};
    struct filter *filter = filter_create(rules, count, &place, &err);
    if (!filter) {
        fail_msg("%s", err.text);
    }
    return filter;
}

/* The list ${rules}, after which all other events are dropped: its verdict; `?`: unsure. */
static void assert_verdict(const struct filter_rule *rules, size_t count, const char *expected)
{
    struct rig rig;
    rig_init(&rig);
    struct filter *filter = make(rules, count);
    size_t rule = 99;
    rig.scratch.unsure = span_make(NULL, 0);
    enum filter_verdict verdict = filter_event(filter, &rig.scratch, &rig.f.event, &rule);
    char text[16];
    snprintf(text, sizeof(text), "%s%s", verdict == FILTER_KEEP ? "keep" : "drop",
        verdict == FILTER_KEEP && rig.scratch.unsure.size ? "?" : "");
    if (strcmp(text, expected) != 0) {
        fail_msg("%.*s: %s, not %s", SPAN_ARG(rules[0].text), text, expected);
    }
    assert_in_range(rule, 0, count);
    filter_destroy(filter);
    rig_fini(&rig);
}

static void what_the_search_would_find_matters_only_where_the_rest_leaves_it_open(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *keep; /* of `keep: text` and `drop: true` */
        const char *drop; /* of `drop: text` */
    } cases[] = {
        {SLOW, "keep?", "keep?"},
        {"not " SLOW, "keep?", "keep?"},
        {"not (not " SLOW ")", "keep?", "keep?"},
        {SLOW " and data.N == 'n'", "keep?", "keep?"},
        {SLOW " and data.N == 'm'", "drop", "keep"},
        {"data.N == 'm' and " SLOW, "drop", "keep"},
        {SLOW " or data.N == 'n'", "keep", "drop"},
        {SLOW " or data.N == 'm'", "keep?", "keep?"},
        {"not (" SLOW " or data.N == 'n')", "drop", "keep"},
        {"not (" SLOW " and data.N == 'm')", "keep", "drop"},
        {"data.N matches 'n' and not " SLOW, "keep?", "keep?"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct filter_rule rules[2] = {
            {.action = FILTER_ACTION_KEEP, .text = span_text(cases[i].text)},
            {.action = FILTER_ACTION_DROP, .text = span_text("true")}};
        assert_verdict(rules, 2, cases[i].keep);
        rules[0].action = FILTER_ACTION_DROP;
        assert_verdict(rules, 1, cases[i].drop);
    }
}

static void a_drop_in_doubt_is_certain_where_later_rules_drop_too(void **state)
{
    (void)state;
    struct filter_rule rules[3] = {{.action = FILTER_ACTION_DROP, .text = span_text(SLOW)},
        {.action = FILTER_ACTION_DROP, .text = span_text("data.N == 'n'")},
        {.action = FILTER_ACTION_KEEP, .text = span_text("true")}};
    assert_verdict(rules, 3, "drop");
    rules[1].text = span_text("data.N == 'm'");
    assert_verdict(rules, 3, "keep?");
}

static void limits_and_rollups_in_doubt_keep_the_event_as_it_is(void **state)
{
    (void)state;
    static const enum filter_action actions[] = {FILTER_ACTION_LIMIT, FILTER_ACTION_ROLLUP};
    for (size_t i = 0; i < 2; i++) {
        struct rig rig;
        rig_init(&rig);
        const struct filter_rule rule = {.action = actions[i],
            .text = span_text(SLOW),
            .limit = {.events = 1, .period = 1, .burst = 1},
            .window = 10000000};
        struct filter *filter = make(&rule, 1);
        size_t decided = 99;
        assert_int_equal(filter_event(filter, &rig.scratch, &rig.f.event, &decided), FILTER_KEEP);
        /* no rule decided: no token is taken, and no window counts it */
        assert_int_equal(decided, 1);
        assert_int_equal(filter_rule_unsure(filter, 0), 1);
        filter_destroy(filter);
        rig_fini(&rig);
    }
}

static void a_rule_may_say_that_doubt_drops(void **state)
{
    (void)state;
    struct filter_rule rule = {
        .action = FILTER_ACTION_KEEP, .text = span_text(SLOW), .drops_unsure = true};
    assert_verdict(&rule, 1, "drop");
    rule.action = FILTER_ACTION_DROP;
    assert_verdict(&rule, 1, "drop");
}

/* A removed field stays removed. */
static void rules_that_hide_do_so_in_doubt_and_others_do_not(void **state)
{
    (void)state;
    static const char *const fields[] = {"data.N"};
    static const struct {
        enum filter_action action;
        bool fits;
    } cases[] = {{FILTER_ACTION_REMOVE, true}, {FILTER_ACTION_HASH, true},
        {FILTER_ACTION_TRUNCATE, true}, {FILTER_ACTION_TAG, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        rig_init(&rig);
        const struct filter_rule rule = {.action = cases[i].action,
            .text = span_text(SLOW),
            .fields = fields,
            .field_count = 1,
            .bytes = 1,
            .key = span_text("0123456789abcdef0123456789abcdef")};
        struct filter *filter = make(&rule, 1);
        size_t cursor = 0;
        size_t found = 99;
        bool fits = filter_edit_next(filter, &rig.scratch, &rig.f.event, 1, &cursor, &found);
        assert_int_equal(fits, cases[i].fits);
        assert_int_equal(filter_rule_unsure(filter, 0), 1);
        filter_destroy(filter);
        rig_fini(&rig);
    }
}

static void one_event_does_not_wear_out_the_searches_of_the_next(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    struct filter_rule rules[12];
    for (size_t i = 0; i < 12; i++) {
        rules[i] = (struct filter_rule){.action = FILTER_ACTION_DROP,
            .text = span_text(i < 11 ? SLOW : "data.N matches '^n$'")};
    }
    struct filter *filter = make(rules, 12);
    size_t rule;
    /* The last search is skipped: 8 have reached their limits. */
    assert_int_equal(filter_event(filter, &rig.scratch, &rig.f.event, &rule), FILTER_KEEP);
    assert_int_equal(filter_rule_unsure(filter, 11), 1);
    filter_destroy(filter);
    filter = make(&rules[11], 1);
    assert_int_equal(filter_event(filter, &rig.scratch, &rig.f.event, &rule), FILTER_DROP);
    assert_int_equal(filter_rule_unsure(filter, 0), 0);
    filter_destroy(filter);
    rig_fini(&rig);
}

/* ---- trying patterns ------------------------------------------------------------------------- */

static void count_slow(void *self, const struct filter_slow *slow)
{
    size_t *count = self;
    (*count)++;
    assert_true(slow->pattern.size > 0 && slow->text[0]);
}

static size_t slow_count(const char *pattern)
{
    struct filter_scratch scratch;
    char text[256];
    size_t count = 0;
    snprintf(text, sizeof(text), "data.T matches '%s'", pattern);
    const struct filter_rule rule = {.action = FILTER_ACTION_KEEP, .text = span_text(text)};
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct filter *filter = make(&rule, 1);
    filter_each_slow(filter, &scratch, count_slow, &count);
    filter_destroy(filter);
    filter_scratch_fini(&scratch);
    return count;
}

static void patterns_that_go_on_for_ever_are_found_and_usual_ones_pass(void **state)
{
    (void)state;
    static const char *const slow[] = {"(a+)+$", "^(\\d+)*x$", "^cmd\\.exe (\\w+\\s?)+$", "(x|x)+y",
        "^([a-zA-Z0-9]+\\.?)+@", "(.*a){12}$"};
    static const char *const usual[] = {"^C:.Windows.", "\\.(exe|dll|sys)$", "powershell.*-enc",
        "^[0-9a-f]{32}$", "(?i)mimikatz|sekurlsa", "https?://[^/ ]+/", "\\bwhoami\\b", "a+b",
        "^S-1-5-21(-\\d+){3}-500$"};
    for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
        if (slow_count(slow[i]) != 1) {
            fail_msg("%s was not found", slow[i]);
        }
    }
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (slow_count(usual[i]) != 0) {
            fail_msg("%s was found", usual[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_search_would_find_matters_only_where_the_rest_leaves_it_open),
        cmocka_unit_test(a_drop_in_doubt_is_certain_where_later_rules_drop_too),
        cmocka_unit_test(limits_and_rollups_in_doubt_keep_the_event_as_it_is),
        cmocka_unit_test(a_rule_may_say_that_doubt_drops),
        cmocka_unit_test(rules_that_hide_do_so_in_doubt_and_others_do_not),
        cmocka_unit_test(one_event_does_not_wear_out_the_searches_of_the_next),
        cmocka_unit_test(patterns_that_go_on_for_ever_are_found_and_usual_ones_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
