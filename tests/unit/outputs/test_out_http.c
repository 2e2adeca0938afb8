#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_report.h"
#include "outputs/output.h"
#include "support/http_fake.h"

/* The output against a server that does what it is told; what every output promises is asked in
 * test_conformance.c. */

enum { MAX_RECORDS = 256, TEXT_BYTES = 8192 };

struct rejected {
    size_t record;
    int status;
    char reason[400];
};

struct fixture {
    struct http_fake *fake;
    void *self;
    struct output_report report;
    enum record_status records[MAX_RECORDS];
    struct rejected rejected[MAX_RECORDS];
    size_t rejected_count;
    bool stops;
    /* What the server does. */
    size_t limit_bytes;      /* of a body; 0: none */
    const char *bad;         /* 400 for a body that holds it; NULL: none */
    size_t obeys;            /* so many, then 503; 0: all */
    size_t fails_at;         /* 503 for this request of all; 0: none */
    char stored[TEXT_BYTES]; /* the bodies it took */
};

static bool stopping(void *f)
{
    return ((struct fixture *)f)->stops;
}

static void reject(void *f_, size_t record, const struct output_rejection *why)
{
    struct fixture *f = f_;
    struct rejected *r = &f->rejected[f->rejected_count++];
    r->record = record;
    r->status = why->status;
    snprintf(r->reason, sizeof(r->reason), "%.*s", SPAN_ARG(why->reason));
}

/* ${more}: further keys, with a comma in front. */
static void setup(struct fixture *f, const char *path, const char *more)
{
    char yaml[512];
    struct config_report report;
    struct error err = {0};
    *f = (struct fixture){.fake = http_fake_start()};
    snprintf(yaml, sizeof(yaml), "{url: '%s%s', proxy: ''%s}", http_fake_url(f->fake), path, more);
    config_report_init(&report);
    struct config *config = config_create(NULL, NULL);
    void *settings = config_parse(
        config, span_text(yaml), "test", output_http.fields, output_http.settings_size, &report);
    assert_true(config_report_ok(&report));
    config_report_fini(&report);
    assert_true(config_check_first(output_http.check, settings, &err));
    f->self = output_http.create(
        settings, &(struct output_env){.name = "test", .stopping = stopping, .host = f}, &err);
    assert_non_null(f->self);
    config_destroy(config);
}

static void teardown(struct fixture *f)
{
    output_http.destroy(f->self);
    http_fake_stop(f->fake);
}

static enum output_verdict send_lines(struct fixture *f, const char *lines)
{
    uint32_t ends[MAX_RECORDS];
    struct delivery delivery = {.bytes = span_text(lines), .record_ends = ends};
    for (uint32_t i = 0; lines[i]; i++) {
        if (lines[i] == '\n') {
            ends[delivery.record_count++] = i + 1;
        }
    }
    memset(f->records, 0x5a, sizeof(f->records));
    f->rejected_count = 0;
    f->report = (struct output_report){.records = f->records, .reject = reject, .host = f};
    enum output_verdict verdict = output_http.send(f->self, &delivery, &f->report);
    assert_int_equal(verdict == OUTPUT_DELIVERED, f->report.error.code == ERR_NONE);
    return verdict;
}

/* Lines of 10 bytes: {"n":1000} and a line break make 11. */
static const char *numbered(size_t count)
{
    static char lines[TEXT_BYTES];
    size_t at = 0;
    lines[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        at += (size_t)snprintf(lines + at, sizeof(lines) - at, "{\"n\":%zu}\n", 1000 + i);
    }
    return lines;
}

static void serve(
    void *f_, const struct http_fake_request *request, struct http_fake_reply *ret_reply)
{
    struct fixture *f = f_;
    const char *body = (const char *)request->body.data;
    if (f->limit_bytes && request->body.size > f->limit_bytes) {
        ret_reply->status = 413;
    } else if (f->fails_at && http_fake_count(f->fake) == f->fails_at) {
        ret_reply->status = 503;
    } else if (f->bad && strstr(body, f->bad)) {
        ret_reply->status = 400;
        ret_reply->body = "{\"text\":\"Invalid\r\ndata\"}";
    } else if (f->obeys && f->obeys-- == 1) {
        ret_reply->status = 503;
        ret_reply->headers = "Retry-After: 3\r\n";
    } else {
        assert_true(strlen(f->stored) + request->body.size < TEXT_BYTES);
        strncat(f->stored, body, request->body.size);
    }
}

