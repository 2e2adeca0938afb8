#include "pipeline/deliver/dead_letter.h"

#include <stdio.h>

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

static void a_document_that_is_no_object_is_a_string(void **state)
{
    (void)state;
    static const struct {
        const char *document;
        const char *json;
    } cases[] = {{"plain text", "\"plain text\""}, {"two\nlines\n", "\"two\\nlines\\n\""},
        {"{\"a\":1}\n{\"b\":2}", "\"{\\\"a\\\":1}\\n{\\\"b\\\":2}\""}, {"{", "\"{\""},
        {"\n\x0c", "\"base64:Cgw=\""}};
    struct buf out;
    buf_init(&out, 10000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dead_letter letter = {
            .id = 1, .time = some_time, .document = span_text(cases[i].document)};
        char end[200];
        buf_reset(&out);
        dead_letter_json(&letter, &out);
        snprintf(end, sizeof(end), ",\"document\":%s}", cases[i].json);
        assert_true(out.size > strlen(end));
        assert_span(span_from(buf_span(&out), out.size - strlen(end)), end);
    }
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_see_the_members_that_are_promised),
        cmocka_unit_test(what_is_unknown_is_null),
        cmocka_unit_test(a_document_that_is_no_object_is_a_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
