#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/http/http_client.h"
#include "support/http_fake.h"

/* Requests and replies over a server that does what it is told. TLS: tests/integration/http.py. */

enum { SECOND_NS = 1000000000 };

struct fixture {
    struct http_fake *fake;
    struct http_client *client;
    struct http_reply reply;
    struct error err;
    bool stops;
    char body[4096]; /* of the reply */
    size_t body_size;
    char product[32];
};

static bool stopping(void *f)
{
    return ((struct fixture *)f)->stops;
}

static struct http_options usual(void)
{
    return (struct http_options){.proxy = "",
        .connect_timeout_ns = 10 * (uint64_t)SECOND_NS,
        .timeout_ns = 30 * (uint64_t)SECOND_NS};
}

static void make(struct fixture *f, const struct http_options *options, const char *scheme)
{
    *f = (struct fixture){.fake = http_fake_start()};
    f->client = http_client_create(
        &(struct http_client_setup){
            .options = options, .scheme = scheme, .stopping = stopping, .host = f},
        &f->err);
    assert_non_null(f->client);
}

static void setup(struct fixture *f)
{
    struct http_options options = usual();
    make(f, &options, NULL);
}

static void teardown(struct fixture *f)
{
    http_client_destroy(f->client);
    http_fake_stop(f->fake);
}

static bool take_body(void *f_, struct span piece)
{
    struct fixture *f = f_;
    assert_true(f->body_size + piece.size < sizeof(f->body));
    memcpy(f->body + f->body_size, piece.data, piece.size);
    f->body_size += piece.size;
    f->body[f->body_size] = '\0';
    return true;
}

static bool take_header(void *f_, struct span name, struct span value)
{
    struct fixture *f = f_;
    if (span_equal_nocase(name, span_text("x-product"))) {
        assert_true(value.size < sizeof(f->product));
        memcpy(f->product, value.data, value.size);
    }
    return true;
}

static bool post(struct fixture *f, const char *body)
{
    const struct span part = span_text(body);
    f->body_size = 0;
    f->body[0] = '\0';
    f->err = (struct error){0};
    return http_client_send(f->client,
        &(struct http_request){.method = "POST",
            .url = http_fake_url(f->fake),
            .parts = &part,
            .part_count = 1,
            .on_body = take_body,
            .on_header = take_header,
            .self = f},
        &f->reply, &f->err);
}

/* ---- what is sent -------------------------------------------------------------------------------- */

static void a_body_of_many_parts_arrives_as_one(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    size_t big_size = 3 << 20;
    uint8_t *big = malloc(big_size);
    assert_non_null(big);
    for (size_t i = 0; i < big_size; i++) {
        big[i] = (uint8_t)(i * 2654435761u >> 13);
    }
    const struct span parts[] = {span_text("ab"), span_make(NULL, 0), span_text("c"),
        span_make(big, big_size), span_make(NULL, 0), span_text("!")};
    assert_true(http_client_send(f.client,
        &(struct http_request){.method = "PUT",
            .url = http_fake_url(f.fake),
            .path = "/x/y?z=1",
            .headers = (const struct http_header[]){{"Content-Type", "a/b"}, {"X-Empty", ""}},
            .header_count = 2,
            .parts = parts,
            .part_count = 6},
        &f.reply, &f.err));
    const struct http_fake_request *request = http_fake_request(f.fake, 0);
    assert_int_equal(strncmp(request->head, "PUT /x/y?z=1 HTTP/1.1\r\n", 23), 0);
    assert_int_equal(request->body.size, big_size + 4);
    assert_memory_equal(request->body.data, "abc", 3);
    assert_memory_equal(request->body.data + 3, big, big_size);
    assert_int_equal(request->body.data[big_size + 3], '!');
    assert_true(http_fake_has(request, "Content-Type", "a/b"));
    assert_true(http_fake_has(request, "X-Empty", ""));
    assert_true(http_fake_has(request, "Content-Length", "3145732"));
    assert_non_null(strstr(request->head, "\r\nUser-Agent: etwship/0."));
    assert_true(http_fake_has(request, "Accept-Encoding", "identity"));
    assert_false(http_fake_has(request, "Expect", NULL));
    assert_false(http_fake_has(request, "Authorization", NULL));
    assert_false(http_fake_has(request, "Transfer-Encoding", NULL));
    assert_true(f.reply.sent);
    free(big);
    teardown(&f);
}

