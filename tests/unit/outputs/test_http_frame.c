#include "support/test.h"

#include <stdio.h>

#include "outputs/http/http_frame.h"

enum { ROOM_BYTES = 4096, MAX_RECORDS = 8 };

/* The body that ${framing} makes of lines ${first} to ${first} + ${count} of ${lines}. */
static void assert_body(enum http_framing framing, const struct http_frame_hec *hec,
    const char *lines, size_t first, size_t count, const char *expected)
{
    struct http_frame frame;
    struct buf room;
    struct span body;
    uint32_t ends[MAX_RECORDS];
    struct delivery delivery = {.bytes = span_text(lines), .record_ends = ends};
    for (uint32_t i = 0; lines[i]; i++) {
        if (lines[i] == '\n') {
            ends[delivery.record_count++] = i + 1;
        }
    }
    buf_init(&room, ROOM_BYTES);
    assert_true(http_frame_init(&frame, framing, hec));
    assert_true(http_frame_body(&frame, &delivery, first, count, &room, &body));
    assert_span(body, expected);
    /* Again, over the previous content of the memory. */
    assert_true(http_frame_body(&frame, &delivery, first, count, &room, &body));
    assert_span(body, expected);
    http_frame_fini(&frame);
    buf_fini(&room);
}

static const struct http_frame_hec no_hec;
static const char three[] = "{\"a\":1}\n{\"b\":\"x\\ny\"}\n{}\n";

static void lines_are_the_bytes_themselves(void **state)
{
    (void)state;
    assert_body(HTTP_FRAMING_NDJSON, &no_hec, three, 0, 3, three);
    assert_body(HTTP_FRAMING_NDJSON, &no_hec, three, 1, 1, "{\"b\":\"x\\ny\"}\n");
    assert_body(HTTP_FRAMING_NDJSON, &no_hec, three, 2, 1, "{}\n");
    assert_body(HTTP_FRAMING_NDJSON, &no_hec, three, 1, 0, "");
}

static void an_array_has_commas_between(void **state)
{
    (void)state;
    assert_body(
        HTTP_FRAMING_JSON_ARRAY, &no_hec, three, 0, 3, "[{\"a\":1},{\"b\":\"x\\ny\"},{}]\n");
    assert_body(HTTP_FRAMING_JSON_ARRAY, &no_hec, three, 1, 2, "[{\"b\":\"x\\ny\"},{}]\n");
    assert_body(HTTP_FRAMING_JSON_ARRAY, &no_hec, three, 2, 1, "[{}]\n");
    assert_body(HTTP_FRAMING_JSON_ARRAY, &no_hec, three, 0, 0, "[]\n");
}

static void a_message_is_one_line_and_an_event_without_one_its_json(void **state)
{
    (void)state;
    assert_body(HTTP_FRAMING_MESSAGE, &no_hec,
        "{\"data\":{\"message\":\"no\"},\"message\":\"a \\\"b\\\" \\u00e4\"}\n"
        "{\"message\":\"one\\r\\ntwo\\u0000three\"}\n"
        "{\"x\":\"\\n\"}\n"
        "{\"message\":7}\n"
        "{\"message\":\"\"}\n",
        0, 5, "a \"b\" \xc3\xa4\none  two three\n{\"x\":\"\\n\"}\n{\"message\":7}\n\n");
}

/* A reader tells the two kinds of lines by their first byte, so a writer of messages cannot pass
 * off a message as an event. */
static void a_message_never_looks_like_an_event(void **state)
{
    (void)state;
    assert_body(HTTP_FRAMING_MESSAGE, &no_hec,
        "{\"message\":\"{\\\"event\\\":{}}\"}\n"
        "{\"message\":\" {\"}\n"
        "{\"message\":\"\\n{\"}\n"
        "{\"message\":\"{\"}\n"
        "{\"message\":\"\\u007b\"}\n"
        "{\"x\":1}\n",
        0, 6, " {\"event\":{}}\n {\n {\n {\n {\n{\"x\":1}\n");
}

