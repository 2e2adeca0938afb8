#include "support/test.h"

#include <stdio.h>

#include "base/buf.h"
#include "outputs/json_scan.h"
#include "support/json_check.h"

/* Tokens as a line of text: { } [ ] k:name s:text n:1 w:true, with blanks between. */
struct trace {
    struct buf text;
    int stop_after; /* tokens; -1: never */
};

static bool note(void *self, enum json_token token, struct span text)
{
    static const char *const marks[] = {"{", "}", "[", "]", "k:", "s:", "n:", "w:"};
    struct trace *trace = self;
    if (trace->text.size) {
        buf_add_byte(&trace->text, ' ');
    }
    buf_add_text(&trace->text, marks[token]);
    buf_add_span(&trace->text, text);
    return trace->stop_after < 0 || trace->stop_after-- > 0;
}

static bool scan(struct trace *trace, struct span json, size_t piece)
{
    struct json_scan s;
    buf_init(&trace->text, 1 << 20);
    trace->stop_after = -1;
    json_scan_init(&s, note, trace);
    for (size_t at = 0; at < json.size; at += piece) {
        if (!json_scan_feed(&s, span_first(span_from(json, at), piece))) {
            return false;
        }
    }
    return json_scan_is_whole(&s);
}

static void assert_tokens(const char *json, const char *expected)
{
    for (size_t piece = 1; piece <= strlen(json); piece++) {
        struct trace trace;
        assert_true(scan(&trace, span_text(json), piece));
        assert_span(buf_span(&trace.text), expected);
        buf_fini(&trace.text);
    }
}

static void every_kind_of_value_is_told_in_pieces_of_any_size(void **state)
{
    (void)state;
    assert_tokens("{}", "{ }");
    assert_tokens(" [ ] \r\n\t", "[ ]");
    assert_tokens("[1,-0,0.5,12e3,1E+2,-7.25e-1]", "[ n:1 n:-0 n:0.5 n:12e3 n:1E+2 n:-7.25e-1 ]");
    assert_tokens("[true, false ,null]", "[ w:true w:false w:null ]");
    assert_tokens("{\"a\" : {\"b\":[[],{}]} , \"c\":\"\"}", "{ k:a { k:b [ [ ] { } ] } k:c s: }");
    assert_tokens("[\"a\\\"b\\\\c\\/d\\n\\u0041\"]", "[ s:a\"b\\c/d\nA ]");
    assert_tokens("[\"\\u00e4\\ud83d\\ude00\xc3\xa4\"]", "[ s:\xc3\xa4\xf0\x9f\x98\x80\xc3\xa4 ]");
}

static void half_a_pair_of_units_becomes_a_replacement(void **state)
{
    (void)state;
    static const char mark[] = "\xef\xbf\xbd";
    static const char *const cases[] = {
        "\\ud83d", "\\ude00", "\\ud83dx", "\\ud83d\\n", "\\ud83d\\u0041", "\\ud83d\\ud83d\\ude00"};
    static const char *const rests[] = {"", "", "x", "\n", "A", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char json[64];
        char expected[64];
        snprintf(json, sizeof(json), "[\"%s\"]", cases[i]);
        snprintf(expected, sizeof(expected), "[ s:%s%s ]", mark, rests[i]);
        assert_tokens(json, expected);
    }
}

static void what_is_no_json_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"", " ", "x", "1", "true", "\"a\"", "}", "]", "{]", "[}",
        "{,}", "[,]", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{1:1}",
        "[01]", "[1.]", "[.5]", "[-]", "[+1]", "[1e]", "[1e+]", "[1 2]", "[1x]", "[--1]", "[tru]",
        "[trues]", "[True]", "[nul]", "[\"a]", "[\"\\x\"]", "[\"\\u12\"]", "[\"\\u12g4\"]",
        "[\"a\nb\"]", "[]]", "[][]", "{}x", "[1,,2]", "\xef\xbb\xbf[]", "['a']", "<html>"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t piece = 1; piece < 4; piece++) {
            struct trace trace;
            if (scan(&trace, span_text(cases[i]), piece)) {
                fail_msg("took %s", cases[i]);
            }
            buf_fini(&trace.text);
        }
    }
    struct trace trace;
    assert_false(scan(&trace, span_make("[\"\0\"]", 5), 5));
    buf_fini(&trace.text);
}

