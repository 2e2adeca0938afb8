#include "support/test.h"

#include "base/text/json_escape.h"

static const struct {
    const char *escaped, *text;
} cases[] = {
    {"", ""},
    {"plain", "plain"},
    {"a\\nb\\t\\r\\b\\f", "a\nb\t\r\b\f"},
    {"\\\"\\\\\\/", "\"\\/"},
    {"\\u0041\\u00e4\\u20AC", "A\xc3\xa4\xe2\x82\xac"},
    {"\\ud83d\\ude00!", "\xf0\x9f\x98\x80!"},
    {"\\ud83d", "\xef\xbf\xbd"},
    {"\\ude00x", "\xef\xbf\xbdx"},
    {"\\ud83d\\u0041", "\xef\xbf\xbd"
                       "A"},
    {"\\uD8", "uD8"},
    {"\\u00g1", "u00g1"},
    {"a\\", "a\\"},
    {"\xc3\xa4", "\xc3\xa4"},
};

static void text_is_what_the_escapes_mean(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct span escaped = span_text(cases[i].escaped);
        uint8_t *copy = test_malloc(escaped.size + 1);
        memcpy(copy, escaped.data, escaped.size);
        size_t size = json_escape_undo(copy, escaped.size);
        assert_span(span_make(copy, size), cases[i].text);
        test_free(copy);
    }
}

/* Copies of exactly that size, so that AddressSanitizer sees a read beyond the end. */
static void what_ends_anywhere_is_read_to_its_end(void **state)
{
    (void)state;
    static const char text[] = "\\u00e4\\\\\\ud83d\\ude00\\n\\";
    for (size_t size = 1; size < sizeof(text); size++) {
        uint8_t *copy = test_malloc(size);
        memcpy(copy, text, size);
        assert_true(json_escape_undo(copy, size) <= size);
        test_free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_what_the_escapes_mean),
        cmocka_unit_test(what_ends_anywhere_is_read_to_its_end),
    };
    return cmocka_run_group_tests_name("base/text/json_escape", tests, NULL, NULL);
}
