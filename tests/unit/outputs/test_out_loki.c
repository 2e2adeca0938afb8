#include "unit/outputs/http_rig.h"

#include "base/protobuf.h"

/* A scripted Loki. */
static struct http_rig s = {.ops = &output_loki, .key = "url"};

/* An event of provider ${provider}, this many tenths of microseconds after 2026-11-21T09:30:00,
 * which is 1795253400 since 1970 by Python's datetime. */
#define EVENT(provider, ticks)                                                              \
    "{\"@timestamp\":\"2026-11-21T09:30:00." ticks "Z\",\"provider\":{\"name\":\"" provider \
    "\"},\"event\":{\"code\":3008,\"level\":4},\"host\":{\"name\":\"PC\"}}\n"
#define LINE(provider, ticks)                                                                      \
    "[\"1795253400" ticks "00\",\"{\\\"@timestamp\\\":\\\"2026-11-21T09:30:00." ticks              \
    "Z\\\",\\\"provider\\\":{\\\"name\\\":\\\"" provider "\\\"},\\\"event\\\":{\\\"code\\\":3008," \
    "\\\"level\\\":4},\\\"host\\\":{\\\"name\\\":\\\"PC\\\"}}\",{\"event_code\":\"3008\"}]"
#define STREAM(provider)                                                        \
    "{\"stream\":{\"job\":\"etwship\",\"host\":\"PC\",\"provider\":\"" provider \
    "\",\"level\":\"info\"}"

static void lines_stand_in_streams_in_the_order_of_their_times(void **state)
{
    (void)state;
    http_rig_start(&s, ", tenant: blue, auth: {user: u, password: p-4711-x}");
    assert_int_equal(rig_send(&s.rig, EVENT("A", "0000003") EVENT("B", "0000002")
                                          EVENT("A", "0000001") EVENT("A", "0000003")),
        OUTPUT_DELIVERED);
    assert_string_equal(http_rig_body(&s, 0),
        "{\"streams\":[" STREAM("A") ",\"values\":[" LINE("A", "0000001") "," LINE(
            "A", "0000003") "," LINE("A", "0000003") "]}," STREAM("B") ",\"values\":[" LINE("B",
            "0000002") "]}]}");
    const struct http_fake_request *request = http_fake_request(s.fake, 0);
    assert_memory_equal(request->head, "POST /loki/api/v1/push ", 23);
    assert_true(http_fake_has(request, "X-Scope-OrgID", "blue"));
    assert_true(http_fake_has(request, "Content-Type", "application/json"));
    assert_true(http_fake_has(request, "Authorization", "Basic dTpwLTQ3MTEteA=="));
    http_rig_stop(&s);
}

static void what_is_no_label_is_metadata(void **state)
{
    (void)state;
    http_rig_start(&s, ", labels: [host]");
    assert_int_equal(rig_send(&s.rig, EVENT("A", "0000001")), OUTPUT_DELIVERED);
    assert_non_null(
        strstr(http_rig_body(&s, 0), "{\"stream\":{\"job\":\"etwship\",\"host\":\"PC\"}"));
    assert_non_null(strstr(
        http_rig_body(&s, 0), "{\"provider\":\"A\",\"level\":\"info\",\"event_code\":\"3008\"}]"));
    http_rig_stop(&s);
}

static void streams_beyond_the_limit_become_one(void **state)
{
    (void)state;
    http_rig_start(&s, ", max_streams: 1");
    assert_int_equal(
        rig_send(&s.rig, EVENT("A", "0000001") EVENT("B", "0000002") EVENT("C", "0000003")),
        OUTPUT_DELIVERED);
    const char *overflow = strstr(http_rig_body(&s, 0),
        "{\"stream\":{\"job\":\"etwship\",\"overflow\":\"true\"},\"values\":[");
    assert_non_null(overflow);
    assert_non_null(strstr(overflow,
        "{\"host\":\"PC\",\"provider\":\"B\",\"level\":\"info\",\"event_code\":\"3008\"}"));
    assert_non_null(strstr(overflow, "\"provider\":\"C\""));
    assert_null(strstr(overflow + 1, "{\"stream\""));
    http_rig_stop(&s);
}

/* ---- protobuf -------------------------------------------------------------------------------- */

/* The field ${number} that comes next. */
static struct span field(struct span *message, uint32_t number)
{
    struct protobuf_field found;
    assert_true(protobuf_next(message, &found));
    assert_int_equal(found.number, number);
    assert_int_equal(found.wire, PROTOBUF_BYTES);
    return found.bytes;
}

static uint64_t number(struct span *message, uint32_t wanted)
{
    struct protobuf_field found;
    assert_true(protobuf_next(message, &found));
    assert_int_equal(found.number, wanted);
    assert_int_equal(found.wire, PROTOBUF_VARINT);
    return found.value;
}