/* "Format events for HTTP Event Collector" of Splunk's documentation. */
static void splunk_gets_time_host_and_what_is_set(void **state)
{
    (void)state;
    static const char event[] =
        "{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"data\":{\"host\":{\"name\":\"no\"}},"
        "\"host\":{\"os\":{\"name\":\"no\"},\"name\":\"P\\\"C\"}}";
    char lines[512];
    char expected[1024];
    snprintf(lines, sizeof(lines), "%s\n{}\n", event);
    snprintf(expected, sizeof(expected),
        "{\"time\":1795253400.1234567,\"host\":\"P\\\"C\",\"source\":\"s\",\"sourcetype\":\"etw:"
        "json\","
        "\"index\":\"\\\"m\\\\\",\"event\":%s}\n"
        "{\"source\":\"s\",\"sourcetype\":\"etw:json\",\"index\":\"\\\"m\\\\\",\"event\":{}}\n",
        event);
    static const struct http_frame_hec hec = {
        .source = "s", .sourcetype = "etw:json", .index = "\"m\\"};
    assert_body(HTTP_FRAMING_SPLUNK_HEC, &hec, lines, 0, 2, expected);
    snprintf(expected, sizeof(expected),
        "{\"time\":1795253400.1234567,\"host\":\"P\\\"C\",\"event\":%s}\n", event);
    assert_body(HTTP_FRAMING_SPLUNK_HEC, &no_hec, lines, 0, 1, expected);
}

static void what_splunk_cannot_take_for_a_time_or_a_host_is_left_out(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"@timestamp\":\"1601-01-01T00:00:00.0000000Z\"}",
        "{\"@timestamp\":\"1969-12-31T23:59:59.9999999Z\"}",
        "{\"@timestamp\":5}",
        "{\"@timestamp\":\"yesterday\"}",
        "{\"host\":\"PC\"}",
        "{\"host\":{\"name\":7}}",
        "{\"host\":{\"name\":\"\"}}",
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        char lines[128];
        char expected[128];
        snprintf(lines, sizeof(lines), "%s\n", events[i]);
        snprintf(expected, sizeof(expected), "{\"event\":%s}\n", events[i]);
        assert_body(HTTP_FRAMING_SPLUNK_HEC, &no_hec, lines, 0, 1, expected);
    }
    assert_body(HTTP_FRAMING_SPLUNK_HEC, &no_hec,
        "{\"@timestamp\":\"1970-01-01T00:00:00.0000000Z\"}\n", 0, 1,
        "{\"time\":0.0000000,\"event\":{\"@timestamp\":\"1970-01-01T00:00:00.0000000Z\"}}\n");
}

static void without_room_there_is_no_body(void **state)
{
    (void)state;
    static const enum http_framing framings[] = {
        HTTP_FRAMING_JSON_ARRAY, HTTP_FRAMING_MESSAGE, HTTP_FRAMING_SPLUNK_HEC};
    static const uint32_t ends[] = {8, 16};
    const struct delivery delivery = {
        .bytes = span_text("{\"a\":1}\n{\"a\":2}\n"), .record_ends = ends, .record_count = 2};
    for (size_t i = 0; i < 3; i++) {
        struct http_frame frame;
        struct buf room;
        struct span body;
        buf_init(&room, 9);
        assert_true(http_frame_init(&frame, framings[i], &no_hec));
        assert_false(http_frame_body(&frame, &delivery, 0, 2, &room, &body));
        http_frame_fini(&frame);
        buf_fini(&room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_bytes_themselves),
        cmocka_unit_test(an_array_has_commas_between),
        cmocka_unit_test(a_message_is_one_line_and_an_event_without_one_its_json),
        cmocka_unit_test(a_message_never_looks_like_an_event),
        cmocka_unit_test(splunk_gets_time_host_and_what_is_set),
        cmocka_unit_test(what_splunk_cannot_take_for_a_time_or_a_host_is_left_out),
        cmocka_unit_test(without_room_there_is_no_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
