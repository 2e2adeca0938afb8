#include "unit/outputs/hec_rig.h"

#include "outputs/splunk_hec/hec_reply.h"

/* ---- requests -------------------------------------------------------------------------------- */

static void an_event_says_what_splunk_is_told_and_keeps_every_digit_of_its_time(void **state)
{
    (void)state;
    static const char line[] =
        "{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"host\":{\"name\":\"pc\"}}\n";
    const struct delivery_ids ids = {.epoch = 0xabc, .first_number = 7};
    begin(", index: main, sourcetype: 'etw:json', source: 'a\"b'");
    assert_int_equal(rig_send_routed(&s.rig, line, NULL, NULL, 0, &ids), OUTPUT_DELIVERED);
    const struct http_fake_request *request = http_fake_request(s.fake, 0);
    assert_memory_equal(request->head, "POST /services/collector/event HTTP/1.1\r\n", 41);
    assert_true(http_fake_has(request, "Authorization", "Splunk 1234-5678"));
    assert_false(http_fake_has(request, "X-Splunk-Request-Channel", NULL));
    assert_string_equal(s.stored,
        "{\"time\":1795253400.1234567,\"host\":\"pc\",\"index\":\"main\",\"sourcetype\":\"etw:"
        "json\","
        "\"source\":\"a\\\"b\",\"fields\":{\"etwship_id\":\"0000000000000abc0000000000000007\"},"
        "\"event\":{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"host\":{\"name\":\"pc\"}}}"
        "\n");
    end();
}

static void raw_events_are_lines_and_their_places_stand_in_the_address(void **state)
{
    (void)state;
    begin(", endpoint: raw, index: main, source: 'a b&c'");
    assert_int_equal(rig_send(&s.rig, "{\"a\":1}\n{}\n"), OUTPUT_DELIVERED);
    const char *head = http_fake_request(s.fake, 0)->head;
    static const char line[] =
        "POST /services/collector/raw?index=main&source=a%20b%26c HTTP/1.1\r\n";
    assert_memory_equal(head, line, sizeof(line) - 1);
    assert_true(http_fake_has(http_fake_request(s.fake, 0), "X-Splunk-Request-Channel", NULL));
    assert_string_equal(s.stored, "{\"a\":1}\n{}\n");
    end();
}

static void places_come_from_templates_and_data_cannot_leave_them(void **state)
{
    (void)state;
    static const uint32_t routes[] = {0, 1, 0};
    const struct span names[] = {
        span_text("etw-DNS Client|/etw|/|/pc1"), span_text("etw-x|/etw|/|/pc2")};
    begin(", index: 'etw-{provider.name}', sourcetype: etw, host: '{host.name}'");
    assert_int_equal(
        rig_send_routed(&s.rig, "1\n2\n3\n", routes, names, 2, NULL), OUTPUT_DELIVERED);
    assert_string_equal(s.stored,
        "{\"index\":\"etw-dns_client\",\"sourcetype\":\"etw\",\"host\":\"pc1\",\"event\":1}\n"
        "{\"index\":\"etw-x\",\"sourcetype\":\"etw\",\"host\":\"pc2\",\"event\":2}\n"
        "{\"index\":\"etw-dns_client\",\"sourcetype\":\"etw\",\"host\":\"pc1\",\"event\":3}\n");
    end();
    begin(", endpoint: raw, index: 'etw-{provider.name}'");
    assert_int_equal(
        rig_send_routed(&s.rig, "1\n2\n3\n", routes, names, 2, NULL), OUTPUT_DELIVERED);
    assert_int_equal(s.posts, 2); /* one index per request */
    end();
}