#define assert_text(span, text) assert_true(span_is(span, text))

/* Numbers of fields: pkg/push/push.proto. The form without compression: format_description.txt of
 * Snappy, where 252 is a literal with a length of four bytes. */
static void protobuf_says_the_same_in_snappys_format(void **state)
{
    (void)state;
    static const char line[] =
        "{\"@timestamp\":\"2026-11-21T09:30:00.0000002Z\",\"provider\":{\"name\":"
        "\"A\\\"\\u00e4\\n\"},\"event\":{\"code\":3008,\"level\":4,\"name\":"
        "\"x\\ty\"},\"host\":{\"name\":\"PC\"}}\n";
    http_rig_start(&s, ", encoding: protobuf");
    assert_int_equal(rig_send(&s.rig, line), OUTPUT_DELIVERED);
    const struct http_fake_request *request = http_fake_request(s.fake, 0);
    assert_true(http_fake_has(request, "Content-Type", "application/x-protobuf"));
    struct span body = request->body;
    assert_true(body.size > 10);
    assert_int_equal(body.data[0] & 0x7f, (body.size - 10) & 0x7f);
    assert_int_equal(body.data[1] & 0x7f, (body.size - 10) >> 7);
    assert_int_equal(body.data[5], 252);
    assert_int_equal(load_le32(body.data + 6), body.size - 10 - 1);
    struct span push = span_from(body, 10);
    struct span stream = field(&push, 1);
    assert_int_equal(push.size, 0);
    assert_text(field(&stream, 1),
        "{job=\"etwship\",host=\"PC\",provider=\"A\\\"\u00e4\\n\",level=\"info\"}");
    struct span entry = field(&stream, 2);
    assert_int_equal(stream.size, 0);
    struct span time = field(&entry, 1);
    assert_int_equal(number(&time, 1), 1795253400);
    assert_int_equal(number(&time, 2), 200);
    struct span text = field(&entry, 2);
    assert_int_equal(text.size, sizeof(line) - 2); /* without its line break and NUL */
    assert_memory_equal(text.data, line, text.size);
    struct span pair = field(&entry, 3);
    assert_text(field(&pair, 1), "event_code");
    assert_text(field(&pair, 2), "3008");
    pair = field(&entry, 3);
    assert_text(field(&pair, 1), "event_name");
    assert_text(field(&pair, 2), "x\ty");
    assert_int_equal(entry.size, 0);
    http_rig_stop(&s);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void lines_that_loki_names_are_dead_letters_and_the_others_delivered(void **state)
{
    (void)state;
    static const char words[] = "entry with timestamp 2026-11-21 09:30:00.0000002 +0000 UTC "
                                "ignored, reason: 'entry too far "
                                "behind, oldest acceptable timestamp is: "
                                "2026-11-21T10:00:00Z',\nuser 'fake', total ignored: 1 "
                                "out of 3 for stream: {job=\"etwship\"}";
    const struct http_fake_reply reply = {.status = 400, .body = words};
    http_rig_start(&s, "");
    http_fake_script(s.fake, &reply, 1);
    assert_int_equal(
        rig_send(&s.rig, EVENT("A", "0000001") EVENT("A", "0000002") EVENT("A", "0000003")),
        OUTPUT_MIXED);
    assert_int_equal(http_fake_count(s.fake), 1);
    assert_int_equal(s.rig.records[0], RECORD_DELIVERED);
    assert_int_equal(s.rig.records[1], RECORD_REJECTED);
    assert_int_equal(s.rig.records[2], RECORD_DELIVERED);
    assert_int_equal(s.rig.rejected_count, 1);
    assert_string_equal(s.rig.rejected[0].reason,
        "entry too far behind, oldest acceptable timestamp is: 2026-11-21T10:00:00Z");
    http_rig_stop(&s);
}

/* The last refused line of a stream decides the status. */
static void lines_that_came_too_early_come_again_though_others_are_refused(void **state)
{
    (void)state;
    static const char words[] =
        "entry with timestamp 2026-11-21 09:30:00.0000001 +0000 UTC ignored, reason: 'Per stream "
        "rate limit exceeded (limit: 3MB/sec) while attempting to ingest for stream "
        "'{job=\"etwship\"}' totaling 100B',\n"
        "entry with timestamp 2026-11-21 09:30:00.0000002 +0000 UTC ignored, reason: 'entry too "
        "far behind',\nuser 'fake', total ignored: 2 out of 3 for stream: {job=\"etwship\"}";
    const struct http_fake_reply reply = {.status = 400, .body = words};
    http_rig_start(&s, "");
    http_fake_script(s.fake, &reply, 1);
    assert_int_equal(
        rig_send(&s.rig, EVENT("A", "0000001") EVENT("A", "0000002") EVENT("A", "0000003")),
        OUTPUT_RETRY);
    assert_int_equal(http_fake_count(s.fake), 1);
    assert_int_equal(s.rig.rejected_count, 0);
    assert_false(s.rig.report.degraded);
    assert_non_null(strstr(s.rig.report.error.text, "overloaded"));
    http_rig_stop(&s);
}

/* The reply to a request with several streams names only one of them. */
static void each_stream_is_asked_for_itself_where_loki_refuses_something(void **state)
{
    (void)state;
    const struct http_fake_reply replies[] = {
        {.status = 400, .body = "whatever"},
        {.status = 204},
        {.status = 400, .body = "user 'fake', total ignored: 2 out of 2 for stream: {}"},
    };
    http_rig_start(&s, "");
    http_fake_script(s.fake, replies, 3);
    assert_int_equal(
        rig_send(&s.rig, EVENT("A", "0000001") EVENT("B", "0000002") EVENT("B", "0000003")),
        OUTPUT_MIXED);
    assert_int_equal(http_fake_count(s.fake), 3);
    assert_int_equal(s.rig.records[0], RECORD_DELIVERED);
    assert_int_equal(s.rig.records[1], RECORD_REJECTED);
    assert_int_equal(s.rig.records[2], RECORD_REJECTED);
    assert_non_null(strstr(s.rig.rejected[0].reason, "total ignored: 2 out of 2"));
    http_rig_stop(&s);
}

/* Loki refuses requests that contain `bad`, without naming the record. */
static void refuse_bad(
    void *self, const struct http_fake_request *request, struct http_fake_reply *reply)
{
    (void)self;
    reply->status = strstr((const char *)request->body.data, "0000002") ? 400 : 204;
    reply->body = "error at least one label pair is required per stream";
}

static void a_line_that_is_not_named_is_found(void **state)
{
    (void)state;
    http_rig_start(&s, "");
    http_fake_handle(s.fake, refuse_bad, NULL);
    assert_int_equal(
        rig_send(&s.rig, EVENT("A", "0000001") EVENT("A", "0000002") EVENT("A", "0000003")),
        OUTPUT_MIXED);
    assert_int_equal(s.rig.records[0], RECORD_DELIVERED);
    assert_int_equal(s.rig.records[1], RECORD_REJECTED);
    assert_int_equal(s.rig.records[2], RECORD_DELIVERED);
    http_rig_stop(&s);
}

#define AT_HOUR(hour, provider)                                                                 \
    "{\"@timestamp\":\"2026-11-21T" hour ":00:00.0000000Z\",\"provider\":{\"name\":\"" provider \
    "\"}}\n"

/* Loki accepts lines up to an hour older than the newest of their stream. So lines that are sent
 * again after a fault must not be further apart. */
static void a_request_holds_no_more_time_than_loki_takes_out_of_order(void **state)
{
    (void)state;
    const struct http_fake_reply replies[] = {{.status = 204}, {.status = 503}};
    http_rig_start(&s, "");
    http_fake_script(s.fake, replies, 2);
    assert_int_equal(rig_send(&s.rig, AT_HOUR("11", "A") AT_HOUR("09", "A") AT_HOUR("09", "B")
                                          AT_HOUR("13", "A")),
        OUTPUT_MIXED);
    assert_int_equal(http_fake_count(s.fake), 2);
    assert_non_null(strstr(http_rig_body(&s, 0), "T09:00"));
    assert_null(strstr(http_rig_body(&s, 0), "T11:00"));
    assert_non_null(strstr(http_rig_body(&s, 1), "T11:00"));
    assert_null(strstr(http_rig_body(&s, 1), "T13:00"));
    /* Stored lines are not sent again. */
    assert_int_equal(s.rig.records[0], RECORD_RETRY);
    assert_int_equal(s.rig.records[1], RECORD_DELIVERED);
    assert_int_equal(s.rig.records[2], RECORD_DELIVERED);
    assert_int_equal(s.rig.records[3], RECORD_RETRY);
    http_rig_stop(&s);
}

/* Stream A is stored when B is sent alone, and has to be halved. */
static void what_is_stored_is_not_sent_again_while_a_bad_line_is_looked_for(void **state)
{
    (void)state;
    http_rig_start(&s, "");
    http_fake_handle(s.fake, refuse_bad, NULL);
    assert_int_equal(
        rig_send(&s.rig, EVENT("A", "0000001") EVENT("B", "0000002") EVENT("B", "0000003")),
        OUTPUT_MIXED);
    assert_true(http_fake_count(s.fake) > 3);
    for (size_t i = 2; i < http_fake_count(s.fake); i++) {
        assert_null(strstr(http_rig_body(&s, i), "\"provider\":\"A\""));
    }
    assert_int_equal(s.rig.records[0], RECORD_DELIVERED);
    assert_int_equal(s.rig.records[1], RECORD_REJECTED);
    assert_int_equal(s.rig.records[2], RECORD_DELIVERED);
    http_rig_stop(&s);
}

static void what_was_sent_before_and_is_too_far_behind_may_be_stored(void **state)
{
    (void)state;
    static const char words[] = "entry with timestamp 2026-11-21 09:30:00.0000001 +0000 UTC "
                                "ignored, reason: 'entry too far behind',\nuser 'fake', total "
                                "ignored: 1 out of 2 for stream: {}";
    static const char *const reasons[] = {"entry too far behind",
        "it was sent before, and may be stored already: entry too far behind"};
    const struct http_fake_reply reply = {.status = 400, .body = words};
    http_rig_start(&s, "");
    for (size_t repeated = 0; repeated < 2; repeated++) {
        s.rig.repeated = repeated;
        http_fake_script(s.fake, &reply, 1);
        assert_int_equal(
            rig_send(&s.rig, EVENT("A", "0000001") EVENT("A", "0000002")), OUTPUT_MIXED);
        assert_string_equal(s.rig.rejected[0].reason, reasons[repeated]);
        assert_int_equal(s.rig.report.rejected_maybe_arrived, repeated);
    }
    http_rig_stop(&s);
}

static void statuses_lead_to_verdicts(void **state)
{
    (void)state;
    static const struct {
        int status;
        bool degraded;
    } cases[] = {{429, false}, {500, false}, {503, false}, {401, true}, {404, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct http_fake_reply reply = {
            .status = cases[i].status, .headers = "Retry-After: 3\r\n"};
        http_rig_start(&s, "");
        http_fake_script(s.fake, &reply, 1);
        assert_int_equal(rig_send(&s.rig, EVENT("A", "0000001")), OUTPUT_RETRY);
        assert_int_equal(s.rig.report.degraded, cases[i].degraded);
        assert_int_equal(s.rig.report.wait_ms, 3000);
        http_rig_stop(&s);
    }
}

static void settings_that_cannot_work_are_named(void **state)
{
    (void)state;
    rig_assert_fault(&output_loki, "{url: 'http://a', labels: [pid]}", "there is no label 'pid'");
    rig_assert_fault(&output_loki, "{url: 'http://a', tenant: 'a b'}", "tenant: it has a space");
    rig_assert_fault(&output_loki, "{url: 'http://a/?x'}", "has no query");
}

#define EMPTY_PUSH                              \
    {                                           \
        (const uint8_t *)"{\"streams\":[]}", 14 \
    }

static void an_examination_says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        int status;
        bool good;
        const char *words;
        struct span body;
    } cases[] = {{"", 204, true, "connected, and Loki reads a push", EMPTY_PUSH},
        {"", 422, true, "status 422", EMPTY_PUSH},
        {"", 401, false, "status 401: the server refuses these credentials. check auth",
            EMPTY_PUSH},
        {"", 404, false, "there is nothing at this address", EMPTY_PUSH},
        /* Nothing, in Snappy's format (format_description.txt, section 1). */
        {", encoding: protobuf", 204, true, "connected", {(const uint8_t *)"\0", 1}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct http_fake_reply reply = {.status = cases[i].status};
        http_rig_assert_found(
            &s, cases[i].more, &reply, cases[i].good, cases[i].words, cases[i].body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_stand_in_streams_in_the_order_of_their_times),
        cmocka_unit_test(what_is_no_label_is_metadata),
        cmocka_unit_test(streams_beyond_the_limit_become_one),
        cmocka_unit_test(protobuf_says_the_same_in_snappys_format),
        cmocka_unit_test(lines_that_loki_names_are_dead_letters_and_the_others_delivered),
        cmocka_unit_test(lines_that_came_too_early_come_again_though_others_are_refused),
        cmocka_unit_test(each_stream_is_asked_for_itself_where_loki_refuses_something),
        cmocka_unit_test(a_line_that_is_not_named_is_found),
        cmocka_unit_test(a_request_holds_no_more_time_than_loki_takes_out_of_order),
        cmocka_unit_test(what_is_stored_is_not_sent_again_while_a_bad_line_is_looked_for),
        cmocka_unit_test(what_was_sent_before_and_is_too_far_behind_may_be_stored),
        cmocka_unit_test(statuses_lead_to_verdicts),
        cmocka_unit_test(settings_that_cannot_work_are_named),
        cmocka_unit_test(an_examination_says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