static void setup_store(struct fixture *f)
{
    setup(f, "/in", "");
    http_fake_handle(f->fake, serve, f);
}

/* ---- requests ------------------------------------------------------------------------------------ */

static void a_request_says_what_is_in_it(void **state)
{
    (void)state;
    static const struct {
        const char *path, *more, *line, *type, *encoding, *body; /* NULL: not looked at */
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

/* ---- replies ------------------------------------------------------------------------------------- */

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

/* A proxy that wants a login, or says in its own words that it has nobody behind it. */
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
    /* Whoever else takes events may answer with what they like. */
    setup(&f, "/in", "");
    http_fake_script(f.fake, &page, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_DELIVERED);
    teardown(&f);
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

static void a_long_reply_is_read_and_forgotten(void **state)
{
    (void)state;
    struct fixture f;
    size_t size = 1 << 20;
    char *body = malloc(size + 1);
    assert_non_null(body);
    memset(body, 'x', size);
    body[size] = '\0';
    setup(&f, "/x", "");
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 200, .body = body}, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_DELIVERED);
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 500, .body = body}, 1);
    assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_RETRY);
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

/* Wherever what a server says is cut. */
static void no_part_of_a_secret_is_left_by_a_cut(void **state)
{
    (void)state;
    static const char secret[] = "k3y-0123456789-abcdef";
    static const struct {
        size_t from, to; /* so many bytes stand in front of it */
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
        const char *headers, *said, *shown;
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
        const struct http_fake_reply reply = {.status = 400, .body = cases[i].said};
        http_fake_script(f.fake, &reply, 1);
        assert_int_equal(send_lines(&f, "{}\n"), OUTPUT_REJECTED);
        assert_string_equal(f.rejected[0].reason, cases[i].shown);
        teardown(&f);
    }
}

/* ---- pieces -------------------------------------------------------------------------------------- */

static void what_is_too_big_goes_in_pieces_and_the_size_is_remembered(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 100; /* nine lines */
    assert_int_equal(send_lines(&f, numbered(64)), OUTPUT_DELIVERED);
    assert_string_equal(f.stored, numbered(64));
    size_t requests = http_fake_count(f.fake);
    assert_int_equal(send_lines(&f, numbered(64)), OUTPUT_DELIVERED);
    assert_int_equal(http_fake_count(f.fake), requests + 8); /* none was too big */
    teardown(&f);
}

static void one_that_is_too_big_alone_is_rejected_and_no_other(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 12;
    assert_int_equal(
        send_lines(&f, "{\"a\":1}\n{\"a\":\"long long long\"}\n{\"a\":2}\n"), OUTPUT_MIXED);
    assert_string_equal(f.stored, "{\"a\":1}\n{\"a\":2}\n");
    assert_int_equal(f.records[0], RECORD_DELIVERED);
    assert_int_equal(f.records[1], RECORD_REJECTED);
    assert_int_equal(f.records[2], RECORD_DELIVERED);
    assert_int_equal(f.rejected_count, 1);
    assert_int_equal(f.rejected[0].record, 1);
    assert_int_equal(f.rejected[0].status, 413);
    teardown(&f);
}

