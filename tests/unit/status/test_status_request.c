#include "status/status_request.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

static enum status_parse parse(const char *text, struct status_request *ret_request)
{
    return status_request_parse(span_text(text), ret_request);
}

static void a_request_of_a_scraper_is_taken_apart(void **state)
{
    (void)state;
    struct status_request request;
    assert_int_equal(parse("GET /metrics?a=b&c=%20x HTTP/1.1\r\nHost: 127.0.0.1:9187\r\n"
                           "User-Agent: Prometheus/2.42.0\r\naccept: text/plain;q=0.5\r\n"
                           "AUTHORIZATION:   Bearer abc  \r\n\r\n",
                         &request),
        STATUS_PARSE_DONE);
    assert_span(request.path, "/metrics");
    assert_span(request.query, "a=b&c=%20x");
    assert_span(request.host, "127.0.0.1:9187");
    assert_span(request.accept, "text/plain;q=0.5");
    assert_span(request.authorization, "Bearer abc");
}

/* A request in pieces gives MORE until its last byte, whatever the pieces are. */
static void every_beginning_of_a_request_wants_more(void **state)
{
    (void)state;
    static const char text[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct status_request request;
    for (size_t size = 0; size < sizeof(text) - 1; size++) {
        assert_int_equal(status_request_parse(span_make(text, size), &request), STATUS_PARSE_MORE);
    }
    assert_int_equal(parse(text, &request), STATUS_PARSE_DONE);
    assert_span(request.query, "");
}

static void what_is_no_plain_get_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum status_parse parse;
    } cases[] = {
        {"POST / HTTP/1.1\r\nHost: a\r\n\r\n", STATUS_PARSE_METHOD},
        {"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", STATUS_PARSE_METHOD},
        {"get / HTTP/1.1\r\n\r\n", STATUS_PARSE_METHOD},
        {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", STATUS_PARSE_DONE},
        {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", STATUS_PARSE_BAD},
        {"GET http://a/ HTTP/1.1\r\n\r\n", STATUS_PARSE_BAD},
        {"GET * HTTP/1.1\r\n\r\n", STATUS_PARSE_BAD},
        {"GET /\x80 HTTP/1.1\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/2.0\r\n\r\n", STATUS_PARSE_BAD}, {"GET /\r\n\r\n", STATUS_PARSE_BAD},
        {"GET  / HTTP/1.1\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1 \r\n\r\n", STATUS_PARSE_BAD},
        {" GET / HTTP/1.1\r\n\r\n", STATUS_PARSE_BAD},
        {"\r\nGET / HTTP/1.1\r\n\r\n", STATUS_PARSE_BAD}, {"GET / HTTP/1.1\n\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\rX", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\r\nno colon\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\r\n: x\r\n\r\n", STATUS_PARSE_BAD},
        {"GET / HTTP/1.1\r\nA: \x01\r\n\r\n", STATUS_PARSE_BAD},
        {"\x16\x03\x01\x02", STATUS_PARSE_MORE}, /* TLS: the server waits for more */
    };
    struct status_request request;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum status_parse got = parse(cases[i].text, &request);
        if (got != cases[i].parse) {
            fail_msg("%s: %d", cases[i].text, (int)got);
        }
    }
    assert_int_equal(
        status_request_parse(span_make("GET / HTTP/1.1\0", 15), &request), STATUS_PARSE_BAD);
}

static void large_requests_are_refused_at_the_limits(void **state)
{
    (void)state;
    struct status_request request;
    char *text = malloc(3 * STATUS_REQUEST_MAX_BYTES);
    assert_non_null(text);
    memset(text, 'a', 3 * STATUS_REQUEST_MAX_BYTES);
    memcpy(text, "GET /", 5);
    assert_int_equal(
        status_request_parse(span_make(text, STATUS_REQUEST_MAX_LINE_BYTES - 1), &request),
        STATUS_PARSE_MORE);
    assert_int_equal(status_request_parse(span_make(text, STATUS_REQUEST_MAX_LINE_BYTES), &request),
        STATUS_PARSE_LARGE);
    memcpy(text, "GET / HTTP/1.1\r\nA: ", 19);
    assert_int_equal(status_request_parse(span_make(text, STATUS_REQUEST_MAX_BYTES - 1), &request),
        STATUS_PARSE_MORE);
    assert_int_equal(status_request_parse(span_make(text, STATUS_REQUEST_MAX_BYTES), &request),
        STATUS_PARSE_LARGE);
    int size = snprintf(text, 100, "GET / HTTP/1.1\r\n");
    for (int i = 0; i < STATUS_REQUEST_MAX_HEADERS; i++) {
        size += snprintf(text + size, 100, "A: b\r\n");
    }
    snprintf(text + size, 100, "\r\n");
    assert_int_equal(parse(text, &request), STATUS_PARSE_DONE);
    snprintf(text + size, 100, "A: b\r\n\r\n");
    assert_int_equal(parse(text, &request), STATUS_PARSE_LARGE);
    free(text);
}

static void values_of_a_query_are_decoded(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        const char *value; /* NULL: there is none */
    } cases[] = {{"where=event.code%20%3d%3D+1", "event.code == 1"}, {"x=1&where=a", "a"},
        {"where=", ""}, {"where", NULL}, {"nowhere=1", NULL}, {"where=%", NULL}, {"where=%4", NULL},
        {"where=%zz", NULL}, {"where=%00", NULL}, {"where=%41", "A"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct status_request request = {.query = span_text(cases[i].query)};
        struct buf out;
        buf_init(&out, 100);
        bool found = status_request_query(&request, "where", &out);
        assert_int_equal(found, cases[i].value != NULL);
        if (found) {
            assert_span(buf_span(&out), cases[i].value);
        }
        buf_fini(&out);
    }
}

static void only_this_machine_is_local(void **state)
{
    (void)state;
    static const char *const local[] = {"localhost", "LOCALHOST:9187", "127.0.0.1", "127.0.0.1:80",
        "127.9.9.9", "[::1]", "[::1]:9187"};
    static const char *const others[] = {"example.org", "localhost.example.org:9187", "10.0.0.1",
        "[::2]:80", "[::1", "[::1]x", "", "0.0.0.0", "127.0.0.1.example.org", "::1"};
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        assert_true(status_request_is_local(span_text(local[i])));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(status_request_is_local(span_text(others[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_of_a_scraper_is_taken_apart),
        cmocka_unit_test(every_beginning_of_a_request_wants_more),
        cmocka_unit_test(what_is_no_plain_get_is_refused),
        cmocka_unit_test(large_requests_are_refused_at_the_limits),
        cmocka_unit_test(values_of_a_query_are_decoded),
        cmocka_unit_test(only_this_machine_is_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
