#include "unit/outputs/http_rig.h"

#include "base/protobuf.h"
#include "outputs/otlp/otlp_reply.h"
#include "support/otlp_text.h"

/* A scripted collector of OpenTelemetry. */
static struct http_rig s = {.ops = &output_otlp, .key = "endpoint"};

/* ---- records --------------------------------------------------------------------------------- */

#define LINE(resource, scope, record)                                                             \
    "{\"resourceLogs\":[{\"resource\":{\"a\":\"" resource "\"},\"scopeLogs\":[{\"scope\":{\"n\":" \
    "\"" scope "\"},\"logRecords\":[{\"r\":" record "}]}]}]}\n"

static uint8_t *put_field(uint8_t *p, unsigned number, const uint8_t *from, size_t size)
{
    *p++ = PROTOBUF_KEY(number, PROTOBUF_BYTES);
    p = protobuf_put_varint(p, size);
    memmove(p, from, size);
    return p + size;
}

/* Likewise in protobuf, with a resource attribute, a scope and an event of these names. */
static size_t put_record(uint8_t *out, const char *resource, const char *scope, const char *event)
{
    uint8_t text[256];
    uint8_t inner[256];
    uint8_t logs[512];
    uint8_t *p = put_field(text, 1, (const uint8_t *)"k", 1);
    uint8_t *v = put_field(inner, 1, (const uint8_t *)resource, strlen(resource));
    p = put_field(p, 2, inner, (size_t)(v - inner));
    v = put_field(inner, 1, text, (size_t)(p - text));
    uint8_t *end = put_field(logs, 1, inner, (size_t)(v - inner));
    p = put_field(text, 1, (const uint8_t *)scope, strlen(scope));
    v = put_field(inner, 1, text, (size_t)(p - text));
    p = put_field(text, 12, (const uint8_t *)event, strlen(event));
    v = put_field(v, 2, text, (size_t)(p - text));
    end = put_field(end, 2, inner, (size_t)(v - inner));
    uint8_t *all = put_field(out, 1, logs, (size_t)(end - logs));
    *all++ = '\n';
    return (size_t)(all - out);
}

static enum output_verdict send_proto(const char *const records[][3], size_t count)
{
    uint8_t bytes[4096];
    uint32_t ends[RIG_RECORDS];
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += put_record(bytes + size, records[i][0], records[i][1], records[i][2]);
        ends[i] = (uint32_t)size;
    }
    const struct delivery delivery = {
        .bytes = span_make(bytes, size), .record_ends = ends, .record_count = count};
    s.rig.rejected_count = 0;
    s.rig.report = (struct output_report){
        .records = s.rig.records, .reject = rig_reject, .host = &s.rig};
    return output_otlp.send(s.rig.self, &delivery, &s.rig.report);
}

/* ---- framing --------------------------------------------------------------------------------- */

static void records_of_one_resource_and_scope_stand_together(void **state)
{
    (void)state;
    http_rig_start(&s, ", protocol: http/json");
    assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1") LINE("y", "1", "2") LINE("x", "2", "3")
                                          LINE("x", "1", "4")),
        OUTPUT_DELIVERED);
    assert_string_equal(http_rig_body(&s, 0),
        "{\"resourceLogs\":[{\"resource\":{\"a\":\"x\"},\"scopeLogs\":[{\"scope\":{\"n\":\"1\"},"
        "\"logRecords\":[{\"r\":1},{\"r\":4}]},{\"scope\":{\"n\":\"2\"},\"logRecords\":[{\"r\":3}]}"
        "]},"
        "{\"resource\":{\"a\":\"y\"},\"scopeLogs\":[{\"scope\":{\"n\":\"1\"},\"logRecords\":[{"
        "\"r\":2}"
        "]}]}]}");
    const struct http_fake_request *request = http_fake_request(s.fake, 0);
    assert_true(strncmp(request->head, "POST /v1/logs ", 14) == 0);
    assert_true(http_fake_has(request, "Content-Type", "application/json"));
    http_rig_stop(&s);
}

