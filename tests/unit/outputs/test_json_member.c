#include "support/test.h"

#include "outputs/json_member.h"

static void a_member_is_found_as_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *object, *name, *value;
    } cases[] = {
        {"{\"a\":1}", "a", "1"},
        {"{\"a\":1,\"b\":\"x\"}", "b", "\"x\""},
        {" { \"a\" : [1, {\"b\":2}] , \"b\" : true } ", "b", "true"},
        {"{\"x\":{\"a\":1},\"a\":{\"b\":[\"}\",\"{\"]}}", "a", "{\"b\":[\"}\",\"{\"]}"},
        {"{\"x\":\"\\\"a\\\":3\",\"a\":2}", "a", "2"},
        {"{\"x\":\"\\\\\",\"a\":2}", "a", "2"},
        {"{\"x\":\"\\\\\\\",\\\"a\\\":1\",\"a\":2}", "a", "2"},
        {"{\"a\":1,\"a\":2}", "a", "1"},
        {"{\"\":1}", "", "1"},
        {"{\"a\":\"\"}", "a", "\"\""},
        {"{\"a\":null}\n", "a", "null"},
        /* Not there. */
        {"{}", "a", ""},
        {"{\"b\":{\"a\":1}}", "a", ""},
        {"{\"b\":\"a\"}", "a", ""},
        {"{\"b\":[\"a\",1]}", "a", ""},
        {"{\"aa\":1}", "a", ""},
        {"[\"a\",1]", "a", ""},
        {"\"a\"", "a", ""},
        {"", "a", ""},
        {"{\"b\":1 \"a\":2}", "a", ""},
        {"{\"b\" 1,\"a\":2}", "a", ""},
        {"{a:2}", "a", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_span(json_member_find(span_text(cases[i].object), cases[i].name), cases[i].value);
    }
}

/* Copies of exactly that size, so that AddressSanitizer sees a read beyond the end. */
static void what_ends_anywhere_is_read_to_its_end(void **state)
{
    (void)state;
    static const char text[] =
        "{\"x\":\"\\u00e4\\\\\",\"host\":{\"name\":\"P\\\"C\"},\"l\":[1,{}]}";
    for (size_t size = 0; size < sizeof(text) - 1; size++) {
        uint8_t *copy = test_malloc(size + 1);
        struct buf out;
        memcpy(copy, text, size);
        struct span host = json_member_find(span_make(copy, size), "host");
        struct span inner;
        buf_init(&out, 100);
        assert_true(host.size == 0 || host.data >= copy);
        if (json_member_inner(json_member_find(host, "name"), &inner)) {
            assert_span(inner, "P\\\"C");
        }
        json_member_text(span_make(copy, size), &out);
        buf_fini(&out);
        test_free(copy);
    }
}

static void only_whole_strings_have_an_inside(void **state)
{
    (void)state;
    static const struct {
        const char *value, *inner; /* NULL: none */
    } cases[] = {{"\"a\"", "a"}, {"\"\"", ""}, {"\"a\\\"\"", "a\\\""}, {"\"", NULL}, {"\"a", NULL},
        {"\"a\\\"", NULL}, {"1", NULL}, {"", NULL}, {"{\"a\":1}", NULL}, {"\"a\"b\"", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct span inner = span_text("untouched");
        bool is_string = json_member_inner(span_text(cases[i].value), &inner);
        assert_int_equal(is_string, cases[i].inner != NULL);
        assert_span(inner, cases[i].inner ? cases[i].inner : "untouched");
    }
}

static void text_is_appended_without_its_escapes(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 8);
    json_member_text(span_text("a\\n"), &out);
    json_member_text(span_text(""), &out);
    json_member_text(span_text("\\u00e4"), &out);
    assert_span(buf_span(&out), "a\n\xc3\xa4");
    json_member_text(span_text("12345"), &out);
    assert_true(out.failed);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_as_it_stands),
        cmocka_unit_test(what_ends_anywhere_is_read_to_its_end),
        cmocka_unit_test(only_whole_strings_have_an_inside),
        cmocka_unit_test(text_is_appended_without_its_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
