#include "unit/outputs/es_sender_rig.h"

#include "outputs/http/http_window.h"

/* Several nodes, and failures of the connection to them. */

static void nodes_share_the_requests_and_stand_in_for_each_other(void **state)
{
    (void)state;
    static const struct bulk_step away = {.status = 503};
    struct fixture f;
    setup_nodes(&f, 3, true, NULL);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    }
    assert_int_equal(bulk_fake_count(f.fake), 5);
    assert_int_equal(bulk_fake_count(f.other), 5);
    bulk_fake_always(f.fake, &away);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
        assert_int_equal(f.report.wait_ms, 0);
    }
    /* A node is asked once, and then left alone for at least a second. */
    assert_in_range(bulk_fake_count(f.fake), 6, 8);
    teardown(&f);
}

static void a_node_that_does_not_answer_costs_nothing(void **state)
{
    (void)state;
    struct fixture f;
    setup_nodes(&f, 3, false, "http://127.0.0.1:1");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    }
    assert_int_equal(bulk_fake_count(f.fake), 4);
    teardown(&f);
}

/* A sender with other settings for ${url}. */
static void make_anew(struct fixture *f, const char *url, const struct http_options *http)
{
    const struct config_strings hosts = {.items = &url, .count = 1};
    const struct es_sender_options options = {
        .hosts = &hosts, .http = http, .bulk = {.action = "create"}, .format = "native"};
    const struct output_env env = {.name = "test"};
    es_sender_destroy(f->sender);
    f->sender = es_sender_create(&options, &env, &f->report.error);
    assert_non_null(f->sender);
}

static void a_certificate_that_cannot_be_read_is_a_fault_of_set_up(void **state)
{
    (void)state;
#ifdef _WIN32
    /* Schannel reads the client's certificate once the server has shown its own, which this server
     * never does. */
    skip();
#endif
    struct fixture f;
    char url[64];
    setup(&f, 3);
    snprintf(url, sizeof(url), "https%s", bulk_fake_url(f.fake) + strlen("http"));
    const struct http_options http = {.proxy = "",
        .tls = {.ca = "no.such.file.pem"},
        .connect_timeout_ns = 10 * (uint64_t)SECOND_NS,
        .timeout_ns = 10 * (uint64_t)SECOND_NS};
    make_anew(&f, url, &http);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_true(f.report.degraded);
    assert_said(&f, "tls.ca");
    teardown(&f);
}

static void what_a_server_says_shows_no_secret(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 3);
    const struct http_options http = {.proxy = "",
        .auth = {.bearer = "a-long-secret"},
        .connect_timeout_ns = 10 * (uint64_t)SECOND_NS,
        .timeout_ns = 10 * (uint64_t)SECOND_NS};
    make_anew(&f, bulk_fake_url(f.fake), &http);
    const struct bulk_step step = {
        .status = 401, .body = "{\"error\":\"token a-long-secret is unknown\"}"};
    bulk_fake_script(f.fake, &step, 1);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    const struct http_fake_request *request = bulk_fake_request(f.fake, 0);
    assert_true(http_fake_has(request, "Authorization", "Bearer a-long-secret"));
    assert_said(&f, "status 401");
    assert_null(strstr(f.report.error.text, "a-long-secret"));
    for (size_t before = 180; before < 205; before++) { /* the text is cut at 200 */
        char body[512];
        char filler[256] = "";
        memset(filler, 'x', before);
        snprintf(body, sizeof(body), "{\"error\":\"%s a-long-secret is unknown\"}", filler);
        bulk_fake_script(f.fake, &(struct bulk_step){.status = 401, .body = body}, 1);
        assert_int_equal(send_all(&f), OUTPUT_RETRY);
        assert_said(&f, "xxxx");
        assert_null(strstr(f.report.error.text, "a-lo"));
    }
    teardown(&f);
}

/* An answer of a node that says nothing about the events costs one request, not one for each
 * event. */
static void a_node_with_a_fault_is_left_alone_and_the_other_takes_all(void **state)
{
    (void)state;
    static const struct bulk_step faults[] = {{.status = 500}, {.status = 401}, {.status = 403},
        {.status = 301, .headers = "Location: http://127.0.0.1:1/\r\n"}, {.status = 404},
        {.status = 429, .headers = "Retry-After: 3600\r\n"},
        {.raw = "<html><body>please log in</body></html>"}, {.status = 204}, {.lost = true}};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct fixture f;
        setup_nodes(&f, 3, true, NULL);
        bulk_fake_always(f.fake, &faults[i]);
        for (int k = 0; k < 10; k++) {
            prepare(&f, 3);
            assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
            assert_int_equal(f.report.wait_ms, 0);
        }
        assert_in_range(bulk_fake_count(f.fake), 1, 2);
        assert_stored(f.other, 0, 3);
        teardown(&f);
    }
}