static void the_same_in_protobuf(void **state)
{
    (void)state;
    static const char *const records[][3] = {
        {"x", "1", "e1"}, {"y", "1", "e2"}, {"x", "2", "e3"}, {"x", "1", "e4"}};
    struct buf text;
    buf_init(&text, 1 << 16);
    http_rig_start(&s, ", headers: {X-Key: secret-key-1}, auth: {bearer: token-12345}");
    assert_int_equal(send_proto(records, 4), OUTPUT_DELIVERED);
    const struct http_fake_request *request = http_fake_request(s.fake, 0);
    assert_null(otlp_text(request->body, &text));
#define RESOURCE(value)                                                                 \
    "{\"resource\":{\"attributes\":[{\"key\":\"k\",\"value\":{\"stringValue\":\"" value \
    "\"}}]},\"scopeLogs\":["
    assert_span(buf_span(&text),
        "{\"resourceLogs\":[" RESOURCE(
            "x") "{\"scope\":{\"name\":\"1\"},\"logRecords\":[{\"eventName\":"
                 "\"e1\"},{\"eventName\":\"e4\"}]},{\"scope\":{\"name\":\"2\"},\"logRecords\":[{"
                 "\"eventName\":"
                 "\"e3\"}]}]}," RESOURCE(
                     "y") "{\"scope\":{\"name\":\"1\"},\"logRecords\":[{\"eventName\":"
                          "\"e2\"}]}]}]}\n");
    assert_true(http_fake_has(request, "Content-Type", "application/x-protobuf"));
    assert_true(http_fake_has(request, "Authorization", "Bearer token-12345"));
    assert_true(http_fake_has(request, "X-Key", "secret-key-1"));
    buf_fini(&text);
    http_rig_stop(&s);
}

static void an_endpoint_may_name_its_path(void **state)
{
    (void)state;
    static const char *const paths[][2] = {{"", "/v1/logs"}, {"/", "/v1/logs"},
        {"/otlp", "/otlp/v1/logs"}, {"/otlp/v1/logs", "/otlp/v1/logs"}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char yaml[200];
        char expected[80];
        s.fake = http_fake_start();
        snprintf(yaml, sizeof(yaml), "{endpoint: '%s%s', proxy: '', protocol: http/json}",
            http_fake_url(s.fake), paths[i][0]);
        rig_setup(&s.rig, &output_otlp, yaml);
        assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1")), OUTPUT_DELIVERED);
        snprintf(expected, sizeof(expected), "POST %s ", paths[i][1]);
        assert_memory_equal(http_fake_request(s.fake, 0)->head, expected, strlen(expected));
        http_rig_stop(&s);
    }
}

/* A dead letter from the time before `protocol` was changed. */
static void an_event_of_the_other_protocol_is_refused_alone(void **state)
{
    (void)state;
    http_rig_start(&s, "");
    assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1")), OUTPUT_REJECTED);
    assert_string_equal(s.rig.rejected[0].reason, "not a log record of this protocol");
    assert_int_equal(http_fake_count(s.fake), 0);
    http_rig_stop(&s);
    http_rig_start(&s, ", protocol: http/json");
    assert_int_equal(
        rig_send(&s.rig, LINE("x", "1", "1") "{\"other\":1}\n" LINE("x", "1", "2")), OUTPUT_MIXED);
    assert_int_equal(s.rig.records[0], RECORD_DELIVERED);
    assert_int_equal(s.rig.records[1], RECORD_REJECTED);
    assert_int_equal(s.rig.records[2], RECORD_DELIVERED);
    http_rig_stop(&s);
}

/* ---- replies --------------------------------------------------------------------------------- */

