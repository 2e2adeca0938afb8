#include "unit/outputs/http_client_rig.h"

#include "outputs/http/proxy/http_proxy.h"
#include "support/await.h"
#include "support/winhttp_fake.h"

/* Failures and their texts, which never contain a secret. */

/* ---- failures -------------------------------------------------------------------------------- */

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
        /* Also on a connection that was used before, where libcurl would send a second time. */
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

/* No server listens at port 1 of loopback. */
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
    /* The fake waits for the end of a request while the client waits for a handshake: the timeout
     * ends it, or a reply that is not TLS. */
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
    request.on_body = NULL; /* bytes that the caller ignores count, too */
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

static void headers_without_end_are_a_fault_of_the_reply(void **state)
{
    (void)state;
    enum { LINE_BYTES = 200 * 1024 };
    static char line[LINE_BYTES];
    struct fixture f;
    memset(line, 'x', sizeof(line) - 3);
    line[1] = ':';
    snprintf(line + sizeof(line) - 3, 3, "\r\n");
    setup(&f);
    http_fake_script(f.fake, &(const struct http_fake_reply){.status = 200, .headers = line}, 1);
    assert_false(post(&f, "x"));
    assert_true(f.reply.failure == HTTP_GARBLED || f.reply.failure == HTTP_LOST);
    assert_true(f.reply.sent);
    assert_null(strstr(f.err.text, "memory"));
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
    /* Or the connection is gone before the reply could be read. */
    assert_true(replied ? f.reply.status == 413 : f.reply.failure == HTTP_LOST);
    assert_false(f.reply.sent);
    assert_true(post(&f, "x"));
    free(big);
    teardown(&f);
}

/* ---- proxies and secrets --------------------------------------------------------------------- */

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
    /* The proxy sets up the tunnel, but sees no token of ours. */
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
        {{.bearer = "abc"}, "", "abc", "abc"}, /* too short for a secret */
        {{.bearer = "aaaa"}, "", "aaaaaaaaa", "******a"},
        /* a text that was cut within a secret */
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

/* The first of the system's proxies cannot be reached: the second one passes the next request
 * on. */
static void proxies_of_the_system_are_tried_one_after_the_other(void **state)
{
    (void)state;
    struct fixture f;
    char proxies[128];
    struct http_fake *proxy = http_fake_start();
    struct http_options options = usual();
    snprintf(proxies, sizeof(proxies), "127.0.0.1:1;%s", http_fake_url(proxy) + 7);
    winhttp_fake_set(&(struct winhttp_fake){.machine = proxies});
    http_proxy_use(&winhttp_fake_api, winhttp_fake_env);
    options.proxy = "system";
    make(&f, &options, NULL);
    http_fake_script(proxy, &(struct http_fake_reply){.status = 202}, 1);
    const struct http_request request = {.method = "GET", .url = "http://es1.example:9200/x"};
    assert_false(http_client_send(f.client, &request, &f.reply, &f.err));
    assert_int_equal(f.reply.failure, HTTP_NO_PROXY);
    assert_true(http_client_send(f.client, &request, &f.reply, &f.err));
    assert_int_equal(f.reply.status, 202);
    const struct http_fake_request *seen = http_fake_request(proxy, 0);
    assert_true(http_fake_has(seen, "Host", "es1.example:9200"));
    teardown(&f);
    http_fake_stop(proxy);
    http_proxy_use(NULL, NULL);
    winhttp_fake_check();
}

static bool stop_when_it_hangs(void *host)
{
    (void)host;
    winhttp_fake_wait(1);
    return true;
}