static void where_all_nodes_are_bad_the_output_is_degraded_and_says_why_of_each(void **state)
{
    (void)state;
    struct fixture f;
    setup_nodes(&f, 3, true, NULL);
    bulk_fake_always(f.fake, &(struct bulk_step){.status = 403});
    bulk_fake_always(f.other, &(struct bulk_step){.status = 301,
                                  .headers = "Location: https://login.example/a?k=SECRET\r\n"});
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_int_equal(bulk_fake_count(f.fake), 1);
    assert_int_equal(bulk_fake_count(f.other), 1);
    assert_true(f.report.degraded);
    assert_said(&f, "status 403");
    assert_said(&f, "status 301: it points to https://login.example/a");
    assert_null(strstr(f.report.error.text, "SECRET"));
    assert_said(&f, bulk_fake_url(f.fake));
    assert_said(&f, bulk_fake_url(f.other));
    teardown(&f);
}

/* Both nodes ask for a pause: the host of the output waits for the shorter one. */
static void the_shortest_retry_after_of_all_nodes_is_waited_for(void **state)
{
    (void)state;
    struct fixture f;
    setup_nodes(&f, 3, true, NULL);
    bulk_fake_always(
        f.fake, &(struct bulk_step){.status = 429, .headers = "Retry-After: 3600\r\n"});
    bulk_fake_always(f.other, &(struct bulk_step){.status = 503, .headers = "Retry-After: 20\r\n"});
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_false(f.report.degraded);
    assert_in_range(f.report.wait_ms, 15000, 20000);
    teardown(&f);
}

/* Elasticsearch and OpenSearch refuse a request with 429 if it exceeds their indexing pressure
 * (indexing_pressure.memory.limit), however often it comes. */
static void a_request_that_429_refuses_time_and_again_is_sent_in_halves(void **state)
{
    (void)state;
    for (int of_items = 0; of_items < 2; of_items++) {
        struct fixture f;
        setup(&f, 100);
        const struct bulk_step whole = {.status = 429};
        const struct bulk_step items = {.item_count = BULK_ALL,
            .item_status = 429,
            .item_type = "es_rejected_execution_exception"};
        bulk_fake_always(f.fake, of_items ? &items : &whole);
        for (int i = 0; i < HTTP_WINDOW_LOST; i++) {
            assert_int_equal(send_all(&f), OUTPUT_RETRY);
        }
        size_t before = bulk_fake_count(f.fake);
        size_t size = bulk_fake_request(f.fake, before - 1)->body.size;
        bulk_fake_always(f.fake, NULL);
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
        assert_in_range(bulk_fake_count(f.fake) - before, 2, 3);
        assert_true(bulk_fake_request(f.fake, before)->body.size <= size / 2);
        assert_stored(f.fake, 0, 100);
        teardown(&f);
    }
}

static void it_stops_between_requests(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    bulk_fake_limit(f.fake, 1000, false);
    f.stop_after = 4;
    enum output_verdict verdict = send_all(&f);
    assert_true(verdict == OUTPUT_RETRY || verdict == OUTPUT_MIXED);
    f.stop_after = 0;
    prepare(&f, 100);
    size_t before = bulk_fake_count(f.fake);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_int_equal(bulk_fake_count(f.fake), before);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_share_the_requests_and_stand_in_for_each_other),
        cmocka_unit_test(a_node_that_does_not_answer_costs_nothing),
        cmocka_unit_test(a_certificate_that_cannot_be_read_is_a_fault_of_set_up),
        cmocka_unit_test(what_a_server_says_shows_no_secret),
        cmocka_unit_test(a_node_with_a_fault_is_left_alone_and_the_other_takes_all),
        cmocka_unit_test(where_all_nodes_are_bad_the_output_is_degraded_and_says_why_of_each),
        cmocka_unit_test(the_shortest_retry_after_of_all_nodes_is_waited_for),
        cmocka_unit_test(a_request_that_429_refuses_time_and_again_is_sent_in_halves),
        cmocka_unit_test(it_stops_between_requests),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_sender_nodes", tests, NULL, NULL);
}
