#include "unit/outputs/out_http_rig.h"

/* ---- requests -------------------------------------------------------------------------------- */

static void a_request_says_what_is_in_it(void **state)
{
    (void)state;
    static const struct {
        const char *path, *more, *line, *type, *encoding, *body; /* NULL: not compared */
    } cases[] = {
        {"/a?b=c", "", "POST /a?b=c HTTP/1.1\r\n", "application/x-ndjson", NULL, "{\"a\":1}\n{}\n"},
        {"", ", framing: json_array", "POST / HTTP/1.1\r\n", "application/json", NULL,
            "[{\"a\":1},{}]\n"},
        {"/x", ", framing: message", "POST /x ", "text/plain; charset=utf-8", NULL,
            "{\"a\":1}\n{}\n"},
        {"", ", framing: splunk_hec, index: main", "POST /services/collector/event HTTP/1.1\r\n",
            "application/json", NULL,
            "{\"index\":\"main\",\"event\":{\"a\":1}}\n"
            "{\"index\":\"main\",\"event\":{}}\n"},
        {"/", ", framing: splunk_hec", "POST /services/collector/event ", "application/json", NULL,
            NULL},
        {"/hec/raw", ", framing: splunk_hec", "POST /hec/raw ", "application/json", NULL, NULL},
        {"/x", ", method: POST", "POST /x HTTP/1.1\r\n", "application/x-ndjson", NULL, NULL},
        {"/x", ", method: PUT", "PUT /x HTTP/1.1\r\n", "application/x-ndjson", NULL,
            "{\"a\":1}\n{}\n"},
        {"/x", ", compression: gzip", "POST /x ", "application/x-ndjson", "gzip", NULL},
        {"/x", ", compression: zstd", "POST /x ", "application/x-ndjson", "zstd", NULL},
        {"/x", ", headers: {content-type: a/b, X-Site: berlin}", "POST /x ", "a/b", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        setup(&f, cases[i].path, cases[i].more);
        assert_int_equal(send_lines(&f, "{\"a\":1}\n{}\n"), OUTPUT_DELIVERED);
        assert_int_equal(http_fake_count(f.fake), 1);
        const struct http_fake_request *request = http_fake_request(f.fake, 0);
        assert_memory_equal(request->head, cases[i].line, strlen(cases[i].line));
        assert_true(http_fake_has(request, "Content-Type", cases[i].type));
        assert_int_equal(
            http_fake_has(request, "Content-Encoding", NULL), cases[i].encoding != NULL);
        assert_true(
            !cases[i].encoding || http_fake_has(request, "Content-Encoding", cases[i].encoding));
        assert_true(!cases[i].body || span_is(request->body, cases[i].body));
        teardown(&f);
    }
}

static void splunk_knows_us_by_its_own_word(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "", ", framing: splunk_hec, auth: {bearer: 1234-5678}");
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_DELIVERED);
    assert_true(http_fake_has(http_fake_request(f.fake, 0), "Authorization", "Splunk 1234-5678"));
    teardown(&f);
}

/* ---- replies --------------------------------------------------------------------------------- */