static void nothing_is_taken_after_what_was_refused(void **state)
{
    (void)state;
    struct trace trace = {.stop_after = -1};
    struct json_scan s;
    buf_init(&trace.text, 1024);
    json_scan_init(&s, note, &trace);
    assert_false(json_scan_feed(&s, span_text("[x")));
    assert_false(json_scan_feed(&s, span_text("[]")));
    assert_false(json_scan_is_whole(&s));
    assert_false(json_scan_feed(&s, span_text("")));
    assert_span(buf_span(&trace.text), "[");
    buf_fini(&trace.text);
}

static void the_function_can_stop_the_scan(void **state)
{
    (void)state;
    for (int after = 0; after < 4; after++) {
        struct trace trace = {.stop_after = after};
        struct json_scan s;
        buf_init(&trace.text, 1024);
        json_scan_init(&s, note, &trace);
        assert_false(json_scan_feed(&s, span_text("{\"a\":[1]}")));
        assert_false(json_scan_is_whole(&s));
        buf_fini(&trace.text);
    }
}

static void nesting_has_a_limit(void **state)
{
    (void)state;
    for (size_t depth = JSON_SCAN_MAX_DEPTH - 1; depth <= JSON_SCAN_MAX_DEPTH + 1; depth++) {
        struct trace trace;
        struct buf json;
        buf_init(&json, 1024);
        for (size_t i = 0; i < depth; i++) {
            buf_add_text(&json, i % 2 ? "{\"a\":" : "[");
        }
        buf_add_text(&json, "1");
        for (size_t i = depth; i-- > 0;) {
            buf_add_text(&json, i % 2 ? "}" : "]");
        }
        assert_int_equal(scan(&trace, buf_span(&json), 7), depth <= JSON_SCAN_MAX_DEPTH);
        buf_fini(&trace.text);
        buf_fini(&json);
    }
}

/* Characters of one to four bytes across the limit, at every offset, in pieces and escaped. */
static void long_text_is_cut_on_a_character(void **state)
{
    (void)state;
    static const char *const characters[] = {"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t size = 1; size <= 4; size++) {
        for (size_t lead = 0; lead < 4; lead++) {
            struct trace trace;
            struct buf json;
            buf_init(&json, 8192);
            buf_add_text(&json, "[\"");
            for (size_t i = 0; i < lead; i++) {
                buf_add_text(&json, "x");
            }
            for (size_t i = 0; i < 1200; i++) {
                buf_add_text(&json, characters[size - 1]);
            }
            buf_add_text(&json, "\"]");
            assert_true(scan(&trace, buf_span(&json), 1 + lead));
            size_t kept = lead + (JSON_SCAN_MAX_TEXT - lead) / size * size;
            assert_int_equal(trace.text.size, strlen("[ s: ]") + kept);
            assert_memory_equal(trace.text.data + 4, json.data + 2, kept);
            buf_fini(&trace.text);
            buf_fini(&json);
        }
    }
}

static void what_it_takes_is_json_to_another_reader_too(void **state)
{
    (void)state;
    static const char *const alphabet[] = {
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-", "0", ".", "e", "true"};
    enum { LETTERS = sizeof(alphabet) / sizeof(alphabet[0]), LENGTH = 5 };
    size_t taken = 0;
    size_t all = 1;
    for (int i = 0; i < LENGTH; i++) {
        all *= LETTERS;
    }
    for (size_t n = 0; n < all; n++) {
        char json[32] = "";
        size_t rest = n;
        for (int i = 0; i < LENGTH; i++, rest /= LETTERS) {
            size_t used = strlen(json);
            snprintf(json + used, sizeof(json) - used, "%s", alphabet[rest % LETTERS]);
        }
        struct trace trace;
        size_t at;
        bool ours = scan(&trace, span_text(json), 1);
        const char *fault = json_check(span_text(json), &at);
        bool theirs = (json[0] == '{' || json[0] == '[') && !fault;
        if (ours != theirs) {
            fail_msg("%s: %s", json, fault ? fault : "is JSON");
        }
        taken += ours;
        buf_fini(&trace.text);
    }
    assert_true(taken > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_is_told_in_pieces_of_any_size),
        cmocka_unit_test(half_a_pair_of_units_becomes_a_replacement),
        cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(nothing_is_taken_after_what_was_refused),
        cmocka_unit_test(the_function_can_stop_the_scan),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(long_text_is_cut_on_a_character),
        cmocka_unit_test(what_it_takes_is_json_to_another_reader_too),
    };
    return cmocka_run_group_tests_name("outputs/json_scan", tests, NULL, NULL);
}
