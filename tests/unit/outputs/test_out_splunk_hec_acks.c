#include "unit/outputs/hec_rig.h"

/* Acknowledgement by the indexer. */

static void with_ack_an_event_is_delivered_when_it_is_indexed(void **state)
{
    (void)state;
    begin(with_long_acks);
    s.acks = true;
    assert_int_equal(rig_send(&s.rig, "1\n2\n"), OUTPUT_DELIVERED);
    assert_int_equal(s.asked, 2); /* does it acknowledge; is it indexed */
    assert_int_equal(strlen(s.channels[0]), 36);
    assert_int_equal(rig_send(&s.rig, "3\n"), OUTPUT_DELIVERED);
    assert_int_equal(s.asked, 3);
    assert_string_equal(s.channels[0], s.channels[1]);
    assert_int_equal(s.rig.report.maybe_duplicates, 0);
    end();
}

static void what_is_never_acknowledged_comes_again_on_a_new_channel(void **state)
{
    (void)state;
    begin(with_acks);
    s.acks = true;
    s.never = true;
    assert_int_equal(rig_send(&s.rig, "1\n2\n"), OUTPUT_RETRY);
    assert_int_equal(s.rig.report.maybe_duplicates, 2);
    assert_false(s.rig.report.degraded);
    assert_non_null(strstr(s.rig.report.error.text, "did not acknowledge in time"));
    assert_true(s.asked >= 2);
    s.never = false;
    assert_int_equal(rig_send(&s.rig, "1\n2\n"), OUTPUT_DELIVERED);
    assert_string_not_equal(s.channels[0], s.channels[1]);
    end();
}

/* Takes events, does not index them, and says so where its health is asked for. */
static void take_and_forget(
    void *self, const struct http_fake_request *request, struct http_fake_reply *reply)
{
    (void)self;
    if (strncmp(request->head, "GET ", 4) == 0) {
        reply->status = 503;
        reply->body = "{\"text\":\"HEC is unhealthy, queues are full\",\"code\":18}";
    } else if (strncmp(request->head, "POST /services/collector/ack ", 29) == 0) {
        reply->body = "{\"acks\":{\"0\":false,\"7\":false}}";
    } else {
        reply->body = "{\"text\":\"Success\",\"code\":0,\"ackId\":7}";
    }
}

static void a_collector_that_does_not_acknowledge_is_left_alone_for_another(void **state)
{
    (void)state;
    char text[256];
    begin("");
    s.acks = true;
    struct http_fake *other = http_fake_start();
    http_fake_handle(other, take_and_forget, NULL);
    rig_teardown(&s.rig);
    /* Long enough for the one that acknowledges at once, on any machine. */
    snprintf(text, sizeof(text),
        "{urls: ['%s', '%s'], token: x, proxy: '', "
        "ack: {enabled: true, interval: 1ms, timeout: 2s}}",
        http_fake_url(s.fake), http_fake_url(other));
    rig_setup(&s.rig, &output_splunk_hec, text);
    while (rig_send(&s.rig, "1\n") == OUTPUT_DELIVERED) {
        assert_true(s.posts <= 1); /* they take turns */
    }
    assert_non_null(strstr(s.rig.report.error.text, http_fake_url(other)));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_DELIVERED);
    }
    end();
    http_fake_stop(other);
}

/* Codes of "Troubleshoot HTTP Event Collector" (Splunk): 9 is a busy server, 11 an invalid
 * channel. */
static void a_channel_is_left_when_the_server_does_not_know_it(void **state)
{
    (void)state;
    static const struct {
        struct http_fake_reply answer;
        bool stays;
    } cases[] = {{{.status = 503, .body = "{\"text\":\"Server is busy\",\"code\":9}"}, true},
        {{.status = 400, .body = "{\"text\":\"Invalid data channel\",\"code\":11}"}, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin(with_long_acks);
        s.acks = true;
        s.answer = cases[i].answer;
        assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_RETRY);
        s.answer.status = 0;
        assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_DELIVERED);
        assert_int_equal(strcmp(s.channels[0], s.channels[1]) == 0, cases[i].stays);
        end();
    }
}

static void no_failure_of_the_ack_api_counts_as_an_acknowledgement(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
    } cases[] = {{400, ""}, {404, "{\"text\":\"x\",\"code\":404}"}, {500, ""},
        {503, "{\"code\":19}"}, {401, "{\"code\":3}"}, {200, ""}, {200, "<html>"},
        {200, "{\"acks\":{\"9\":true}}"}, {200, "{\"acks\":{\"1\":\"yes\"}}"}, {204, ""}, {302, ""},
        {400, "{\"text\":\"Invalid data channel\",\"code\":11}"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin(with_acks);
        s.acks = true;
        assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_DELIVERED);
        s.next_ack = 0;
        s.ack_status = cases[i].status;
        s.ack_body = cases[i].body;
        if (rig_send(&s.rig, "1\n2\n3\n") != OUTPUT_RETRY || s.rig.report.maybe_duplicates != 3) {
            fail_msg("status %d %s", cases[i].status, cases[i].body);
        }
        end();
    }
}

