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
        {"\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"},
        {"bell\a tab\t", "bell\\u0007 tab\\u0009"}, {"del\x7f", "del\\u007f"},
        {"csi \xc2\x9b"
         "2J nel \xc2\x85",
            "csi \\u009b2J nel \\u0085"},
        {"line\xe2\x80\xa8paragraph\xe2\x80\xa9", "line\\u2028paragraph\\u2029"},
        {"no controls: \xc2\xa0 \xe2\x80\xaa \xc3\x9b \xf0\x9f\x92\xa9",
            "no controls: \xc2\xa0 \xe2\x80\xaa \xc3\x9b \xf0\x9f\x92\xa9"},
        {"cut \xc2", "cut \xc2"}, {"cut \xe2\x80", "cut \xe2\x80"}};
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
        cmocka_unit_test(what_has_no_room_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