static void the_route_is_one_template_of_all_places(void **state)
{
    (void)state;
    struct error err = {0};
    struct config *first = config_create(NULL, NULL);
    struct config *second = config_create(NULL, NULL);
    static const char varies[] =
        "{urls: ['http://a'], token: x, index: 'etw-{provider.name}', host: h}";
    static const char constant[] = "{urls: ['http://a'], token: x, index: etw, host: h}";
    const char *route = output_splunk_hec.route(
        rig_settings(first, &output_splunk_hec, varies, &err));
    assert_string_equal(route, "etw-{provider.name}|/|/|/h");
    struct event_template *template = event_template_create(
        span_text(route), output_splunk_hec.route_safety, &err);
    assert_non_null(template);
    event_template_destroy(template);
    assert_null(output_splunk_hec.route(rig_settings(second, &output_splunk_hec, constant, &err)));
    config_destroy(first);
    config_destroy(second);
}

static void settings_that_cannot_be_meant_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *words;
    } cases[] = {
        {"index: '{provider.name}'", "index: it must begin with"},
        {"index: 'Etw'", "index: it must begin with"},
        {"index: 'etw{provider.name}X'", "index: 'X' is not allowed in it"},
        {"index: 'a|b'", "index: '|' is not allowed in it"},
        {"sourcetype: '{provider.name}'", "sourcetype: it must begin with literal text"},
        {"source: '{provider.nope}'", "source: "},
        {"source: ''", "source: it has 1 to"},
        {"ack: {interval: 2s, timeout: 1s}", "ack: timeout is shorter than interval"},
        {"token: 'a b'", "token: it has a space"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        bool token = strncmp(cases[i].keys, "token", 5) == 0;
        snprintf(text, sizeof(text), "{urls: ['http://a'], %s%s}", token ? "" : "token: x, ",
            cases[i].keys);
        rig_assert_fault(&output_splunk_hec, text, cases[i].words);
    }
    rig_assert_fault(&output_splunk_hec, "{urls: ['http://a/?token=x'], token: x}", "has no query");
}

/* ---- replies --------------------------------------------------------------------------------- */

static void every_code_has_its_verdict(void **state)
{
    (void)state;
    enum { LATER, SLOW, REJECTED, DELIVERED };
    static const struct {
        int status, code, outcome;
    } cases[] = {{200, 0, DELIVERED}, {403, 1, SLOW}, {401, 2, SLOW}, {401, 3, SLOW},
        {403, 4, SLOW}, {400, 5, REJECTED}, {400, 6, REJECTED}, {400, 7, SLOW}, {500, 8, LATER},
        {503, 9, LATER}, {400, 10, SLOW}, {400, 11, LATER}, {400, 12, REJECTED},
        {400, 13, REJECTED}, {400, 14, SLOW}, {400, 15, REJECTED}, {400, 16, SLOW},
        {503, 18, LATER}, {503, 19, LATER}, {503, 20, LATER}, {400, 21, SLOW}, {400, 22, SLOW},
        {503, 23, LATER},
        /* Members that contradict each other, and answers that are not a collector's. */
        {200, 9, SLOW}, {200, 17, SLOW}, {503, 0, LATER}, {401, 0, SLOW}, {429, 99, LATER},
        {200, -1, SLOW}, {204, -1, SLOW}, {404, -1, SLOW}, {502, -1, LATER}, {413, -1, REJECTED},
        {301, -1, SLOW}, {400, -1, REJECTED}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char body[64] = "<p>hello</p>";
        begin("");
        if (cases[i].code >= 0) {
            snprintf(body, sizeof(body), "{\"text\":\"x\",\"code\":%d}", cases[i].code);
        }
        s.answer = (struct http_fake_reply){.status = cases[i].status, .body = body};
        enum output_verdict verdict = rig_send(&s.rig, "1\n");
        int outcome = verdict == OUTPUT_DELIVERED  ? DELIVERED
                      : verdict == OUTPUT_REJECTED ? REJECTED
                      : s.rig.report.degraded      ? SLOW
                                                   : LATER;
        if (outcome != cases[i].outcome || (outcome < REJECTED && verdict != OUTPUT_RETRY)) {
            fail_msg("status %d code %d: %d", cases[i].status, cases[i].code, outcome);
        }
        end();
    }
}