static void methods_without_a_body_send_none(void **state)
{
    (void)state;
    static const char *const methods[] = {"GET", "DELETE", "HEAD", "POST", "GET"};
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < 5; i++) {
        f.body_size = 0;
        http_fake_script(f.fake, &(struct http_fake_reply){.status = 201, .body = "hello"}, 1);
        if (strcmp(methods[i], "HEAD") == 0) {
            http_fake_script(f.fake, &(struct http_fake_reply){.status = 201, .promised = 7}, 1);
        }
        assert_true(http_client_send(f.client,
            &(struct http_request){.method = methods[i],
                .url = http_fake_url(f.fake),
                .on_body = take_body,
                .self = &f},
            &f.reply, &f.err));
        assert_int_equal(f.reply.status, 201);
        assert_int_equal(f.body_size, strcmp(methods[i], "HEAD") == 0 ? 0 : 5);
        const struct http_fake_request *request = http_fake_request(f.fake, i);
        size_t size = strlen(methods[i]);
        assert_memory_equal(request->head, methods[i], size);
        assert_memory_equal(request->head + size, " / HTTP/1.1\r\n", 13);
        assert_int_equal(http_fake_has(request, "Content-Length", NULL), i == 3);
    }
    teardown(&f);
}

static void urls_and_paths_are_joined_with_one_slash(void **state)
{
    (void)state;
    static const struct {
        const char *behind, *path, *expected;
    } cases[] = {{"", NULL, "/"}, {"/", NULL, "/"}, {"/a", NULL, "/a"}, {"", "_bulk", "/_bulk"},
        {"/", "/_bulk", "/_bulk"}, {"/es//", "/_bulk?x=%20", "/es/_bulk?x=%20"},
        {"/a?k=v", NULL, "/a?k=v"}, {"/a/../b", NULL, "/b"}};
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char url[128];
        char line[64];
        snprintf(url, sizeof(url), "%s%s", http_fake_url(f.fake), cases[i].behind);
        snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\n", cases[i].expected);
        assert_true(http_client_send(f.client,
            &(struct http_request){.method = "GET", .url = url, .path = cases[i].path}, &f.reply,
            &f.err));
        assert_memory_equal(http_fake_request(f.fake, i)->head, line, strlen(line));
    }
    teardown(&f);
}

