#include "support/test.h"

#include <dlfcn.h>
#include <stdarg.h>

#include "outputs/http/http_curl.h"

/* The options that libcurl gets, seen by a curl_easy_setopt in the place of its own: the options
 * for Schannel have no effect that OpenSSL would show. */

#undef curl_easy_setopt

static struct {
    long ssl, proxy_ssl; /* -1: not set */
    char cert[128], key[128];
} told;

static void take(CURLoption option, long number, const void *pointer)
{
    if (option == CURLOPT_SSL_OPTIONS) {
        told.ssl = number;
    } else if (option == CURLOPT_PROXY_SSL_OPTIONS) {
        told.proxy_ssl = number;
    } else if (option == CURLOPT_SSLCERT) {
        snprintf(told.cert, sizeof(told.cert), "%s", (const char *)pointer);
    } else if (option == CURLOPT_SSLKEY) {
        snprintf(told.key, sizeof(told.key), "%s", (const char *)pointer);
    }
}

CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    static CURLcode (*own)(CURL *, CURLoption, ...);
    va_list args;
    CURLcode code;
    if (!own) {
        void *found = dlsym(RTLD_NEXT, "curl_easy_setopt");
        memcpy(&own, &found, sizeof(own));
    }
    va_start(args, option);
    if (option < CURLOPTTYPE_OBJECTPOINT) {
        long number = va_arg(args, long);
        take(option, number, NULL);
        code = own(easy, option, number);
    } else if (option >= CURLOPTTYPE_OFF_T && option < CURLOPTTYPE_BLOB) {
        code = own(easy, option, va_arg(args, curl_off_t));
    } else {
        void *pointer = va_arg(args, void *);
        take(option, 0, pointer);
        code = own(easy, option, pointer);
    }
    va_end(args);
    return code;
}

static bool set_up(struct http_tls tls, struct error *err)
{
    CURL *easy = curl_easy_init();
    const struct http_options options = {.proxy = "",
        .tls = tls,
        .connect_timeout_ns = UINT64_C(1000000000),
        .timeout_ns = UINT64_C(1000000000)};
    told.ssl = told.proxy_ssl = -1;
    told.cert[0] = told.key[0] = '\0';
    bool good = http_curl_set_up(easy, &options, err);
    curl_easy_cleanup(easy);
    return good;
}

/* curl.h: CURLSSLOPT_NO_REVOKE (1<<1), CURLSSLOPT_REVOKE_BEST_EFFORT (1<<3). */
static void revocation_is_best_effort_unless_something_else_is_asked_for(void **state)
{
    (void)state;
    struct error err;
    assert_true(set_up((struct http_tls){.ca = NULL}, &err));
    assert_int_equal(told.ssl, 8);
    assert_int_equal(told.proxy_ssl, 8);
    assert_true(set_up((struct http_tls){.ca = "ca.pem"}, &err));
    assert_int_equal(told.ssl, 8);
    assert_true(set_up((struct http_tls){.revocation = HTTP_REVOCATION_NONE}, &err));
    assert_int_equal(told.ssl, 2);
    assert_int_equal(told.proxy_ssl, 2);
}

static void what_only_windows_has_is_refused(void **state)
{
    (void)state;
    struct error err;
    assert_false(set_up((struct http_tls){.revocation = HTTP_REVOCATION_STRICT}, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "revocation: strict is for Windows"));
    assert_false(set_up((struct http_tls){.client_cert = "LocalMachine\\MY\\x"}, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "client_cert is for Windows"));
}

static void a_certificate_and_key_are_files(void **state)
{
    (void)state;
    struct error err;
    assert_true(set_up((struct http_tls){.cert = "a.pem", .key = "a.key"}, &err));
    assert_string_equal(told.cert, "a.pem");
    assert_string_equal(told.key, "a.key");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(revocation_is_best_effort_unless_something_else_is_asked_for),
        cmocka_unit_test(what_only_windows_has_is_refused),
        cmocka_unit_test(a_certificate_and_key_are_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