static void an_ack_id_may_be_any_number_of_64_bits(void **state)
{
    (void)state;
    static const struct {
        const char *digits;
        bool good;
        uint64_t id;
    } cases[] = {{"0", true, 0}, {"1764505000123456789", true, 1764505000123456789},
        {"18446744073709551615", true, UINT64_MAX}, {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0}, {"-1", false, 0}, {"1.5", false, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hec_reply reply;
        struct http_response response;
        http_response_init(&response);
        buf_printf(&response.body, "{\"code\":0,\"ackId\":%s}", cases[i].digits);
        hec_reply_read(&response, &reply);
        assert_int_equal(reply.has_ack_id, cases[i].good);
        assert_true(!reply.has_ack_id || reply.ack_id == cases[i].id);
        http_response_fini(&response);
    }
}

static void the_event_that_splunk_names_is_rejected_alone(void **state)
{
    (void)state;
    for (int unnamed = 0; unnamed < 2; unnamed++) {
        begin("");
        s.bad = "\"event\":3}";
        s.bad_code = 6;
        s.unnamed = unnamed;
        assert_int_equal(rig_send(&s.rig, "1\n2\n3\n4\n5\n6\n7\n"), OUTPUT_MIXED);
        assert_int_equal(s.rig.rejected_count, 1);
        assert_int_equal(s.rig.rejected[0].record, 2);
        assert_int_equal(s.rig.rejected[0].status, 400);
        assert_non_null(strstr(s.rig.rejected[0].reason, "\"code\":6"));
        for (size_t i = 0; i < 7; i++) {
            assert_int_equal(s.rig.records[i], i == 2 ? RECORD_REJECTED : RECORD_DELIVERED);
        }
        assert_string_equal(s.stored, "{\"event\":1}\n{\"event\":2}\n{\"event\":4}\n{\"event\":5}\n"
                                      "{\"event\":6}\n{\"event\":7}\n");
        assert_true(unnamed || s.posts == 4);
        /* Splunk may have accepted the two events before it with the first request. */
        assert_true(
            unnamed ? s.rig.report.maybe_duplicates >= 2 : s.rig.report.maybe_duplicates == 2);
        end();
    }
}

static void an_index_that_is_missing_holds_its_own_events_alone(void **state)
{
    (void)state;
    static const uint32_t routes[] = {0, 1, 0, 1};
    const struct span names[] = {span_text("good|/|/|/"), span_text("gone|/|/|/")};
    for (int unnamed = 0; unnamed < 2; unnamed++) {
        begin(", index: 'i{provider.name}'");
        s.bad = "\"gone\"";
        s.bad_code = 7;
        s.unnamed = unnamed;
        assert_int_equal(
            rig_send_routed(&s.rig, "1\n2\n3\n4\n", routes, names, 2, NULL), OUTPUT_MIXED);
        assert_int_equal(s.rig.records[0], RECORD_DELIVERED);
        assert_int_equal(s.rig.records[1], RECORD_BLOCKED);
        assert_int_equal(s.rig.records[2], RECORD_DELIVERED);
        assert_int_equal(s.rig.records[3], RECORD_BLOCKED);
        assert_string_equal(
            s.stored, "{\"index\":\"good\",\"event\":1}\n{\"index\":\"good\",\"event\":3}\n");
        end();
    }
}

static void a_server_that_refuses_everything_costs_no_event(void **state)
{
    (void)state;
    char lines[512] = "";
    begin("");
    s.bad = "event";
    s.bad_code = 6;
    for (int i = 0; i < 40; i++) {
        strcat(lines, "1\n");
    }
    for (int tries = 0; tries < 3; tries++) {
        assert_int_equal(rig_send(&s.rig, lines), OUTPUT_RETRY);
        assert_true(s.rig.report.degraded);
        assert_int_equal(s.rig.rejected_count, 0);
    }
    s.bad = NULL;
    assert_int_equal(rig_send(&s.rig, lines), OUTPUT_DELIVERED);
    end();
}

/* ---- several collectors ---------------------------------------------------------------------- */

static void a_collector_that_fails_is_left_alone_for_another(void **state)
{
    (void)state;
    char text[256];
    begin("");
    rig_teardown(&s.rig);
    snprintf(text, sizeof(text), "{urls: ['http://127.0.0.1:1', '%s'], token: x, proxy: ''}",
        http_fake_url(s.fake));
    rig_setup(&s.rig, &output_splunk_hec, text);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_DELIVERED);
    }
    s.answer = (struct http_fake_reply){.status = 503, .body = "{\"code\":9}"};
    assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_RETRY);
    assert_false(s.rig.report.degraded);
    assert_non_null(strstr(s.rig.report.error.text, "Splunk is busy"));
    assert_non_null(strstr(s.rig.report.error.text, "127.0.0.1:1"));
    end();
}