static void every_way_to_log_in_has_its_header(void **state)
{
    (void)state;
    static const struct {
        struct http_auth auth;
        const char *scheme, *expected;
    } cases[] = {
        /* RFC 7617, 2, and Elasticsearch's own example of id:key. */
        {{.user = "Aladdin", .password = "open sesame"}, NULL,
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
        {{.user = "Aladdin", .password = "open sesame"}, "Splunk",
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
        {{.api_key = "VuaCfGcBCdbkQm-e5aOx:ui2lp2axTNmsyakw9tvNnw"}, NULL,
            "ApiKey VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw=="},
        {{.api_key = "VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw=="}, NULL,
            "ApiKey VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw=="},
        {{.bearer = "a.b.c"}, NULL, "Bearer a.b.c"},
        {{.bearer = "11111111-2222"}, "Splunk", "Splunk 11111111-2222"},
        {{.api_key = "1111:2222"}, "Splunk", "Splunk 1111:2222"},
        {{.api_key = "a:b"}, NULL, "ApiKey YTpi"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct http_options options = usual();
        options.auth = cases[i].auth;
        make(&f, &options, cases[i].scheme);
        assert_true(post(&f, "x"));
        assert_true(
            http_fake_has(http_fake_request(f.fake, 0), "Authorization", cases[i].expected));
        teardown(&f);
    }
}

static void a_header_authorization_of_the_request_stands_alone(void **state)
{
    (void)state;
    struct fixture f;
    struct http_options options = usual();
    options.auth.bearer = "abcdef";
    make(&f, &options, NULL);
    assert_true(http_client_send(f.client,
        &(struct http_request){.method = "GET",
            .url = http_fake_url(f.fake),
            .headers = &(struct http_header){"authorization", "Other x"},
            .header_count = 1},
        &f.reply, &f.err));
    assert_null(strstr(http_fake_request(f.fake, 0)->head, "Bearer"));
    teardown(&f);
}

/* ---- what comes back ----------------------------------------------------------------------------- */

static void replies_come_with_status_headers_and_body(void **state)
{
    (void)state;
    static const struct {
        struct http_fake_reply reply;
        int status;
        const char *body, *product;
    } cases[] = {
        {{.status = 200, .body = "hi", .headers = "X-Product:  Thing \r\n"}, 200, "hi", "Thing"},
        {{.status = 302, .headers = "Location: http://127.0.0.1:1/\r\n"}, 302, "", ""},
        {{.status = 404, .body = "no"}, 404, "no", ""},
        {{.status = 503, .body = "later"}, 503, "later", ""},
        {{.status = 200, .body = "x", .interim = "HTTP/1.1 100 Continue\r\nX-Product: not\r\n\r\n"},
            200, "x", ""},
        {{.status = 200, .interim = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n"},
            200, "", ""},
        {{.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                 "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"},
            200, "abc", ""},
        {{.raw = "HTTP/1.0 200 OK\r\n\r\nuntil the end"}, 200, "until the end", ""},
        {{.raw = "HTTP/1.1 204 No Content\r\n\r\n", .close = true}, 204, "", ""},
    };
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(f.product, 0, sizeof(f.product));
        http_fake_script(f.fake, &cases[i].reply, 1);
        assert_true(post(&f, "x"));
        assert_int_equal(f.reply.failure, HTTP_REPLIED);
        assert_int_equal(f.reply.status, cases[i].status);
        assert_string_equal(f.body, cases[i].body);
        assert_string_equal(f.product, cases[i].product);
        assert_int_equal(f.err.code, ERR_NONE);
        assert_int_equal(http_fake_count(f.fake), i + 1);
        if (cases[i].reply.raw) {
            http_fake_wait_closed(f.fake);
        }
    }
    teardown(&f);
}

static void retry_after_is_read_in_seconds(void **state)
{
    (void)state;
    static const struct {
        const char *headers;
        uint64_t wait_ms;
    } cases[] = {{"", 0}, {"Retry-After: 7\r\n", 7000}, {"retry-after: 21599\r\n", 21599000},
        {"Retry-After: 86400\r\n", 21600000}, {"Retry-After: 0\r\n", 0}, {"Retry-After: -5\r\n", 0},
        {"Retry-After: soon\r\n", 0}, {"Retry-After:\r\n", 0},
        {"Retry-After: 99999999999999999999999\r\n", 0},
        {"Retry-After: 9223372036854775807\r\n", 0},
        {"Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n", 0}};
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        http_fake_script(
            f.fake, &(struct http_fake_reply){.status = 503, .headers = cases[i].headers}, 1);
        assert_true(post(&f, "x"));
        if (i != 9) {
            assert_int_equal(f.reply.retry_after_ms, cases[i].wait_ms);
        }
    }
    teardown(&f);
}

static void retry_after_is_read_as_a_date(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    http_fake_script(f.fake,
        &(struct http_fake_reply){
            .status = 429, .headers = "Retry-After: Fri, 01 Jan 2100 00:00:00 GMT\r\n"},
        1);
    assert_true(post(&f, "x"));
    assert_int_equal(f.reply.retry_after_ms, HTTP_RETRY_AFTER_MAX_S * 1000);
    teardown(&f);
}

static void connections_are_kept_until_told_otherwise(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    for (int i = 0; i < 3; i++) {
        assert_true(post(&f, "x"));
        assert_int_equal(http_fake_request(f.fake, (size_t)i)->connection, 1);
    }
    http_client_disconnect(f.client);
    http_client_disconnect(f.client);
    assert_true(post(&f, "x"));
    assert_int_equal(http_fake_request(f.fake, 3)->connection, 2);
    /* One that was closed meanwhile is no failure. */
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 200, .close = true}, 1);
    assert_true(post(&f, "x"));
    http_fake_wait_closed(f.fake);
    assert_true(post(&f, "x"));
    assert_int_equal(http_fake_request(f.fake, 5)->connection, 3);
    teardown(&f);
}