static void a_search_for_a_proxy_ends_with_a_stop(void **state)
{
    (void)state;
    struct http_reply reply;
    struct error err;
    struct http_options options = usual();
    options.proxy = "system";
    winhttp_fake_set(&(struct winhttp_fake){.script = "http://pac/x", .hangs = true});
    http_proxy_use(&winhttp_fake_api, winhttp_fake_env);
    struct http_client *client = http_client_create(
        &(struct http_client_setup){.options = &options, .stopping = stop_when_it_hangs}, &err);
    assert_non_null(client);
    const struct http_request request = {.method = "GET", .url = "http://es1.example:9200/x"};
    assert_false(http_client_send(client, &request, &reply, &err));
    assert_int_equal(reply.failure, HTTP_STOPPED);
    assert_false(reply.sent);
    assert_string_equal(
        err.text, "http://es1.example:9200: stopped, as the agent or the command ends");
    http_client_destroy(client);
    http_proxy_use(NULL, NULL);
    winhttp_fake_release();
    winhttp_fake_check();
}

/* If a tunnel fails, the fault lies with the server or the way to it: the proxy that was asked for
 * the tunnel stays in use. ${ca}: the client asks the server for its certificate first. */
static void fail_in_a_tunnel(const struct http_fake_reply *reply, const char *ca)
{
    struct fixture f;
    char proxies[160];
    struct http_fake *proxy = http_fake_start();
    struct http_options options = usual();
    snprintf(proxies, sizeof(proxies), "%s;127.0.0.1:1", http_fake_url(proxy) + 7);
    winhttp_fake_set(&(struct winhttp_fake){.machine = proxies});
    http_proxy_use(&winhttp_fake_api, winhttp_fake_env);
    options.proxy = "system";
    options.tls.ca = ca;
    make(&f, &options, NULL);
    http_fake_script(proxy, (const struct http_fake_reply[]){*reply, *reply}, 2);
    for (size_t i = 1; i <= 2; i++) {
        assert_false(http_client_send(f.client,
            &(struct http_request){
                .method = "POST", .url = "https://es1.example:9200", .timeout_ms = 300},
            &f.reply, &f.err));
        assert_int_equal(f.reply.failure, HTTP_NO_ROUTE);
        assert_false(f.reply.sent);
        AWAIT(http_fake_count(proxy) == i); /* on a busy machine it reads the request later */
        assert_memory_equal(
            http_fake_request(proxy, i - 1)->head, "CONNECT es1.example:9200 HTTP/1.1\r\n", 35);
    }
    teardown(&f);
    http_fake_stop(proxy);
    http_proxy_use(NULL, NULL);
    winhttp_fake_check();
}

static void a_server_that_hangs_behind_a_proxy_is_not_the_fault_of_the_proxy(void **state)
{
    (void)state;
    static const struct http_fake_reply no_answer = {.hang = true};
    static const struct http_fake_reply no_handshake = {.status = 200};
    static const char fingerprint[] =
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    fail_in_a_tunnel(&no_answer, NULL);
    fail_in_a_tunnel(&no_answer, fingerprint);
    fail_in_a_tunnel(&no_handshake, NULL);
    fail_in_a_tunnel(&no_handshake, fingerprint);
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
        cmocka_unit_test(every_broken_reply_has_its_class_and_is_asked_for_once),
        cmocka_unit_test(what_cannot_be_reached_was_not_sent),
        cmocka_unit_test(a_server_without_tls_is_told_from_one_that_is_not_there),
        cmocka_unit_test(a_request_ends_in_time_and_when_told_to),
        cmocka_unit_test(a_reply_that_is_too_long_or_unwanted_is_left),
        cmocka_unit_test(headers_without_end_are_a_fault_of_the_reply),
        cmocka_unit_test(a_refusal_that_comes_early_is_a_reply),
        cmocka_unit_test(a_proxy_gets_the_whole_address_and_its_own_password),
        cmocka_unit_test(no_secret_is_in_what_is_said),
        cmocka_unit_test(proxies_of_the_system_are_tried_one_after_the_other),
        cmocka_unit_test(a_search_for_a_proxy_ends_with_a_stop),
        cmocka_unit_test(a_server_that_hangs_behind_a_proxy_is_not_the_fault_of_the_proxy),
        cmocka_unit_test(a_proxy_that_cannot_be_understood_is_not_shown),
        cmocka_unit_test(of_an_address_only_the_host_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
