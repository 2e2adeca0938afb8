#include "unit/outputs/http_client_rig.h"

/* Requests and replies. */

/* ---- what is sent ---------------------------------------------------------------------------- */

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

/* ---- what comes back ------------------------------------------------------------------------- */

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
    /* A connection that the server has closed meanwhile is no failure. */
    http_fake_script(f.fake, &(struct http_fake_reply){.status = 200, .close = true}, 1);
    assert_true(post(&f, "x"));
    http_fake_wait_closed(f.fake);
    assert_true(post(&f, "x"));
    assert_int_equal(http_fake_request(f.fake, 5)->connection, 3);
    teardown(&f);
}

/* The client did not ask for it, but it must not rely on the server. */
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
        http_client_disconnect(f.client); /* sooner or later the server does, too */
        bool good = post(&f, "x");
        assert_true(good || !cases[i].good);
        if (!cases[i].good) {
            /* Or only a part of it: half a text, which its reader recognises as such. */
            assert_true(good ? f.body_size < 22 : f.reply.failure == HTTP_GARBLED);
        } else if (i == 0) {
            assert_string_equal(f.body, "{\"cgffhgejccgf\":29826}");
        }
    }
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