/* Nobody asked for it, but nobody may count on that, either. */
static void a_reply_that_is_compressed_is_read_all_the_same(void **state)
{
    (void)state;
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %zu\r\n\r\n%.*s";
    /* {"cgffhgejccgf":29826} as zlib of Python deflates it (RFC 1951), without a NUL. */
    static const char packed[] =
        "\xab\x56\x4a\x4e\x4f\x4b\xcb\x48\x4f\xcd\x4a\x06\x32\x94\xac\x8c\x2c\x2d\x8c\xcc\x6a\x01";
    static const struct {
        const char *encoding;
        size_t size;
        bool good;
    } cases[] = {{"deflate", 22, true}, {"deflate", 5, false}, {"deflate", 0, true},
        {"gzip", 22, false}, {"x-unheard-of", 22, false}, {"identity", 22, true}};
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char raw[256];
        snprintf(
            raw, sizeof(raw), head, cases[i].encoding, cases[i].size, (int)cases[i].size, packed);
        http_fake_script(f.fake, &(struct http_fake_reply){.raw = raw}, 1);
        http_client_disconnect(f.client); /* the server does, sooner or later */
        bool good = post(&f, "x");
        assert_true(good || !cases[i].good);
        if (!cases[i].good) {
            /* Or what there is of it: half a text, which its reader knows for one. */
            assert_true(good ? f.body_size < 22 : f.reply.failure == HTTP_GARBLED);
        } else if (i == 0) {
            assert_string_equal(f.body, "{\"cgffhgejccgf\":29826}");
        }
    }
    teardown(&f);
}

/* ---- failures ------------------------------------------------------------------------------------ */

