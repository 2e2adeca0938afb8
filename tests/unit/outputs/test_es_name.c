#include "support/test.h"

#include <stdio.h>

#include "outputs/elasticsearch/es_name.h"

#define A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A100 A50 A50

/* What names must be: "create index" of both servers' documentation, path parameters, and
 * "data stream naming scheme". */

static void every_shape_and_route_has_its_name(void **state)
{
    (void)state;
    static const struct {
        struct es_name_options options;
        const char *format;
        const char *rendered;
        const char *name;
    } cases[] = {
        {{{NULL, "default"}, NULL}, "native", "", "logs-etw.native-default"},
        {{{NULL, "default"}, NULL}, "ecs", "", "logs-etw.events-default"},
        {{{NULL, "prod"}, NULL}, "ecs", "", "logs-etw.events-prod"},
        {{{NULL, NULL}, NULL}, NULL, "", "logs-etw.native-default"},
        {{{"dns", "default"}, NULL}, "native", "", "logs-dns-default"},
        {{{"etw.{provider.name}", "x"}, NULL}, "native", "etw.dns_client", "logs-etw.dns_client-x"},
        {{{"etw.{provider.name}", "x"}, NULL}, "native", "etw.", "logs-etw.-x"},
        {{{NULL, "default"}, "etw"}, "native", "", "etw"},
        {{{NULL, "default"}, "etw-{provider.name}-%Y"}, "ecs", "etw-dns-2026", "etw-dns-2026"},
        /* Any input gives a valid name. */
        {{{"a{event.name}", "x"}, NULL}, "native", "aA-b/c d\"\n\\*", "logs-aa_b_c_d____-x"},
        {{{NULL, "default"}, "a{event.name}"}, "ecs", "aA-b/c,d#e:f", "aa-b_c_d_e_f"},
        {{{"{{a", "x"}, NULL}, "native", "", "logs-{{a-x"},
        {{{"a{event.name}", A100 "b"}, NULL}, "native", A100 "b", "logs-" A100 "-" A100},
        {{{"a{event.name}", "x"}, NULL}, "native", A50 A50 "b", "logs-" A100 "-x"},
        {{{NULL, "x"}, "a{event.name}"}, "native", A100 A100 A100, A100 A100 A50 "aaaaa"},
        /* Cut on a character. */
        {{{"a{event.name}", "x"}, NULL}, "native",
            A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa4",
            "logs-" A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-x"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[ES_NAME_MAX];
        size_t size = es_name_write(
            &cases[i].options, cases[i].format, span_text(cases[i].rendered), name);
        assert_true(size <= ES_NAME_MAX);
        assert_span(span_make(name, size), cases[i].name);
    }
}

static void only_what_differs_by_event_is_a_route(void **state)
{
    (void)state;
    static const struct {
        struct es_name_options options;
        const char *route;
    } cases[] = {
        {{{NULL, "default"}, NULL}, NULL},
        {{{"dns", "default"}, NULL}, NULL},
        {{{"etw.{provider.name}", "default"}, NULL}, "etw.{provider.name}"},
        {{{NULL, "default"}, "etw"}, NULL},
        {{{NULL, "default"}, "etw-%Y"}, "etw-%Y"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *route = es_name_route(&cases[i].options);
        assert_int_equal(route != NULL, cases[i].route != NULL);
        if (route) {
            assert_string_equal(route, cases[i].route);
        }
    }
}

static void check(const void *options, struct config_check *findings)
{
    es_name_check(findings, options);
}

static void names_that_no_server_takes_are_mistakes(void **state)
{
    (void)state;
    static const struct {
        struct es_name_options options;
        const char *error; /* NULL: none */
    } cases[] = {
        {{{NULL, NULL}, NULL}, NULL},
        {{{"etw.{provider.name}", "prod"}, NULL}, NULL},
        {{{NULL, "default"}, "etw-{provider.name}-%Y.%m.%d"}, NULL},
        {{{NULL, "default"}, A100 A100 A50 "aaaaa"}, NULL},
        {{{A100, A100}, NULL}, NULL},
        {{{NULL, "default"}, "a%%b{{c}}"}, NULL},
        {{{NULL, "default"}, "{provider.name}"}, "index: it must begin with a literal letter"},
        {{{NULL, "default"}, "%Y"}, "index: it must begin with a literal letter"},
        {{{NULL, "default"}, "-a"}, "index: it must begin with a literal letter"},
        {{{NULL, "default"}, "."}, "index: it must begin with a literal letter"},
        {{{NULL, "default"}, ".."}, "index: it must begin with a literal letter"},
        {{{NULL, "default"}, "+a"}, "index: it must begin with a literal letter"},
        {{{NULL, "default"}, ""}, "index: it must begin with a literal letter"},
        {{{NULL, "default"}, "aB"}, "index: 'B' is not allowed in it"},
        {{{NULL, "default"}, "a/b"}, "index: '/' is not allowed in it"},
        {{{NULL, "default"}, "a\"b"}, "index: '\"' is not allowed in it"},
        {{{NULL, "default"}, "a\nb"}, "index: '?' is not allowed in it"},
        {{{NULL, "default"}, "a-{nope}"}, "index: "},
        {{{NULL, "default"}, "a-%Q"}, "index: not a part of the time"},
        {{{NULL, "default"}, A100 A100 A50 "aaaaaa"}, "index: more than 255 characters"},
        {{{"a-b", "default"}, NULL}, "dataset: '-' is not allowed in it"},
        {{{"{provider.name}", "default"}, NULL}, "dataset: it must begin with a literal letter"},
        {{{A100 "b", "default"}, NULL}, "dataset: more than 100 characters"},
        {{{A100 "{provider.name}", "default"}, NULL}, "dataset: "},
        {{{NULL, "a-b"}, NULL}, "namespace: '-' is not allowed in it"},
        {{{NULL, "a{provider.name}"}, NULL}, "namespace: it is the same for all events"},
        {{{NULL, "%Y"}, NULL}, "namespace: it is the same for all events"},
        {{{"a", "default"}, "b"}, "index: there is a data_stream, too"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        bool good = config_check_first(check, &cases[i].options, &err);
        assert_int_equal(good, cases[i].error == NULL);
        if (cases[i].error && strncmp(err.text, cases[i].error, strlen(cases[i].error)) != 0) {
            fail_msg("got %s, expected %s", err.text, cases[i].error);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_and_route_has_its_name),
        cmocka_unit_test(only_what_differs_by_event_is_a_route),
        cmocka_unit_test(names_that_no_server_takes_are_mistakes),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_name", tests, NULL, NULL);
}