static void a_reply_that_gets_lost_is_counted_as_a_possible_duplicate(void **state)
{
    (void)state;
    static const struct http_fake_reply lost[] = {{.status = 0}, {.status = 500}};
    for (size_t i = 0; i < 2; i++) {
        begin("");
        http_fake_handle(s.fake, NULL, NULL);
        http_fake_script(s.fake, &lost[i], 1);
        assert_int_equal(rig_send(&s.rig, "1\n2\n"), OUTPUT_RETRY);
        assert_int_equal(s.rig.report.maybe_duplicates, 2);
        end();
    }
}

/* ---- test-output ----------------------------------------------------------------------------- */

static void an_examination_names_what_is_wrong(void **state)
{
    (void)state;
    begin(with_acks);
    s.answer = (struct http_fake_reply){.status = 400, .body = "{\"text\":\"No data\",\"code\":5}"};
    struct output_rig rig;
    assert_true(rig_examine(&rig, &output_splunk_hec, yaml(with_acks)));
    assert_non_null(strstr(rig.findings, "good: "));
    assert_non_null(strstr(rig.findings, "the token has indexer acknowledgement"));
    s.ack_status = 400;
    s.ack_body = "{\"code\":14}";
    assert_false(rig_examine(&rig, &output_splunk_hec, yaml(with_acks)));
    assert_non_null(strstr(rig.findings, "fault: acknowledgement: "));
    s.answer = (struct http_fake_reply){
        .status = 403, .body = "{\"text\":\"Invalid token 1234-5678\",\"code\":4}"};
    assert_false(rig_examine(&rig, &output_splunk_hec, yaml("")));
    assert_non_null(strstr(rig.findings, "does not know this token. check token"));
    assert_null(strstr(rig.findings, "1234-5678"));
    assert_false(rig_examine(
        &rig, &output_splunk_hec, "{urls: ['http://127.0.0.1:1'], token: x, proxy: ''}"));
    assert_non_null(strstr(rig.findings, "fault: connection (TCP): "));
    end();
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_says_what_splunk_is_told_and_keeps_every_digit_of_its_time),
        cmocka_unit_test(raw_events_are_lines_and_their_places_stand_in_the_address),
        cmocka_unit_test(places_come_from_templates_and_data_cannot_leave_them),
        cmocka_unit_test(the_route_is_one_template_of_all_places),
        cmocka_unit_test(settings_that_cannot_be_meant_are_refused),
        cmocka_unit_test(every_code_has_its_verdict),
        cmocka_unit_test(an_ack_id_may_be_any_number_of_64_bits),
        cmocka_unit_test(the_event_that_splunk_names_is_rejected_alone),
        cmocka_unit_test(an_index_that_is_missing_holds_its_own_events_alone),
        cmocka_unit_test(a_server_that_refuses_everything_costs_no_event),
        cmocka_unit_test(a_collector_that_fails_is_left_alone_for_another),
        cmocka_unit_test(a_reply_that_gets_lost_is_counted_as_a_possible_duplicate),
        cmocka_unit_test(an_examination_names_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