static void every_broken_reply_has_its_class_and_is_asked_for_once(void **state)
{
    (void)state;
    static const struct {
        struct http_fake_reply reply;
        enum http_failure failure;
        int status;
    } cases[] = {
        {{.status = 0}, HTTP_LOST, 0},
        {{.status = 200, .cut = 5}, HTTP_LOST, 0},
        {{.status = 200, .cut = 20}, HTTP_GARBLED, 200},
        {{.status = 200, .cut = 38}, HTTP_GARBLED, 200},
        {{.status = 200, .body = "abc", .promised = 10}, HTTP_GARBLED, 200},
        {{.status = 503, .body = "abc", .promised = 1}, HTTP_GARBLED, 503},
        {{.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}, HTTP_GARBLED,
            200},
        {{.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab"}, HTTP_LOST, 200},
        {{.raw = "220 mail.example ESMTP\r\n"}, HTTP_GARBLED, 0},
        {{.raw = "{\"error\":1}"}, HTTP_GARBLED, 0},
        {{.raw = "HTTP/1.1 100 Continue\r\n\r\n"}, HTTP_LOST, 0},
        {{.raw = "HTTP/1.1 99 OK\r\n\r\n"}, HTTP_GARBLED, 0},
    };
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        /* On a connection that was used before, too, where libcurl would send a second time. */
        assert_true(post(&f, "before"));
        http_fake_script(f.fake, &cases[i].reply, 1);
        assert_false(post(&f, "body"));
        assert_int_equal(f.reply.failure, cases[i].failure);
        assert_int_equal(f.reply.status, cases[i].status);
        assert_true(f.reply.sent);
        assert_int_equal(http_fake_count(f.fake), 2 * i + 2);
        http_fake_wait_closed(f.fake);
        size_t size = strlen(http_fake_url(f.fake));
        assert_memory_equal(f.err.text, http_fake_url(f.fake), size);
        assert_memory_equal(f.err.text + size, ": ", 2);
    }
    teardown(&f);
}

/* Nobody listens at port 1 of loopback. */
static void what_cannot_be_reached_was_not_sent(void **state)
{
    (void)state;
    static const struct {
        const char *url, *proxy;
        enum http_failure failure;
    } cases[] = {
        {"http://127.0.0.1:1", "", HTTP_NO_ROUTE},
        {"https://127.0.0.1:1", "", HTTP_NO_ROUTE},
        {"http://a..b/", "", HTTP_NO_ADDRESS},
        {"http://127.0.0.1:1", "http://127.0.0.1:1", HTTP_NO_PROXY},
        {"https://127.0.0.1:1", "http://127.0.0.1:1", HTTP_NO_PROXY},
        {"http://127.0.0.1:1", "http://a..b", HTTP_NO_PROXY},
        {"http://127.0.0.1:99999", "", HTTP_IMPOSSIBLE},
        {"http://[::1", "", HTTP_IMPOSSIBLE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct http_options options = usual();
        options.proxy = cases[i].proxy;
        make(&f, &options, NULL);
        const struct span part = span_text("x");
        assert_false(http_client_send(f.client,
            &(struct http_request){
                .method = "POST", .url = cases[i].url, .parts = &part, .part_count = 1},
            &f.reply, &f.err));
        assert_int_equal(f.reply.failure, cases[i].failure);
        assert_int_equal(f.reply.status, 0);
        assert_false(f.reply.sent);
        teardown(&f);
    }
}

static void a_server_without_tls_is_told_from_one_that_is_not_there(void **state)
{
    (void)state;
    struct fixture f;
    char url[64];
    setup(&f);
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 400}, 1);
    snprintf(url, sizeof(url), "https%s", http_fake_url(f.fake) + 4);
    /* The fake waits for the end of a request in what is a handshake: time ends it, or it is a
     * reply that is no TLS. */
    assert_false(http_client_send(f.client,
        &(struct http_request){.method = "GET", .url = url, .timeout_ms = 300}, &f.reply, &f.err));
    assert_int_equal(f.reply.failure, HTTP_NO_ROUTE);
    http_client_disconnect(f.client);
    teardown(&f);
}

static void a_request_ends_in_time_and_when_told_to(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    const struct http_fake_reply hang = {.hang = true};
    http_fake_script(f.fake, &hang, 1);
    assert_false(http_client_send(f.client,
        &(struct http_request){.method = "GET", .url = http_fake_url(f.fake), .timeout_ms = 100},
        &f.reply, &f.err));
    assert_int_equal(f.reply.failure, HTTP_TIMED_OUT);
    assert_true(f.reply.sent);
    http_fake_script(f.fake, &hang, 1);
    f.stops = true;
    assert_false(post(&f, "x"));
    assert_int_equal(f.reply.failure, HTTP_STOPPED);
    assert_int_equal(f.err.code, ERR_STOPPED);
    f.stops = false;
    http_fake_script(f.fake, NULL, 0);
    assert_true(post(&f, "again"));
    teardown(&f);
}

static bool had_enough(void *self, struct span piece)
{
    (void)self;
    return piece.size == 0;
}

static bool had_enough_of_headers(void *self, struct span name, struct span value)
{
    (void)value;
    (void)self;
    return !span_equal_nocase(name, span_text("content-length"));
}

