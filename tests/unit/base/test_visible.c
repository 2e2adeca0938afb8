#include "base/visible.h"

#include <string.h>

#include "support/test.h"

static void what_would_steer_a_terminal_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *shown;
    } cases[] = {{"", ""}, {"plain\ntext", "plain\ntext"},
        {"\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"}, {"bell\a tab\t", "bell\\u0007 tab\\t"},
        {"del\x7f", "del\\u007f"},
        {"csi \xc2\x9b"
         "2J nel \xc2\x85",
            "csi \\u009b2J nel \\u0085"},
        {"line\xe2\x80\xa8paragraph\xe2\x80\xa9", "line\\u2028paragraph\\u2029"},
        {"no controls: \xc2\xa0 \xe2\x80\x94 \xe2\x81\xa5 \xe2\x81\xaa \xd8\x9b \xc3\x9b "
         "\xf0\x9f\x92\xa9",
            "no controls: \xc2\xa0 \xe2\x80\x94 \xe2\x81\xa5 \xe2\x81\xaa \xd8\x9b \xc3\x9b "
            "\xf0\x9f\x92\xa9"},
        {"cut \xc2", "cut \xef\xbf\xbd"}, {"cut \xe2\x80", "cut \xef\xbf\xbd"},
        {"8-bit csi \x9b"
         "2J",
            "8-bit csi \xef\xbf\xbd"
            "2J"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;
        buf_init(&out, 1000);
        buf_add_text(&out, "\x1b[1m");
        buf_add_text(&out, cases[i].text);
        visible_make(&out, 4);
        assert_memory_equal(out.data, "\x1b[1m", 4);
        assert_span(span_from(buf_span(&out), 4), cases[i].shown);
        buf_fini(&out);
    }
}

/* Unicode Standard Annex 9, table 4. */
static void what_turns_the_order_of_text_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *shown;
    } cases[] = {{"\xd8\x9c", "\\u061c"}, {"\xe2\x80\x8e", "\\u200e"}, {"\xe2\x80\x8f", "\\u200f"},
        {"\xe2\x80\xaa", "\\u202a"}, {"\xe2\x80\xab", "\\u202b"}, {"\xe2\x80\xac", "\\u202c"},
        {"\xe2\x80\xad", "\\u202d"}, {"\xe2\x80\xae", "\\u202e"}, {"\xe2\x81\xa6", "\\u2066"},
        {"\xe2\x81\xa7", "\\u2067"}, {"\xe2\x81\xa8", "\\u2068"}, {"\xe2\x81\xa9", "\\u2069"},
        {"a\xe2\x80\x8b", "a\\u200b"}, {"a\xe2\x80\x8d", "a\\u200d"}, {"\xe2\x81\xa0", "\\u2060"},
        {"\xef\xbb\xbf", "\\ufeff"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;
        buf_init(&out, 1000);
        visible_add(&out, span_text(cases[i].text));
        assert_span(buf_span(&out), cases[i].shown);
        buf_fini(&out);
    }
}

static void a_message_is_one_line_in_its_array(void **state)
{
    (void)state;
    char text[24] = "one\ntwo\xe2\x80\xae three";
    visible_fit(text, sizeof(text));
    assert_string_equal(text, "one\\ntwo\\u202e three");
    char tight[8] = "abcd\x1b";
    visible_fit(tight, sizeof(tight));
    assert_string_equal(tight, "abcd"); /* an escape is written completely, or not at all */
    char cut[8] = "abcd\xe2\x82";
    visible_fit(cut, sizeof(cut));
    assert_string_equal(cut, "abcd\xef\xbf\xbd");
    char plain[4] = "abc";
    visible_fit(plain, sizeof(plain));
    assert_string_equal(plain, "abc");
}

static void a_name_stays_on_its_line(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1000);
    buf_add_text(&out, "1\n");
    visible_add(&out, span_text("two\nlines\r\n\b\f C:\\temp"));
    assert_span(buf_span(&out), "1\ntwo\\nlines\\r\\n\\b\\f C:\\temp");
    visible_make_line(&out, 0);
    assert_span(buf_span(&out), "1\\ntwo\\nlines\\r\\n\\b\\f C:\\temp");
    buf_fini(&out);
}

static void what_has_no_room_is_taken_back(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 10);
    buf_add_text(&out, "mine\x1b\x1b\x1b");
    visible_make(&out, 4);
    assert_true(out.failed);
    assert_span(buf_span(&out), "mine");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_would_steer_a_terminal_is_shown),
        cmocka_unit_test(what_turns_the_order_of_text_is_shown),
        cmocka_unit_test(a_message_is_one_line_in_its_array),
        cmocka_unit_test(a_name_stays_on_its_line),
        cmocka_unit_test(what_has_no_room_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
