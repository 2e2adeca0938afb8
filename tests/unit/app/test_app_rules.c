#include "app/config/app_rules.h"

#include <stdio.h>

#include "app/config/app_modules.h"
#include "support/test.h"

/* Errors in the rules of a configuration, and their places. */

struct finding {
    const char *filters; /* from line 3 on */
    const char *text;    /* how the one line of the report starts, or all of it */
    const char *detail;  /* the lines below it; NULL: there are none */
};

static void assert_finding(const struct finding *expected)
{
    struct app_config config;
    struct config_report report;
    char text[4096];
    snprintf(text, sizeof(text),
        "sessions: [{type: file, paths: [a]}]\noutputs: [{type: stdout}]\n%s\n", expected->filters);
    config_report_init(&report);
    assert_false(
        app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &config, &report));
    const struct config_report_line *line = &report.lines[0];
    const char *detail = line->detail ? line->detail : "";
    const char *below = expected->detail ? expected->detail : "";
    if (report.line_count != 1 ||
        strncmp(line->text, expected->text, strlen(expected->text)) != 0 ||
        strcmp(detail, below) != 0) {
        print_error("%s\ngot:\n%s\n%s\nexpected:\n%s\n%s\n", expected->filters, line->text, detail,
            expected->text, below);
        fail();
    }
    config_report_fini(&report);
}