static void only_what_the_protocol_names_is_sent_again(void **state)
{
    (void)state;
    static const struct {
        int status;
        enum output_verdict verdict;
        bool degraded;
    } cases[] = {
        {429, OUTPUT_RETRY, false},
        {502, OUTPUT_RETRY, false},
        {503, OUTPUT_RETRY, false},
        {504, OUTPUT_RETRY, false},
        {500, OUTPUT_REJECTED, false},
        {408, OUTPUT_REJECTED, false},
        {507, OUTPUT_REJECTED, false},
        {400, OUTPUT_REJECTED, false},
        {401, OUTPUT_RETRY, true}, /* the set-up is not corrected yet */
        {404, OUTPUT_RETRY, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        http_rig_start(&s, ", protocol: http/json");
        const struct http_fake_reply reply = {.status = cases[i].status,
            .headers = "Retry-After: 7\r\n",
            .body = "{\"code\":3,\"message\":\"so it is\"}"};
        http_fake_script(s.fake, &reply, 1);
        assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1")), cases[i].verdict);
        assert_int_equal(http_fake_count(s.fake), 1);
        assert_int_equal(s.rig.report.degraded, cases[i].degraded);
        if (cases[i].verdict == OUTPUT_RETRY) {
            assert_int_equal(s.rig.report.wait_ms, 7000);
        } else {
            assert_non_null(strstr(s.rig.rejected[0].reason, "so it is"));
            assert_int_equal(s.rig.rejected[0].status, cases[i].status);
        }
        http_rig_stop(&s);
    }
}

static void a_partial_success_is_kept_and_counted_and_not_sent_again(void **state)
{
    (void)state;
    static const char words[] =
        "{\"partialSuccess\":{\"rejectedLogRecords\":\"2\",\"errorMessage\":"
        "\"too \\\"old\\\"\"}}";
    const struct http_fake_reply reply = {.status = 200, .body = words};
    http_rig_start(&s, ", protocol: http/json");
    http_fake_script(s.fake, &reply, 1);
    assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1") LINE("x", "1", "2") LINE("x", "1", "3")),
        OUTPUT_REJECTED);
    assert_int_equal(http_fake_count(s.fake), 1);
    assert_int_equal(s.rig.report.rejected_but_arrived, 1);
    assert_int_equal(s.rig.report.rejected_maybe_arrived, 1);
    assert_int_equal(s.rig.rejected_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(s.rig.rejected[i].reason,
            "2 of 3 rejected, and the server does not say which: too \"old\"");
        assert_int_equal(s.rig.rejected[i].status, 200);
    }
    /* More than were sent: a server may count differently. */
    const struct http_fake_reply more = {
        .status = 200, .body = "{\"partialSuccess\":{\"rejectedLogRecords\":9}}"};
    http_fake_script(s.fake, &more, 1);
    assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1")), OUTPUT_REJECTED);
    assert_int_equal(s.rig.report.rejected_but_arrived, 0);
    assert_string_equal(s.rig.rejected[0].reason, "1 of 1 rejected");
    /* A warning. */
    const struct http_fake_reply warning = {
        .status = 200, .body = "{\"partialSuccess\":{\"errorMessage\":\"soon\"}}"};
    http_fake_script(s.fake, &warning, 1);
    assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1")), OUTPUT_DELIVERED);
    http_rig_stop(&s);
}

/* The reply is read by the protocol of the request: a space and `{` are a field of protobuf, too. A
 * reply that cannot be read to its end may contain a count of rejected events. */
static void a_reply_is_read_in_the_protocol_of_its_request(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum otlp_protocol protocol;
        uint64_t rejected;
        bool broken;
    } cases[] = {
        {" {\"partialSuccess\":{\"rejectedLogRecords\":\"5\"}}", OTLP_JSON, 5, false},
        {"\n\t{\"partialSuccess\":{\"rejectedLogRecords\":5}}\n", OTLP_PROTOBUF, 5, false},
        {"\x0a\x02\x08\x07", OTLP_PROTOBUF, 7, false},
        {"", OTLP_JSON, 0, false},
        {"", OTLP_PROTOBUF, 0, false},
        {"{}", OTLP_JSON, 0, false},
        {"{\"partialSuccess\":{\"errorMessage\":\"a", OTLP_JSON, 0, true},
        {"\x0a\x02\x08\x07", OTLP_JSON, 0, true},
        {"\x0a\x06\x12", OTLP_PROTOBUF, 0, true},
        {"\x0a\x02\x12\x05", OTLP_PROTOBUF, 0, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct otlp_reply reply;
        otlp_reply_read(span_text(cases[i].body), 200, cases[i].protocol, &reply);
        assert_int_equal(reply.rejected, cases[i].rejected);
        assert_int_equal(reply.broken, cases[i].broken);
    }
}

static void a_success_that_cannot_be_read_is_kept_as_doubtful(void **state)
{
    (void)state;
    static const char *const records[][3] = {{"x", "1", "e1"}, {"x", "1", "e2"}};
    const struct http_fake_reply broken = {.status = 200, .body = "\x0a\x06\x12"};
    http_rig_start(&s, "");
    http_fake_script(s.fake, &broken, 1);
    assert_int_equal(send_proto(records, 2), OUTPUT_REJECTED);
    assert_int_equal(s.rig.report.rejected_but_arrived, 0);
    assert_int_equal(s.rig.report.rejected_maybe_arrived, 2);
    assert_non_null(strstr(s.rig.rejected[0].reason, "its reply cannot be read"));
    http_rig_stop(&s);
}

/* ExportLogsServiceResponse{partial_success{rejected_log_records: 1, error_message: "no"}} */
static void the_same_reply_in_protobuf(void **state)
{
    (void)state;
    static const char *const records[][3] = {{"x", "1", "e1"}, {"x", "1", "e2"}};
    const struct http_fake_reply reply = {.status = 200, .body = "\x0a\x06\x08\x01\x12\x02no"};
    http_rig_start(&s, "");
    http_fake_script(s.fake, &reply, 1);
    assert_int_equal(send_proto(records, 2), OUTPUT_REJECTED);
    assert_int_equal(s.rig.report.rejected_but_arrived, 1);
    assert_string_equal(
        s.rig.rejected[0].reason, "1 of 2 rejected, and the server does not say which: no");
    /* google.rpc.Status{message: "bad"} */
    const struct http_fake_reply status = {.status = 400,
        .body = "\x12\x03"
                "bad"};
    http_fake_script(s.fake, &status, 1);
    assert_int_equal(send_proto(records, 1), OUTPUT_REJECTED);
    assert_non_null(strstr(s.rig.rejected[0].reason, "bad"));
    http_rig_stop(&s);
}