static void what_is_refused_is_found_among_the_others(void **state)
{
    (void)state;
    for (size_t bad = 0; bad < 100; bad += 33) {
        struct fixture f;
        char text[16];
        setup_store(&f);
        snprintf(text, sizeof(text), ":%zu}", 1000 + bad);
        f.bad = text;
        assert_int_equal(send_lines(&f, numbered(100)), OUTPUT_MIXED);
        assert_int_equal(f.rejected_count, 1);
        assert_int_equal(f.rejected[0].record, bad);
        assert_int_equal(f.rejected[0].status, 400);
        assert_string_equal(f.rejected[0].reason, "{\"text\":\"Invalid  data\"}");
        assert_int_equal(strlen(f.stored), 99 * 11);
        assert_null(strstr(f.stored, text));
        for (size_t i = 0; i < 100; i++) {
            assert_int_equal(f.records[i], i == bad ? RECORD_REJECTED : RECORD_DELIVERED);
        }
        assert_true(http_fake_count(f.fake) < 25);
        teardown(&f);
    }
}

/* ---- a server that refuses everything ------------------------------------------------------------ */

/* "b": bad, "g": good. */
static const char *lines_of(const char *kinds)
{
    static char lines[TEXT_BYTES];
    size_t at = 0;
    lines[0] = '\0';
    for (size_t i = 0; kinds[i]; i++) {
        at += (size_t)snprintf(
            lines + at, sizeof(lines) - at, "{\"%s\":%zu}\n", kinds[i] == 'b' ? "bad" : "good", i);
    }
    return lines;
}

static void set_up_is_blamed_after_sixteen_and_waits_until_it_is_mended(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 5, 15, 16, 17, 64, 200};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fixture f;
        size_t lost = 0;
        setup_store(&f);
        f.bad = "n";
        while (send_lines(&f, numbered(sizes[i])) == OUTPUT_REJECTED) {
            assert_false(f.report.degraded);
            lost += f.rejected_count;
            assert_true(lost <= 16);
        }
        for (int again = 0; again < 3; again++) {
            size_t requests = http_fake_count(f.fake);
            assert_true(f.report.degraded);
            assert_int_equal(f.rejected_count, 0);
            assert_non_null(strstr(f.report.error.text, "status 400"));
            assert_non_null(strstr(f.report.error.text, "check what the settings"));
            assert_int_equal(send_lines(&f, numbered(sizes[i])), OUTPUT_RETRY);
            assert_true(http_fake_count(f.fake) <= requests + 2);
        }
        f.bad = NULL;
        assert_int_equal(send_lines(&f, numbered(sizes[i])), OUTPUT_DELIVERED);
        assert_string_equal(f.stored, numbered(sizes[i]));
        assert_false(f.report.degraded);
        teardown(&f);
    }
}

static void something_taken_between_lets_the_count_begin_anew(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.bad = "bad";
    for (int i = 0; i < 5; i++) {
        assert_int_equal(send_lines(&f, lines_of("bbbbbbbbbbbbbbbb")), OUTPUT_REJECTED);
        assert_int_equal(send_lines(&f, lines_of("g")), OUTPUT_DELIVERED);
    }
    teardown(&f);
}

