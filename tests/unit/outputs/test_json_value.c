#include "outputs/json_value.h"

#include "support/test.h"

#include <stdio.h>

static char value[32];

static size_t find(const char *body, const char *path)
{
    return json_value_find(span_text(body), path, value, sizeof(value));
}

static void a_value_is_found_by_the_names_of_its_objects(void **state)
{
    (void)state;
    static const char body[] =
        "{\"a\":{\"b\":{\"c\":7}},\"l\":[{\"b\":1}],\"b\":\"x\\u0041\",\"t\":true}";
    assert_int_equal(find(body, "a.b.c"), 1);
    assert_string_equal(value, "7");
    find(body, "b");
    assert_string_equal(value, "xA");
    find(body, "t");
    assert_string_equal(value, "true");
    assert_int_equal(find(body, "l.b"), 0);
    assert_int_equal(find(body, "c"), 0);
    assert_int_equal(find(body, "b.c"), 0);
    assert_int_equal(find("{\"a\":{\"x\":{\"c\":1},\"b\":2}}", "a.b"), 1);
    assert_string_equal(value, "2");
    assert_int_equal(json_value_find(span_text(body), "b", value, 2), 1);
    assert_string_equal(value, "x");
}

static void an_object_is_no_value_whatever_its_names_are(void **state)
{
    (void)state;
    assert_int_equal(find("{\"code\":{\"\":0}}", "code"), 0);
    assert_int_equal(find("{\"code\":{\"\":{\"\":0}}}", "code"), 0);
    assert_int_equal(find("{\"code\":{\"code\":0}}", "code"), 0);
    assert_int_equal(find("{\"code\":[0]}", "code"), 0);
    assert_int_equal(find("{\"code\":{\"\":0},\"code\":5}", "code"), 1);
    assert_string_equal(value, "5");
}

/* 64 levels are read (RFC 8259, 9 lets a reader set the limit). Deeper values are skipped
 * unread. */
static void nesting_is_bounded(void **state)
{
    (void)state;
    enum { DEEPEST = 64, FAR = 1000000 };
    static char body[2 * FAR + 64];
    static const size_t depths[] = {DEEPEST - 1, DEEPEST, FAR};
    for (size_t i = 0; i < 3; i++) {
        size_t depth = depths[i];
        size_t at = (size_t)snprintf(body, sizeof(body), "{\"x\":");
        memset(body + at, '[', depth);
        memset(body + at + depth, ']', depth);
        snprintf(body + at + 2 * depth, sizeof(body) - at - 2 * depth, ",\"code\":5}");
        assert_int_equal(find(body, "code"), depth < DEEPEST ? 1 : 0);
    }
    char path[600] = "a";
    size_t at = 0;
    for (int i = 0; i < 200; i++) {
        at += (size_t)snprintf(body + at, sizeof(body) - at, "{\"a\":");
        strcat(path, ".a");
    }
    assert_int_equal(find(body, path), 0);
}

static void a_value_is_shown_as_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *body, *raw;
    } cases[] = {{"{\"a\":\"x\\u0041\\\"\"}", "\"x\\u0041\\\"\""}, {"{\"a\":\"\"}", "\"\""},
        {"{\"b\":[1],\"a\": -1.5e3 }", "-1.5e3"}, {"{\"a\":0}", "0"}, {"{\"a\":true}", "true"},
        {"{\"a\":{}}", ""}, {"{\"b\":1}", ""}, {"{\"a\":\"x", ""}, {"{\"a\":1", ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_span(json_value_raw(span_text(cases[i].body), "a"), cases[i].raw);
    }
    char body[5000] = "{\"a\":\"";
    memset(body + 6, 'x', sizeof(body) - 6);
    assert_int_equal(json_value_raw(span_make((uint8_t *)body, sizeof(body)), "a").size, 0);
    body[sizeof(body) - 1] = '"';
    body[5] = '"';
    assert_int_equal(
        json_value_raw(span_make((uint8_t *)body, sizeof(body)), "a").size, sizeof(body) - 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_found_by_the_names_of_its_objects),
        cmocka_unit_test(an_object_is_no_value_whatever_its_names_are),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(a_value_is_shown_as_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
