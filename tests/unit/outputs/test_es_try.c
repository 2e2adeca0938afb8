#include "unit/outputs/es_setup_rig.h"

static void a_test_names_the_layer_that_is_at_fault(void **state)
{
    static const struct {
        const char *url;
        const char *findings;
    } rows[] = {
        {"http://127.0.0.1:1", "-connection (TCP): "},
        {"http://name.invalid:9200", "-name (DNS): "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture *f = start(OPENSEARCH);
        f->urls[0] = rows[i].url;
        assert_false(try(f));
        assert_says(f, rows[i].findings);
        stop(f);
    }
}

/* Windows refuses the file, which is not PKCS#12; other systems refuse the store. */
static void a_test_says_why_it_cannot_ask_at_all(void **state)
{
    (void)state;
    struct fixture *f = start(OPENSEARCH);
    f->http.tls.cert = "agent.pem";
    f->http.tls.client_cert = "CurrentUser\\MY\\0123456789012345678901234567890123456789";
    assert_false(try(f));
    assert_says(f, "-tls: ");
    assert_int_equal(http_fake_count(f->fake), 0);
    stop(f);
}

static void a_test_names_what_the_server_is_and_whether_it_lets_us_in(void **state)
{
    static const struct {
        const char *root;
        int status;
        bool good;
        const char *findings;
    } rows[] = {
        {OPENSEARCH, 200, true, "it is OpenSearch 2.19.6"},
        {ELASTICSEARCH, 200, true, "it is Elasticsearch 8.19.0"},
        {"", 404, true, "does not report its version (status 404)"},
        {"{\"version\":3}", 200, true, "does not report its version (status 200)"},
        {"Unauthorized", 401, false, "check auth"},
        {"", 403, true, "no right to read"},
        {"", 503, false, "has a fault"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture *f = start(ELASTICSEARCH);
        assert_true(run(f));
        f->server.root = rows[i].root;
        f->server.root_status = rows[i].status;
        assert_int_equal(try(f), rows[i].good);
        assert_says(f, rows[i].findings);
        stop(f);
    }
}

static void a_test_names_privileges_that_are_missing(void **state)
{
    struct fixture *f = start(ELASTICSEARCH);
    (void)state;
    assert_true(run(f));
    f->server.privileges = "{\"has_all_requested\":true}";
    assert_true(try(f));
    assert_says(f, "+rights: ");
    f->server.privileges = "{\"username\":\"x\",\"has_all_requested\":false,\"cluster\":{"
                           "\"monitor\":true},\"index\":{\"logs-etw.events-*\":{"
                           "\"auto_configure\":false,\"create_doc\":true}}}";
    assert_false(try(f));
    assert_says(f, "lacks: auto_configure.");
    stop(f);
}

static void a_test_tells_a_missing_template_from_another_one(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    assert_false(try(f));
    assert_says(f, "-index template etwship-logs-etw.events is missing: events may be refused. "
                   "run: etwship setup siem");
    snprintf(f->server.template, sizeof(f->server.template), "{\"index_templates\":[]}");
    assert_true(try(f));
    assert_says(f, " index template etwship-logs-etw.events differs from that of this version");
    assert_true(run(f));
    assert_true(try(f));
    assert_says(f, "+index template etwship-logs-etw.events is in place");
    stop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_test_names_the_layer_that_is_at_fault),
        cmocka_unit_test(a_test_says_why_it_cannot_ask_at_all),
        cmocka_unit_test(a_test_names_what_the_server_is_and_whether_it_lets_us_in),
        cmocka_unit_test(a_test_names_privileges_that_are_missing),
        cmocka_unit_test(a_test_tells_a_missing_template_from_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