static void a_reply_that_is_too_long_or_unwanted_is_left(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    struct http_request request = {.method = "GET",
        .url = http_fake_url(f.fake),
        .on_body = take_body,
        .self = &f,
        .max_reply_bytes = 4};
    http_fake_script(f.fake,
        (const struct http_fake_reply[]){{.status = 200, .body = "1234"},
            {.status = 200, .body = "12345"}, {.status = 200, .body = "12345"},
            {.status = 200, .body = "1"}, {.status = 200, .body = "1234"}},
        5);
    assert_true(http_client_send(f.client, &request, &f.reply, &f.err));
    assert_false(http_client_send(f.client, &request, &f.reply, &f.err));
    assert_int_equal(f.reply.failure, HTTP_TOO_LONG);
    assert_int_equal(f.reply.status, 200);
    request.on_body = NULL; /* what nobody wants counts, too */
    assert_false(http_client_send(f.client, &request, &f.reply, &f.err));
    assert_int_equal(f.reply.failure, HTTP_TOO_LONG);
    request.on_body = had_enough;
    assert_false(http_client_send(f.client, &request, &f.reply, &f.err));
    assert_int_equal(f.reply.failure, HTTP_UNWANTED);
    request.on_body = NULL;
    request.on_header = had_enough_of_headers;
    assert_false(http_client_send(f.client, &request, &f.reply, &f.err));
    assert_int_equal(f.reply.failure, HTTP_UNWANTED);
    assert_true(post(&f, "x"));
    teardown(&f);
}

static void a_refusal_that_comes_early_is_a_reply(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    size_t size = 8 << 20;
    char *big = malloc(size + 1);
    assert_non_null(big);
    memset(big, 'x', size);
    big[size] = '\0';
    http_fake_script(f.fake,
        &(struct http_fake_reply){.status = 413, .headers = "Connection: close\r\n", .early = true},
        1);
    bool replied = post(&f, big);
    /* Or the connection is gone before it could be read. */
    assert_true(replied ? f.reply.status == 413 : f.reply.failure == HTTP_LOST);
    assert_false(f.reply.sent);
    assert_true(post(&f, "x"));
    free(big);
    teardown(&f);
}

/* ---- proxies and secrets ------------------------------------------------------------------------- */

static void a_proxy_gets_the_whole_address_and_its_own_password(void **state)
{
    (void)state;
    struct fixture f;
    struct http_fake *proxy = http_fake_start();
    char address[96];
    snprintf(address, sizeof(address), "http://pat:s%%40crett@%s", http_fake_url(proxy) + 7);
    struct http_options options = usual();
    options.proxy = address;
    options.auth.bearer = "abcdef";
    make(&f, &options, NULL);
    http_fake_script(proxy, (const struct http_fake_reply[]){{.status = 202}, {.status = 407}}, 2);
    assert_true(post(&f, "x"));
    assert_int_equal(f.reply.status, 202);
    assert_int_equal(http_fake_count(f.fake), 0);
    const struct http_fake_request *seen = http_fake_request(proxy, 0);
    assert_memory_equal(seen->head, "POST http://127.0.0.1:", 22);
    /* base64 of pat:s@crett */
    assert_true(http_fake_has(seen, "Proxy-Authorization", "Basic cGF0OnNAY3JldHQ="));
    assert_true(http_fake_has(seen, "Authorization", "Bearer abcdef"));
    /* A tunnel is the proxy's business: it sees no token of ours. */
    assert_false(http_client_send(f.client,
        &(struct http_request){.method = "POST", .url = "https://es.example:9200"}, &f.reply,
        &f.err));
    assert_int_equal(f.reply.failure, HTTP_PROXY_LOGIN);
    assert_true(http_failure_lasts(f.reply.failure));
    seen = http_fake_request(proxy, 1);
    assert_memory_equal(seen->head, "CONNECT es.example:9200 HTTP/1.1\r\n", 34);
    assert_false(http_fake_has(seen, "Authorization", NULL));
    assert_null(strstr(f.err.text, "crett"));
    assert_non_null(strstr(f.err.text, "407"));
    teardown(&f);
    http_fake_stop(proxy);
}