static void every_status_has_its_verdict(void **state)
{
    (void)state;
    enum { SLOW = 1 };
    static const struct {
        int status;
        enum output_verdict verdict;
        int slow;
    } cases[] = {
        {200, OUTPUT_DELIVERED, 0},
        {201, OUTPUT_DELIVERED, 0},
        {202, OUTPUT_DELIVERED, 0},
        {204, OUTPUT_DELIVERED, 0},
        {301, OUTPUT_RETRY, SLOW},
        {302, OUTPUT_RETRY, SLOW},
        {307, OUTPUT_RETRY, SLOW},
        {308, OUTPUT_RETRY, SLOW},
        {400, OUTPUT_REJECTED, 0},
        {401, OUTPUT_RETRY, SLOW},
        {403, OUTPUT_RETRY, SLOW},
        {404, OUTPUT_RETRY, SLOW},
        {405, OUTPUT_RETRY, SLOW},
        {407, OUTPUT_RETRY, SLOW},
        {408, OUTPUT_RETRY, 0},
        {409, OUTPUT_REJECTED, 0},
        {413, OUTPUT_REJECTED, 0},
        {415, OUTPUT_RETRY, SLOW},
        {422, OUTPUT_REJECTED, 0},
        {425, OUTPUT_RETRY, 0},
        {429, OUTPUT_RETRY, 0},
        {451, OUTPUT_REJECTED, 0},
        {500, OUTPUT_RETRY, 0},
        {501, OUTPUT_RETRY, SLOW},
        {502, OUTPUT_RETRY, 0},
        {503, OUTPUT_RETRY, 0},
        {504, OUTPUT_RETRY, 0},
        {507, OUTPUT_RETRY, 0},
        {599, OUTPUT_RETRY, 0},
        {600, OUTPUT_RETRY, 0},
        {999, OUTPUT_RETRY, 0},
    };
    struct fixture f;
    setup(&f, "/x", "");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct http_fake_reply reply = {.status = cases[i].status,
            .headers = "Location: http://127.0.0.1:1/\r\nRetry-After: 5\r\n"};
        http_fake_script(f.fake, &reply, 1);
        assert_int_equal(send_lines(&f, "{}\n"), cases[i].verdict);
        assert_int_equal(f.report.degraded, cases[i].slow);
        assert_int_equal(f.rejected_count, cases[i].verdict == OUTPUT_REJECTED);
        assert_int_equal(http_fake_count(f.fake), i + 1); /* no redirect was followed */
        if (cases[i].verdict == OUTPUT_RETRY) {
            assert_int_equal(f.report.wait_ms, 5000);
        }
        if (cases[i].verdict == OUTPUT_REJECTED) {
            assert_int_equal(f.rejected[0].status, cases[i].status);
            assert_int_not_equal(f.rejected[0].reason[0], 0);
        }
    }
    teardown(&f);
}

static void half_a_reply_is_no_answer(void **state)
{
    (void)state;
    static const struct http_fake_reply replies[] = {{.status = 0}, {.status = 200, .promised = 5},
        {.status = 200, .cut = 20}, {.status = 400, .promised = 5}, {.status = 413, .cut = 30}};
    struct fixture f;
    setup(&f, "/x", "");
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        http_fake_script(f.fake, &replies[i], 1);
        assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
        assert_false(f.report.degraded);
        assert_int_equal(f.rejected_count, 0);
    }
    teardown(&f);
}

/* A proxy that requires a login, or says in its own words that it reaches no server. */
static void a_web_page_is_no_answer_of_a_collector(void **state)
{
    (void)state;
    static const struct http_fake_reply page = {.status = 200,
        .headers = "Content-Type: text/HTML; charset=utf-8\r\n",
        .body = "<html>Welcome, please log in</html>"};
    struct fixture f;
    setup(&f, "", ", framing: splunk_hec");
    http_fake_script(f.fake, &page, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
    assert_true(f.report.degraded);
    assert_non_null(strstr(f.report.error.text, "status 200: a web page"));
    assert_non_null(strstr(f.report.error.text, "please log in"));
    const struct http_fake_reply good = {.status = 200,
        .headers = "Content-Type: application/json\r\n",
        .body = "{\"text\":\"Success\",\"code\":0}"};
    http_fake_script(f.fake, &good, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_DELIVERED);
    teardown(&f);
}

/* Captive portals and login pages answer any request with 200. */
static void a_web_page_acknowledges_nothing_unless_accept_says_so(void **state)
{
    (void)state;
    static const char *const types[] = {
        "text/html", "Text/HTML;charset=utf-8", "application/xhtml+xml"};
    static const char *const framings[] = {"ndjson", "json_array", "message", "splunk_hec"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (size_t k = 0; k < sizeof(framings) / sizeof(framings[0]); k++) {
            char headers[64];
            char more[64];
            snprintf(headers, sizeof(headers), "Content-Type: %s\r\n", types[i]);
            const struct http_fake_reply page = {
                .status = 200, .headers = headers, .body = "<html>please log in</html>"};
            struct fixture f;
            snprintf(more, sizeof(more), ", framing: %s", framings[k]);
            setup(&f, "/in", more);
            http_fake_script(f.fake, &page, 1);
            assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
            assert_true(f.report.degraded);
            assert_non_null(strstr(f.report.error.text, "status 200: a web page"));
            teardown(&f);

            snprintf(more, sizeof(more), ", framing: %s, accept: [page]", framings[k]);
            setup(&f, "/in", more);
            http_fake_script(f.fake, &page, 1);
            assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_DELIVERED);
            teardown(&f);
        }
    }
}

