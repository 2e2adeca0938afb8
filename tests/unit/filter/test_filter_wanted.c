#include "filter/filter.h"

#include <stdio.h>

#include "support/test.h"

/* The values that a rule tests a field for, in messages about unknown names. */

struct found {
    char text[512];
};

static void add(void *self, const struct filter_wanted *wanted)
{
    struct found *found = self;
    size_t size = strlen(found->text);
    snprintf(found->text + size, sizeof(found->text) - size, "%zu %.*s=%.*s;", wanted->rule,
        SPAN_ARG(wanted->path), SPAN_ARG(wanted->text));
}

static void texts_of_equality_are_wanted(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        const char *expected;
    } cases[] = {
        {"provider.name == 'Foo'", "0 provider.name=foo;"},
        {"provider.name == 'Foo'c", "0 provider.name=Foo;"},
        {"event.id == 5 and event.name in ('B', 'a')", "0 event.name=a;0 event.name=b;"},
        {"not (not data.X == 'y')", "0 data.X=y;"},
        {"provider.name != 'Foo'", ""},
        {"not provider.name == 'Foo'", ""},
        {"not (event.id == 5 or provider.name in ('a'))", ""},
        {"provider.name startswith 'Foo' or provider.name like 'F*'", ""},
        {"event.id == 5", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct filter_rule rule = {
            .action = FILTER_ACTION_KEEP, .text = span_text(cases[i].rule)};
        struct filter_place place;
        struct error err;
        struct found found = {.text = ""};
        struct filter *filter = filter_create(&rule, 1, &place, &err);
        assert_non_null(filter);
        filter_each_wanted(filter, add, &found);
        if (strcmp(found.text, cases[i].expected) != 0) {
            fail_msg("%s: '%s'", cases[i].rule, found.text);
        }
        filter_destroy(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_equality_are_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