static void a_web_page_takes_nothing(void **state)
{
    (void)state;
    const struct http_fake_reply page = {
        .status = 200, .headers = "Content-Type: text/html\r\n", .body = "<html>login</html>"};
    http_rig_start(&s, ", protocol: http/json");
    http_fake_script(s.fake, &page, 1);
    assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1")), OUTPUT_RETRY);
    assert_true(s.rig.report.degraded);
    http_rig_stop(&s);
}

/* The protocol's rule that a request is not sent again is about collectors. */
static void a_fault_of_a_proxy_is_waited_for(void **state)
{
    (void)state;
    static const int statuses[] = {408, 500};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        const struct http_fake_reply page = {.status = statuses[i],
            .headers = "Content-Type: text/html\r\n",
            .body = "<html>Internal Server Error</html>"};
        http_rig_start(&s, ", protocol: http/json");
        http_fake_script(s.fake, &page, 1);
        assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1") LINE("x", "1", "2")), OUTPUT_RETRY);
        assert_false(s.rig.report.degraded);
        assert_int_equal(s.rig.report.maybe_duplicates, 2);
        assert_null(strstr(s.rig.report.error.text, "forbids"));
        http_rig_stop(&s);
    }
}

static void a_reply_that_got_lost_is_told(void **state)
{
    (void)state;
    const struct http_fake_reply lost = {.status = 0};
    http_rig_start(&s, ", protocol: http/json");
    http_fake_script(s.fake, &lost, 1);
    assert_int_equal(rig_send(&s.rig, LINE("x", "1", "1") LINE("x", "1", "2")), OUTPUT_RETRY);
    assert_int_equal(s.rig.report.maybe_duplicates, 2);
    http_rig_stop(&s);
}

/* ---- settings and test-output ---------------------------------------------------------------- */

static void settings_that_cannot_work_are_named(void **state)
{
    (void)state;
    rig_assert_fault(&output_otlp, "{endpoint: 'http://a/?x=1'}", "has no query");
    rig_assert_fault(&output_otlp, "{endpoint: 'http://a', headers: {content-type: x}}",
        "Content-Type follows from protocol");
    rig_assert_fault(&output_otlp, "{endpoint: 'grpc://a:4317'}", "endpoint");
}

static void an_examination_says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        struct http_fake_reply reply;
        bool good;
        const char *words;
    } cases[] = {
        {{.status = 200, .body = "{}"}, true,
            "the collector accepts a request without log records"},
        {{.status = 401}, false, "status 401: the server refuses these credentials. check auth"},
        {{.status = 404}, false, "status 404: there is nothing at this address. check it"},
        {{.status = 200, .headers = "Content-Type: text/html\r\n", .body = "<html>"}, false,
            "a web page answered instead of a collector"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        http_rig_assert_found(&s, ", protocol: http/json", &cases[i].reply, cases[i].good,
            cases[i].words, span_text("{}"));
    }
    http_rig_assert_found(&s, "", &(struct http_fake_reply){.status = 200}, true,
        "the collector accepts a request without log records", span_text(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_one_resource_and_scope_stand_together),
        cmocka_unit_test(the_same_in_protobuf),
        cmocka_unit_test(an_endpoint_may_name_its_path),
        cmocka_unit_test(an_event_of_the_other_protocol_is_refused_alone),
        cmocka_unit_test(only_what_the_protocol_names_is_sent_again),
        cmocka_unit_test(a_partial_success_is_kept_and_counted_and_not_sent_again),
        cmocka_unit_test(the_same_reply_in_protobuf),
        cmocka_unit_test(a_reply_is_read_in_the_protocol_of_its_request),
        cmocka_unit_test(a_success_that_cannot_be_read_is_kept_as_doubtful),
        cmocka_unit_test(a_web_page_takes_nothing),
        cmocka_unit_test(a_fault_of_a_proxy_is_waited_for),
        cmocka_unit_test(a_reply_that_got_lost_is_told),
        cmocka_unit_test(settings_that_cannot_work_are_named),
        cmocka_unit_test(an_examination_says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