static void rules_point_at_the_place_in_their_expression(void **state)
{
    (void)state;
    static const struct finding cases[] = {
        {"filters: [{drop: 'event.id = = 3'}]",
            "f.yaml:3:28: error: drop: ", "    event.id = = 3\n             ^"},
        {"filters:\n- keep: event.id in (1, x)",
            "f.yaml:4:25: error: keep: ", "    event.id in (1, x)\n                    ^"},
        {"filters:\n- drop: \"\\u00e4 == 1\"",
            "f.yaml:4:9: error: drop: ", "    \xc3\xa4 == 1\n    ^"},
        {"filters:\n- drop: >-\n    event.id ==\n    == 3",
            "f.yaml:4:9: error: drop: ", "    event.id == == 3\n                ^"},
        {"filters:\n- drop: event.level < warning",
            "f.yaml:4:23: error: drop: ", "    event.level < warning\n                  ^"},
        {"filters:\n- sample: {where: 'event.id = 3', rate: 1/2}",
            "f.yaml:4:29: error: sample: ", "    event.id = 3\n             ^"},
        {"filters:\n- sample: {rate: 1/2, by: proces.pid}",
            "f.yaml:4:27: error: sample: events have no field proces.pid. did you mean "
            "process.pid?",
            "    proces.pid\n    ^"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_finding(&cases[i]);
    }
}

static void rules_that_edit_say_where_they_cannot(void **state)
{
    (void)state;
    static const struct finding cases[] = {
        {"filters: [{set: {where: 'event.id = 3', fields: {labels.a: b}}}]",
            "f.yaml:3:35: error: set: = is not part of this language",
            "    event.id = 3\n             ^"},
        {"filters: [{set: {fields: {data.A.B: x}}}]",
            "f.yaml:3:27: error: set: data.A.B: of the payload, only data.NAME can be set",
            "    data.A.B\n    ^"},
        {"filters: [{remove: {fields: [tags, provider.name]}}]",
            "f.yaml:3:36: error: remove: a rule cannot remove provider.name. choose from ",
            "    provider.name\n    ^"},
        {"filters: [{hash: {fields: [process.pid], key: 0123456789abcdef}}]",
            "f.yaml:3:28: error: hash: a rule cannot hash process.pid. choose from ",
            "    process.pid\n    ^"},
        {"filters: [{remove: {fields: ['data.A[*]']}}]",
            "f.yaml:3:31: error: remove: data.A[*]: single elements of a list cannot be changed. "
            "name the list",
            "    data.A[*]\n    ^"},
        {"filters: [{rename: {fields: {data.A: b.c}}}]",
            "f.yaml:3:30: error: rename: b.c: the new name must have no dots", "    data.A\n    ^"},
        {"filters: [{rename: {fields: {mesage: x}}}]",
            "f.yaml:3:30: error: rename: events have no field mesage. did you mean message?",
            "    mesage\n    ^"},
        {"filters: [{truncate: {fields: [event.name], bytes: 4}}]",
            "f.yaml:3:32: error: truncate: a rule cannot truncate event.name",
            "    event.name\n    ^"},
        {"filters: [{tag: {tags: ['']}}]", "f.yaml:3:26: error: tag: a tag must not be empty",
            "    \n    ^"},
        {"filters: [{hash: {fields: [data.A], key: short}}]",
            "f.yaml:3:42: error: key: it has less than 16 bytes", NULL},
        {"filters: [{hash: {fields: [data.A]}}]", "f.yaml:3:18: error: the key 'key' is missing",
            NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_finding(&cases[i]);
    }
}

#define ONE_OF                                                                                   \
    "f.yaml:3:11: error: a rule has one of `keep`, `drop`, `sample`, `limit`, `rollup`, `set`, " \
    "`tag`, `remove`, `rename`, `hash` and `truncate`. write one of them, as in - drop: "        \
    "EXPRESSION"

static void a_rule_has_one_action(void **state)
{
    (void)state;
    static const struct finding cases[] = {
        {"filters: [{name: x}]", ONE_OF, NULL},
        {"filters: [{keep: 'true', drop: 'true'}]", ONE_OF, NULL},
        {"filters: [{drop: 'true', sample: {rate: 1/2}}]", ONE_OF, NULL},
        {"filters: [{drop: 'true', tag: {tags: [a]}}]", ONE_OF, NULL},
        {"filters: [{remove: {fields: [tags]}, tag: {tags: [a]}}]", ONE_OF, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_finding(&cases[i]);
    }
}

static void a_sample_has_a_rate(void **state)
{
    (void)state;
    static const struct finding cases[] = {
        {"filters: [{sample: {rate: 1/0}}]",
            "f.yaml:3:27: error: rate: '1/0' is not a rate. write 1/10 for one in ten", NULL},
        {"filters: [{sample: {where: 'true', by: process.pid}}]",
            "f.yaml:3:20: error: the key 'rate' is missing. add it: `1/N`: one of N values of the "
            "field is kept, with all its events",
            NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_finding(&cases[i]);
    }
}

static void a_limit_has_a_rate(void **state)
{
    (void)state;
    static const struct finding cases[] = {
        {"filters:\n- limit: {rate: 100}",
            "f.yaml:4:17: error: rate: '100' is not a rate. write 100/s, or a number per m, h or "
            "d, at most 10000000",
            NULL},
        {"filters:\n- limit: {rate: 1/s, burst: 10000001}", "f.yaml:4:29: error: burst: ", NULL},
        {"filters:\n- limit: {rate: 1/s, per: [process.pid, data]}",
            "f.yaml:4:41: error: limit: data holds other fields. name one of them",
            "    data\n    ^"},
        {"filters:\n- limit: {where: 'event.id = 3', rate: 1/s}",
            "f.yaml:4:28: error: limit: ", "    event.id = 3\n             ^"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_finding(&cases[i]);
    }
}

/* Outputs with equal rules share a stream. */
static void rules_are_the_same_if_all_but_their_names_is(void **state)
{
    (void)state;
    const char *texts[] = {"event.id"};
    struct config_pair pairs[] = {{"labels.a", "1"}};
    const struct app_rule rules[] = {
        {.keep = "true"},
        {.keep = "false"},
        {.drop = "true"},
        {.keep = "true", .unsure = 1},
        {.sample = {.where = "true", .rate = "1/2"}},
        {.sample = {.where = "true", .rate = "1/2", .by = "event.id"}},
        {.limit = {.where = "true", .rate = "1/s"}},
        {.limit = {.where = "true", .rate = "1/s", .burst = 2}},
        {.limit = {.where = "true", .rate = "1/s", .per = {texts, 1}}},
        {.rollup = {.where = "true", .every_ns = 1000, .by = {texts, 1}}},
        {.rollup = {.where = "true", .every_ns = 2000, .by = {texts, 1}}},
        {.set = {.where = "true", .values = {pairs, 1}}},
        {.hash = {.where = "true", .fields = {texts, 1}, .key = "a"}},
        {.hash = {.where = "true", .fields = {texts, 1}, .key = "b"}},
        {.truncate = {.where = "true", .fields = {texts, 1}, .bytes = 1}},
        {.truncate = {.where = "true", .fields = {texts, 1}, .bytes = 2}},
    };
    enum { COUNT = sizeof(rules) / sizeof(rules[0]) };
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            struct app_rule named = rules[k];
            named.name = "other";
            assert_int_equal(app_rules_are_same(&rules[i], &named), i == k);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_point_at_the_place_in_their_expression),
        cmocka_unit_test(rules_that_edit_say_where_they_cannot),
        cmocka_unit_test(a_rule_has_one_action),
        cmocka_unit_test(a_sample_has_a_rate),
        cmocka_unit_test(a_limit_has_a_rate),
        cmocka_unit_test(rules_are_the_same_if_all_but_their_names_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
