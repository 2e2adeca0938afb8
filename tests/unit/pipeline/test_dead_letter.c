#include "pipeline/dead_letter.h"

#include <stdlib.h>

#include "support/test.h"

/* 2026-11-21T19:00:00.1234567Z */
static const uint64_t some_time = UINT64_C(134397612001234567);

static struct dead_letter full_letter(void)
{
    return (struct dead_letter){.id = 12,
        .time = some_time,
        .output = span_text("siem"),
        .status = 400,
        .type = span_text("mapper_parsing_exception"),
        .reason = span_text("failed to parse field [data.x] of type [long]: \"a\\b\"\n\x01"),
        .index = span_text("logs-etw.native-default"),
        .route = span_text("logs-etw.native-default"),
        .document_id = span_text("00112233445566778899aabbccddeeff"),
        .document = span_text("{\"data\":{\"x\":\"}\\\"\"}}")};
}

static void assert_same(const struct dead_letter *a, const struct dead_letter *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->time, b->time);
    assert_int_equal(a->status, b->status);
    assert_true(span_equal(a->output, b->output));
    assert_true(span_equal(a->type, b->type));
    assert_true(span_equal(a->reason, b->reason));
    assert_true(span_equal(a->index, b->index));
    assert_true(span_equal(a->route, b->route));
    assert_true(span_equal(a->document_id, b->document_id));
    assert_true(span_equal(a->document, b->document));
}

static void users_see_the_members_that_are_promised(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 10000);
    struct dead_letter letter = full_letter();
    dead_letter_json(&letter, &out);
    assert_span(buf_span(&out),
        "{\"id\":12,\"time\":\"2026-11-21T19:00:00.1234567Z\",\"output\":\"siem\",\"status\":400,"
        "\"type\":\"mapper_parsing_exception\",\"reason\":\"failed to parse field [data.x] of type "
        "[long]: \\\"a\\\\b\\\"\\n\\u0001\",\"index\":\"logs-etw.native-default\","
        "\"document\":{\"data\":{\"x\":\"}\\\"\"}}}");
    buf_fini(&out);
}

static void what_is_unknown_is_null(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 10000);
    struct dead_letter letter = {.id = 1, .time = some_time, .output = span_text("o")};
    dead_letter_json(&letter, &out);
    assert_span(buf_span(&out),
        "{\"id\":1,\"time\":\"2026-11-21T19:00:00.1234567Z\",\"output\":\"o\",\"status\":null,"
        "\"type\":null,\"reason\":null,\"index\":null,\"document\":null}");
    buf_fini(&out);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const char *const documents[] = {"{}", "{\"a\":1}", "", "plain text", "two\nlines\n",
        "{\"a\":1}\n{\"b\":2}", "\"", "{", "null", "\xc3\xa4 \xf0\x9f\x98\x80 \\u0041",
        "{\"a\":{\"b\":{}}}", "\n\x0c\xff\x80\n\x01", "base64:", "base64:AAA", "base64:QUJD"};
    struct buf line;
    struct buf texts;
    buf_init(&line, 10000);
    buf_init(&texts, 10000);
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        struct dead_letter letter =
            i ? full_letter()
              : (struct dead_letter){.time = some_time, .id = INT64_MAX, .output = span_text("o")};
        struct dead_letter again;
        letter.document = span_text(documents[i]);
        buf_reset(&line);
        dead_letter_write(&letter, &line);
        assert_false(line.failed);
        assert_int_equal(line.data[line.size - 1], '\n');
        assert_null(memchr(line.data, '\n', line.size - 1));
        assert_true(dead_letter_read(span_first(buf_span(&line), line.size - 1), &texts, &again));
        assert_same(&again, &letter);
    }
    buf_fini(&line);
    buf_fini(&texts);
}

/* A process that dies leaves the beginning of a line, also one that ends like a whole one. */
static void a_line_that_was_cut_off_is_none(void **state)
{
    (void)state;
    struct buf line;
    struct buf texts;
    buf_init(&line, 10000);
    buf_init(&texts, 10000);
    struct dead_letter letter = full_letter();
    letter.document = span_text("{\"a\":{\"b\":{\"c\":{}},\"d\":{}},\"e\":{}}");
    dead_letter_write(&letter, &line);
    for (size_t size = 0; size < line.size - 1; size++) {
        uint8_t *exact = malloc(size + 1);
        assert_non_null(exact);
        memcpy(exact, line.data, size);
        struct dead_letter again = {.id = 77};
        assert_false(dead_letter_read(span_make(exact, size), &texts, &again));
        assert_int_equal(again.id, 77);
        free(exact);
    }
    buf_fini(&line);
    buf_fini(&texts);
}