static void many_bad_events_are_found_although_they_look_like_a_bad_set_up(void **state)
{
    (void)state;
    static const struct {
        const char *kinds;
        int retries; /* how often the set-up is blamed before */
    } cases[] = {
        {"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbg", 0},
        {"bbbbbbbbbbbbbbbbg", 0},
        {"bbbbbbbbbbbbbbbbbg", 0},
        {"gbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 0},
        {"bbbbbbbbbbbbbbbbbgbbbbbbbbbbbbbbbbbbbbbg", 0},
        {"bbbbbbbbbbbbbbbbbbgb", 1},
        {"bbbbbbbbbbbbbbbbbbbbgbbb", 3},
        {"bbbbbbbbbgbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 0}, /* the search meets it first */
        {"bbbbbbbbbbbbbbbbbgggggggggggggggggggggggggbbbbbbbbb", 9},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        const char *kinds = cases[i].kinds;
        size_t good = 0;
        size_t bad = 0;
        setup_store(&f);
        f.bad = "bad";
        for (int n = 0; n < cases[i].retries; n++) {
            assert_int_equal(send_lines(&f, lines_of(kinds)), OUTPUT_RETRY);
            assert_true(f.report.degraded);
            assert_int_equal(f.rejected_count, 0);
            assert_string_equal(f.stored, "");
        }
        assert_int_equal(send_lines(&f, lines_of(kinds)), OUTPUT_MIXED);
        assert_false(f.report.degraded);
        for (size_t k = 0; kinds[k]; k++) {
            char line[32];
            snprintf(line, sizeof(line), "{\"good\":%zu}\n", k);
            const char *at = strstr(f.stored, line);
            assert_int_equal(f.records[k], kinds[k] == 'g' ? RECORD_DELIVERED : RECORD_REJECTED);
            assert_int_equal(at != NULL, kinds[k] == 'g');
            assert_null(at ? strstr(at + 1, line) : NULL); /* not twice */
            if (kinds[k] == 'b') {
                assert_int_equal(f.rejected[bad].record, k);
                assert_int_equal(f.rejected[bad].status, 400);
                assert_string_equal(f.rejected[bad++].reason, "{\"text\":\"Invalid  data\"}");
            } else {
                good++;
            }
        }
        assert_int_equal(f.rejected_count, bad);
        assert_int_equal(good + bad, strlen(kinds));
        teardown(&f);
    }
}

static void no_answer_of_the_last_blames_nothing_and_gives_nothing_up(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.bad = "n";
    f.fails_at = 6 + 16 + 1 + 1; /* 64, 32, 16, 8, 4, 2, sixteen alone, one more, and the last */
    assert_int_equal(send_lines(&f, numbered(64)), OUTPUT_RETRY);
    assert_int_equal(http_fake_count(f.fake), f.fails_at);
    assert_false(f.report.degraded);
    assert_int_equal(f.rejected_count, 0);
    assert_non_null(strstr(f.report.error.text, "status 503"));
    teardown(&f);
}

static void what_was_taken_before_a_failure_stays_taken(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 22;
    f.obeys = 3;
    assert_int_equal(send_lines(&f, numbered(8)), OUTPUT_MIXED);
    assert_string_equal(f.stored, numbered(4));
    assert_int_equal(f.report.wait_ms, 3000);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(f.records[i], i < 4 ? RECORD_DELIVERED : RECORD_RETRY);
    }
    teardown(&f);
}

static void a_stop_comes_between_two_pieces(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 22;
    f.stops = true;
    assert_int_equal(send_lines(&f, numbered(8)), OUTPUT_RETRY);
    assert_string_equal(f.stored, "");
    f.stops = false;
    assert_int_equal(send_lines(&f, numbered(8)), OUTPUT_DELIVERED);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_says_what_is_in_it),
        cmocka_unit_test(splunk_knows_us_by_its_own_word),
        cmocka_unit_test(every_status_has_its_verdict),
        cmocka_unit_test(half_a_reply_is_no_answer),
        cmocka_unit_test(a_web_page_is_no_answer_of_a_collector),
        cmocka_unit_test(success_before_the_request_was_sent_is_none),
        cmocka_unit_test(a_long_reply_is_read_and_forgotten),
        cmocka_unit_test(no_secret_comes_back_in_an_error),
        cmocka_unit_test(no_part_of_a_secret_is_left_by_a_cut),
        cmocka_unit_test(a_secret_is_known_before_its_bytes_are_made_fit_to_be_shown),
        cmocka_unit_test(the_credentials_of_a_header_are_secret_without_their_scheme),
        cmocka_unit_test(what_is_too_big_goes_in_pieces_and_the_size_is_remembered),
        cmocka_unit_test(one_that_is_too_big_alone_is_rejected_and_no_other),
        cmocka_unit_test(what_is_refused_is_found_among_the_others),
        cmocka_unit_test(set_up_is_blamed_after_sixteen_and_waits_until_it_is_mended),
        cmocka_unit_test(something_taken_between_lets_the_count_begin_anew),
        cmocka_unit_test(many_bad_events_are_found_although_they_look_like_a_bad_set_up),
        cmocka_unit_test(no_answer_of_the_last_blames_nothing_and_gives_nothing_up),
        cmocka_unit_test(what_was_taken_before_a_failure_stays_taken),
        cmocka_unit_test(a_stop_comes_between_two_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