static void a_web_page_is_known_by_its_beginning_where_no_header_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool page;
    } cases[] = {{"<html>please log in</html>", true}, {"\r\n <!DOCTYPE HTML PUBLIC \"x\">", true},
        {"<ok/>", false}, {"{\"text\":\"<html>\"}", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        setup(&f, "/in", "");
        const struct http_fake_reply reply = {.status = 200, .body = cases[i].body};
        http_fake_script(f.fake, &reply, 1);
        assert_int_equal(send_lines(&f, "{}\n"), cases[i].page ? OUTPUT_RETRY : OUTPUT_DELIVERED);
        assert_int_equal(f.report.degraded, cases[i].page);
        teardown(&f);
    }
}

static void accept_names_the_statuses_that_acknowledge(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        int status;
        bool ack;
    } cases[] = {
        {"", 204, true},
        {", framing: splunk_hec", 204, false},
        {", framing: splunk_hec, accept: [200, 204]", 204, true},
        {", accept: [202]", 202, true},
        {", accept: [202]", 200, false},
        {", accept: [200, page]", 204, false},
        {", accept: [299]", 299, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        setup(&f, "/in", cases[i].more);
        http_fake_script(f.fake, &(struct http_fake_reply){.status = cases[i].status}, 1);
        assert_int_equal(send_lines(&f, "{}\n"), cases[i].ack ? OUTPUT_DELIVERED : OUTPUT_RETRY);
        assert_int_equal(f.report.degraded, !cases[i].ack);
        teardown(&f);
    }
}

static void success_before_the_request_was_sent_is_none(void **state)
{
    (void)state;
    struct fixture f;
    size_t size = 16 << 20;
    char *line = malloc(size + 1);
    assert_non_null(line);
    memset(line, 'x', size);
    memcpy(line + size - 1, "\n", 2);
    setup(&f, "/x", "");
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 200, .early = true}, 1);
    assert_int_equal(send_lines(&f, line), OUTPUT_RETRY);
    assert_false(f.report.degraded);
    free(line);
    teardown(&f);
}

/* ${size} bytes; the caller frees them. */
static char *long_text(size_t size)
{
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    return text;
}

static void a_long_reply_is_read_and_forgotten(void **state)
{
    (void)state;
    struct fixture f;
    char *body = long_text(1 << 20);
    setup(&f, "/x", "");
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 200, .body = body}, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_DELIVERED);
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 500, .body = body}, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
    free(body);
    teardown(&f);
}

/* A reply without end would keep its reader busy until the timeout. */
static void a_reply_beyond_its_bound_counts_by_its_status(void **state)
{
    (void)state;
    struct fixture f;
    char *body = long_text(5 << 20);
    setup(&f, "/x", "");
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 503, .body = body}, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
    assert_non_null(strstr(f.report.error.text, "status 503"));
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 200, .body = body}, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_DELIVERED);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_DELIVERED);
    assert_int_equal(http_fake_request(f.fake, 2)->connection, 3);
    free(body);
    teardown(&f);
}

static void no_secret_comes_back_in_an_error(void **state)
{
    (void)state;
    struct fixture f;
    setup(
        &f, "/in/tenant-7", ", headers: {X-Key: 0123456789}, auth: {user: me, password: hunter22}");
    const struct http_fake_reply replies[] = {
        {.status = 401, .body = "no Basic bWU6aHVudGVyMjI= and\nno 0123456789"},
        {.status = 302, .headers = "Location: http://me:hunter22@h/\r\n"},
        {.status = 400, .body = "hunter22?"}};
    http_fake_script(f.fake, replies, 3);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
    assert_non_null(strstr(f.report.error.text, "status 401"));
    assert_non_null(strstr(f.report.error.text, "no Basic *** and no ***"));
    assert_null(strstr(f.report.error.text, "tenant"));
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
    assert_non_null(strstr(f.report.error.text, "http://***@h/"));
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_REJECTED);
    assert_string_equal(f.rejected[0].reason, "***?");
    teardown(&f);
}

static void nothing_of_a_query_comes_back_in_an_error(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "/in?sig=5ec4e7-5&key&last=9876543210", "");
    const struct http_fake_reply replies[] = {
        {.status = 401, .body = "no /in?sig=5ec4e7-5&key&last=9876543210"},
        {.status = 503, .body = "sig 5ec4e7-5, last 9876543210"},
        {.status = 302, .headers = "Location: https://h/in?sig=5ec4e7-6\r\n"}};
    http_fake_script(f.fake, replies, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
        assert_null(strstr(f.report.error.text, "5ec4e7"));
        assert_null(strstr(f.report.error.text, "98765"));
    }
    assert_non_null(strstr(f.report.error.text, "https://h/in"));
    teardown(&f);
}