static void what_is_no_such_line_is_refused(void **state)
{
    (void)state;
#define HEAD "{\"id\":1,\"time\":\"2026-11-21T19:00:00.1234567Z\",\"output\":\"o\",\"status\":"
#define TEXTS ",\"type\":null,\"reason\":null,\"index\":null,\"route\":null,\"document_id\":null"
    static const struct {
        const char *line;
        bool good;
    } cases[] = {{HEAD "1" TEXTS ",\"document_bytes\": 2,\"document\":{}}", true},
        {HEAD "1" TEXTS ",\"document_bytes\":3,\"document\":\"a\"}", true},
        {HEAD "null" TEXTS ",\"document_bytes\":4,\"document\":null}", true},
        {HEAD "1" TEXTS ",\"document_bytes\":3,\"document\":{}}", false},
        {HEAD "1" TEXTS ",\"document_bytes\":1,\"document\":{}}", false},
        {HEAD "1" TEXTS ",\"document_bytes\":0,\"document\":}", false},
        {HEAD "1" TEXTS ",\"document_bytes\":2,\"document\":{}]", false},
        {HEAD "1" TEXTS ",\"document_bytes\":2,\"document\":[]}", false},
        {HEAD "1" TEXTS ",\"document_bytes\":5,\"document\":\"a\"bc}", false},
        {HEAD "1" TEXTS ",\"document_bytes\":18446744073709551616,\"document\":{}}", false},
        {HEAD "2147483647" TEXTS ",\"document_bytes\":2,\"document\":{}}", true},
        {HEAD "2147483648" TEXTS ",\"document_bytes\":2,\"document\":{}}", false},
        {HEAD "-1" TEXTS ",\"document_bytes\":2,\"document\":{}}", false},
        {HEAD "" TEXTS ",\"document_bytes\":2,\"document\":{}}", false},
        {"{\"id\":18446744073709551615,\"time\":\"yesterday\",\"output\":\"o\",\"status\":1" TEXTS
         ",\"document_bytes\":2,\"document\":{}}",
            false},
        {"{\"id\":9223372036854775808,\"time\":\"2026-11-21T19:00:00Z\",\"output\":\"o\","
         "\"status\":1" TEXTS ",\"document_bytes\":2,\"document\":{}}",
            false},
        {"{\"id\":\"1\"", false}, {"{}", false}, {"", false}, {"\n", false},
        {HEAD "1,\"type\":\"\\ud83d\\ude00\\ud83d\\u00e4\\/\\b\\f\\n\\r\\t\",\"reason\":null,"
              "\"index\":null,\"route\":null,\"document_id\":null,\"document_bytes\":2,"
              "\"document\":{}}",
            true},
        {HEAD "1,\"type\":\"\\x\"", false}, {HEAD "1,\"type\":\"\\u12g4\"", false},
        {HEAD "1,\"type\":\"\\u12", false}, {HEAD "1,\"type\":\"\\", false}};
    struct buf texts;
    buf_init(&texts, 10000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dead_letter letter;
        bool good = dead_letter_read(span_text(cases[i].line), &texts, &letter);
        if (good != cases[i].good) {
            fail_msg("case %zu: %s", i, cases[i].line);
        }
        if (good && letter.type.size) {
            assert_span(letter.type, "\xf0\x9f\x98\x80\xef\xbf\xbd\xc3\xa4/\b\f\n\r\t");
        }
    }
    buf_fini(&texts);
#undef HEAD
#undef TEXTS
}

static void a_letter_without_room_is_not_half_written(void **state)
{
    (void)state;
    struct buf line;
    struct dead_letter letter = full_letter();
    for (size_t max = 0; max < 450; max++) {
        buf_init(&line, max);
        dead_letter_write(&letter, &line);
        struct buf texts;
        buf_init(&texts, 10000);
        struct dead_letter again;
        bool whole = line.size && line.data[line.size - 1] == '\n' && !line.failed;
        assert_int_equal(whole, !line.failed);
        if (whole) {
            assert_true(
                dead_letter_read(span_first(buf_span(&line), line.size - 1), &texts, &again));
        }
        buf_fini(&texts);
        buf_fini(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_see_the_members_that_are_promised),
        cmocka_unit_test(what_is_unknown_is_null),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_line_that_was_cut_off_is_none),
        cmocka_unit_test(what_is_no_such_line_is_refused),
        cmocka_unit_test(a_letter_without_room_is_not_half_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