static void no_secret_is_in_what_is_said(void **state)
{
    (void)state;
    static const struct {
        struct http_auth auth;
        const char *proxy, *text, *shown;
    } cases[] = {
        {{.bearer = "t0ken-1"}, "", "I got t0ken-1 and t0ken-1!", "I got *** and ***!"},
        {{.user = "u", .password = "pass word"}, "", "Basic dTpwYXNzIHdvcmQ= is pass word",
            "Basic *** is ***"},
        {{.api_key = "name:value1"}, "", "ApiKey bmFtZTp2YWx1ZTE= of name:value1, value1",
            "ApiKey *** of ***, ***"},
        {{0}, "http://u:p@h:1", "cannot use 'http://me:secr/et@h:3128/', x@y",
            "cannot use 'http://***@h:3128/', x@y"},
        {{0}, "", "http://a@b https://:p@c", "http://*@b https://**@c"},
        {{.bearer = "abc"}, "", "abc", "abc"}, /* too short to be one */
        {{.bearer = "aaaa"}, "", "aaaaaaaaa", "******a"},
        /* what was cut within a secret */
        {{.bearer = "t0ken-1"}, "", "I got t0ken-", "I got ***"},
        {{.bearer = "t0ken-1"}, "", "I got t0ken-1 and t0ke", "I got *** and ***"},
        {{.bearer = "t0ken-1"}, "", "t0ken", "***"},
        {{.bearer = "t0ken-1"}, "", "I got t0k", "I got t0k"},
        {{.bearer = "t0ken-1"}, "", "", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        char text[128];
        struct http_options options = usual();
        options.auth = cases[i].auth;
        options.proxy = cases[i].proxy;
        make(&f, &options, NULL);
        snprintf(text, sizeof(text), "%s", cases[i].text);
        http_client_hide(f.client, text);
        assert_string_equal(text, cases[i].shown);
        assert_true(http_client_add_secret(f.client, "added"));
        snprintf(text, sizeof(text), "addedadded");
        http_client_hide(f.client, text);
        assert_string_equal(text, "******");
        teardown(&f);
    }
}

static void a_proxy_that_cannot_be_understood_is_not_shown(void **state)
{
    (void)state;
    static const char *const proxies[] = {"http://user:hunter22@ho st", "foo://user:hunter22@h",
        "http://user:hunter22@h:999999", "http://user:hunter22@127.0.0.1:1"};
    for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++) {
        struct fixture f;
        struct http_options options = usual();
        options.proxy = proxies[i];
        make(&f, &options, NULL);
        assert_false(post(&f, "x"));
        assert_int_equal(f.reply.failure, HTTP_NO_PROXY);
        assert_null(strstr(f.err.text, "hunter"));
        teardown(&f);
    }
}

static void of_an_address_only_the_host_is_shown(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    assert_false(http_client_send(f.client,
        &(struct http_request){.method = "GET", .url = "http://127.0.0.1:1/token/abc?key=def"},
        &f.reply, &f.err));
    assert_memory_equal(f.err.text, "http://127.0.0.1:1: ", 20);
    assert_null(strstr(f.err.text, "token"));
    assert_null(strstr(f.err.text, "key"));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_of_many_parts_arrives_as_one),
        cmocka_unit_test(methods_without_a_body_send_none),
        cmocka_unit_test(urls_and_paths_are_joined_with_one_slash),
        cmocka_unit_test(every_way_to_log_in_has_its_header),
        cmocka_unit_test(a_header_authorization_of_the_request_stands_alone),
        cmocka_unit_test(replies_come_with_status_headers_and_body),
        cmocka_unit_test(retry_after_is_read_in_seconds),
        cmocka_unit_test(retry_after_is_read_as_a_date),
        cmocka_unit_test(connections_are_kept_until_told_otherwise),
        cmocka_unit_test(a_reply_that_is_compressed_is_read_all_the_same),
        cmocka_unit_test(every_broken_reply_has_its_class_and_is_asked_for_once),
        cmocka_unit_test(what_cannot_be_reached_was_not_sent),
        cmocka_unit_test(a_server_without_tls_is_told_from_one_that_is_not_there),
        cmocka_unit_test(a_request_ends_in_time_and_when_told_to),
        cmocka_unit_test(a_reply_that_is_too_long_or_unwanted_is_left),
        cmocka_unit_test(a_refusal_that_comes_early_is_a_reply),
        cmocka_unit_test(a_proxy_gets_the_whole_address_and_its_own_password),
        cmocka_unit_test(no_secret_is_in_what_is_said),
        cmocka_unit_test(a_proxy_that_cannot_be_understood_is_not_shown),
        cmocka_unit_test(of_an_address_only_the_host_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