/* A cut may lie anywhere in the server's text. */
static void no_part_of_a_secret_is_left_by_a_cut(void **state)
{
    (void)state;
    static const char secret[] = "k3y-0123456789-abcdef";
    static const struct {
        size_t from, to; /* this many bytes stand before it */
    } cases[] = {{0, 2}, {270, 302}, {4070, 4100}};
    static char body[8192];
    struct fixture f;
    setup(&f, "/in", ", headers: {X-Key: k3y-0123456789-abcdef}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t n = cases[i].from; n < cases[i].to; n++) {
            memset(body, 'x', n);
            snprintf(body + n, sizeof(body) - n, "%s is not known", secret);
            const struct http_fake_reply reply = {.status = 401, .body = body};
            http_fake_script(f.fake, &reply, 1);
            assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
            assert_non_null(strstr(f.report.error.text, n ? "x" : "***"));
            assert_null(strstr(f.report.error.text, "k3y-"));
        }
    }
    for (size_t at = 0; at + sizeof(secret) < sizeof(body); at += sizeof(secret) - 1) {
        memcpy(body + at, secret, sizeof(secret));
    }
    const struct http_fake_reply reply = {.status = 401, .body = body};
    http_fake_script(f.fake, &reply, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
    assert_non_null(strstr(f.report.error.text, "******"));
    assert_null(strstr(f.report.error.text, "k3y-"));
    teardown(&f);
}

static void a_secret_is_known_before_its_bytes_are_made_fit_to_be_shown(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "/in", ", headers: {X-Key: 'p\xc3\xa4ssw\xc3\xb6rter'}");
    const struct http_fake_reply reply = {
        .status = 400, .body = "no p\xc3\xa4ssw\xc3\xb6rter,\x1b\xc3\xa4"};
    http_fake_script(f.fake, &reply, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_REJECTED);
    assert_string_equal(f.rejected[0].reason, "no ***,   ");
    teardown(&f);
}

static void the_credentials_of_a_header_are_secret_without_their_scheme(void **state)
{
    (void)state;
    static const struct {
        const char *headers, *body_text, *shown;
    } cases[] = {
        {"Authorization: 'Splunk 12345678-abcd'", "bad 12345678-abcd!", "bad ***!"},
        {"Authorization: 'Splunk 12345678-abcd'", "bad Splunk 12345678-abcd!", "bad ***!"},
        {"proxy-authorization: 'Basic  bTpw'", "bad bTpw!", "bad ***!"},
        {"X-Auth: 'Token 12345678-abcd'", "bad 12345678-abcd!", "bad ***!"},
        {"X-Note: 'from the web'", "the web is down", "the web is down"},
        {"X-Note: 'from'", "from here", "from here"},
        {"Authorization: 'trailing '", "bad trailing !", "bad ***!"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        char more[128];
        snprintf(more, sizeof(more), ", headers: {%s}", cases[i].headers);
        setup(&f, "/in", more);
        const struct http_fake_reply reply = {.status = 400, .body = cases[i].body_text};
        http_fake_script(f.fake, &reply, 1);
        assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_REJECTED);
        assert_string_equal(f.rejected[0].reason, cases[i].shown);
        teardown(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_says_what_is_in_it),
        cmocka_unit_test(splunk_knows_us_by_its_own_word),
        cmocka_unit_test(every_status_has_its_verdict),
        cmocka_unit_test(half_a_reply_is_no_answer),
        cmocka_unit_test(a_web_page_is_no_answer_of_a_collector),
        cmocka_unit_test(a_web_page_acknowledges_nothing_unless_accept_says_so),
        cmocka_unit_test(a_web_page_is_known_by_its_beginning_where_no_header_says_so),
        cmocka_unit_test(accept_names_the_statuses_that_acknowledge),
        cmocka_unit_test(success_before_the_request_was_sent_is_none),
        cmocka_unit_test(a_long_reply_is_read_and_forgotten),
        cmocka_unit_test(a_reply_beyond_its_bound_counts_by_its_status),
        cmocka_unit_test(no_secret_comes_back_in_an_error),
        cmocka_unit_test(nothing_of_a_query_comes_back_in_an_error),
        cmocka_unit_test(no_part_of_a_secret_is_left_by_a_cut),
        cmocka_unit_test(a_secret_is_known_before_its_bytes_are_made_fit_to_be_shown),
        cmocka_unit_test(the_credentials_of_a_header_are_secret_without_their_scheme),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
