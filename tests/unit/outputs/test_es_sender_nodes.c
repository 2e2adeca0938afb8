#include "unit/outputs/es_sender_rig.h"

/* Several nodes, and what concerns the connection to them. */

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
    /* Asked once, and then left alone for a second at least. */
    assert_in_range(bulk_fake_count(f.fake), 6, 8);
    teardown(&f);
}

static void a_node_that_nobody_answers_at_costs_nothing(void **state)
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

/* A sender of other settings for ${url}. */
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
    /* Schannel reads it once the server has shown its own, which this one never does. */
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
    for (size_t before = 180; before < 205; before++) { /* what is said is cut at 200 */
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

static void rights_are_not_asked_for_at_every_node(void **state)
{
    (void)state;
    static const struct bulk_step refused = {.status = 403};
    struct fixture f;
    setup_nodes(&f, 3, true, NULL);
    bulk_fake_always(f.fake, &refused);
    bulk_fake_always(f.other, &refused);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_int_equal(bulk_fake_count(f.fake) + bulk_fake_count(f.other), 1);
    teardown(&f);
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
        cmocka_unit_test(a_node_that_nobody_answers_at_costs_nothing),
        cmocka_unit_test(a_certificate_that_cannot_be_read_is_a_fault_of_set_up),
        cmocka_unit_test(what_a_server_says_shows_no_secret),
        cmocka_unit_test(rights_are_not_asked_for_at_every_node),
        cmocka_unit_test(it_stops_between_requests),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_sender_nodes", tests, NULL, NULL);
}