static void a_token_that_does_not_acknowledge_gets_no_event_and_is_told_of(void **state)
{
    (void)state;
    begin(with_long_acks);
    s.ack_status = 400;
    s.ack_body = "{\"text\":\"ACK is disabled\",\"code\":14}";
    for (int tries = 0; tries < 3; tries++) {
        assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_RETRY);
        assert_true(s.rig.report.degraded);
        assert_non_null(
            strstr(s.rig.report.error.text, "the token has no indexer acknowledgement"));
    }
    assert_int_equal(s.posts, 0);
    s.ack_body = NULL;
    s.acks = true;
    assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_DELIVERED);
    end();
}

static void one_acknowledgement_does_not_deliver_two_requests(void **state)
{
    (void)state;
    static const uint32_t routes[] = {0, 1};
    const struct span names[] = {span_text("a|/|/|/"), span_text("b|/|/|/")};
    /* In one delivery: raw events of two indexes are two requests. */
    begin(", endpoint: raw, index: 'i{provider.name}', ack: {enabled: true, interval: 1ms, "
          "timeout: 60s}");
    s.acks = true;
    s.same_ack = 7;
    assert_int_equal(rig_send_routed(&s.rig, "1\n2\n", routes, names, 2, NULL), OUTPUT_RETRY);
    assert_int_equal(s.posts, 2);
    assert_int_equal(s.rig.report.maybe_duplicates, 2);
    assert_non_null(strstr(s.rig.report.error.text, "have the same ackId"));
    s.same_ack = 0;
    assert_int_equal(rig_send_routed(&s.rig, "1\n2\n", routes, names, 2, NULL), OUTPUT_DELIVERED);
    assert_string_not_equal(s.channels[0], s.channels[2]);
    end();
    /* In two deliveries: the answer that the first is indexed may come again. */
    begin(with_long_acks);
    s.acks = true;
    s.same_ack = 7;
    assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_DELIVERED);
    assert_int_equal(rig_send(&s.rig, "2\n"), OUTPUT_RETRY);
    assert_int_equal(s.rig.report.maybe_duplicates, 1);
    assert_int_equal(rig_send(&s.rig, "2\n"), OUTPUT_DELIVERED);
    assert_string_not_equal(s.channels[1], s.channels[2]);
    end();
}

static void a_channel_is_left_before_its_numbers_are_forgotten(void **state)
{
    (void)state;
    char first[40];
    size_t sent = 0;
    begin(with_long_acks);
    s.acks = true;
    assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_DELIVERED);
    memcpy(first, s.channels[0], sizeof(first));
    while (strcmp(s.channels[(s.posts - 1) % MAX_ACKS], first) == 0 && sent++ < 4096) {
        assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_DELIVERED);
    }
    assert_true(sent < 4096);
    end();
}

/* Splunk tells each acknowledgement once. */
static void the_question_whether_it_acknowledges_takes_no_answer_from_a_request(void **state)
{
    (void)state;
    begin(with_long_acks);
    s.acks = true;
    assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_DELIVERED);
    assert_int_equal(strlen(s.tried_on), 36);
    assert_string_not_equal(s.tried_on, s.channels[0]);
    assert_string_equal(s.asked_on, s.channels[0]);
    end();
}

static void a_reply_without_ack_id_is_no_delivery(void **state)
{
    (void)state;
    begin(with_long_acks);
    assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_RETRY);
    assert_true(s.rig.report.degraded);
    assert_int_equal(s.rig.report.maybe_duplicates, 1);
    assert_non_null(strstr(s.rig.report.error.text, "has no ackId"));
    end();
}

static bool stops_after_a_post(void)
{
    return s.posts > 0;
}

static void a_stop_ends_the_wait_and_calls_nothing_delivered(void **state)
{
    (void)state;
    begin(", ack: {enabled: true, interval: 10m, timeout: 1h}");
    s.acks = true;
    s.rig.stops = stops_after_a_post;
    assert_int_equal(rig_send(&s.rig, "1\n"), OUTPUT_RETRY);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_ack_an_event_is_delivered_when_it_is_indexed),
        cmocka_unit_test(what_is_never_acknowledged_comes_again_on_a_new_channel),
        cmocka_unit_test(a_collector_that_does_not_acknowledge_is_left_alone_for_another),
        cmocka_unit_test(a_channel_is_left_when_the_server_does_not_know_it),
        cmocka_unit_test(no_failure_of_the_ack_api_counts_as_an_acknowledgement),
        cmocka_unit_test(a_token_that_does_not_acknowledge_gets_no_event_and_is_told_of),
        cmocka_unit_test(one_acknowledgement_does_not_deliver_two_requests),
        cmocka_unit_test(a_channel_is_left_before_its_numbers_are_forgotten),
        cmocka_unit_test(the_question_whether_it_acknowledges_takes_no_answer_from_a_request),
        cmocka_unit_test(a_reply_without_ack_id_is_no_delivery),
        cmocka_unit_test(a_stop_ends_the_wait_and_calls_nothing_delivered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
