#include "outputs/http/http_curl.h"

#include "base/buf.h"
#include "outputs/http/http_ca.h"
#include "outputs/http/http_platform.h"
#include "platform/plat_clock.h"

enum {
    /* libcurl allocates this buffer for every request. Large ones come from the system, with a
     * fault per page; small ones need more calls to send. */
    UPLOAD_BYTES = 112 * 1024,
    PINS_MAX_BYTES = 4096,
};

static bool set_pins(CURL *easy, const struct config_strings *pins)
{
    struct buf list;
    buf_init(&list, PINS_MAX_BYTES);
    for (size_t i = 0; i < pins->count; i++) {
        buf_printf(&list, "%ssha256//%s", i ? ";" : "", pins->items[i]);
    }
    buf_add_byte(&list, '\0');
    bool good = !list.failed && (!pins->count || curl_easy_setopt(easy, CURLOPT_PINNEDPUBLICKEY,
                                                     (const char *)list.data) == CURLE_OK);
    buf_fini(&list);
    return good;
}

static bool set_cert(CURL *easy, const struct http_tls *tls)
{
    if (tls->client_cert) {
        return !curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->client_cert);
    }
    if (http_options_is_pkcs12(tls->cert)) {
        return !curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->cert) &&
               !curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "P12");
    }
    return !tls->cert || !tls->key ||
           (!curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->cert) &&
               !curl_easy_setopt(easy, CURLOPT_SSLKEY, tls->key));
}

/*
 * libcurl's default on Schannel is strict: a certificate of a private authority without a
 * revocation list or OCSP server fails then, and so does every certificate while that server is
 * unreachable. OpenSSL checks no revocation and ignores these bits. Builds without the bit for best
 * effort (libcurl 7.70) have no Schannel.
 */
static long ssl_options(const struct http_tls *tls)
{
    switch ((enum http_revocation)tls->revocation) {
    case HTTP_REVOCATION_BEST_EFFORT:
#ifdef CURLSSLOPT_REVOKE_BEST_EFFORT
        return CURLSSLOPT_REVOKE_BEST_EFFORT;
#else
        return CURLSSLOPT_NO_REVOKE;
#endif
    case HTTP_REVOCATION_NONE:
        return CURLSSLOPT_NO_REVOKE;
    case HTTP_REVOCATION_STRICT:
        break;
    }
    return 0;
}

static bool set_revocation(CURL *easy, const struct http_tls *tls)
{
    long options = ssl_options(tls);
    /* For a proxy over TLS, which not every libcurl supports. */
    CURLcode of_proxy = curl_easy_setopt(easy, CURLOPT_PROXY_SSL_OPTIONS, options);
    return !curl_easy_setopt(easy, CURLOPT_SSL_OPTIONS, options) &&
           (of_proxy == CURLE_OK || of_proxy == CURLE_NOT_BUILT_IN ||
               of_proxy == CURLE_UNKNOWN_OPTION);
}

static bool set_tls(CURL *easy, const struct http_tls *tls)
{
    bool good = (!tls->ca || http_ca_set_up(easy, tls->ca)) && set_cert(easy, tls);
    long oldest = tls->min_version == HTTP_TLS_1_3 ? CURL_SSLVERSION_TLSv1_3
                                                   : CURL_SSLVERSION_TLSv1_2;
    return good && set_pins(easy, &tls->pin_sha256) && set_revocation(easy, tls) &&
           !curl_easy_setopt(easy, CURLOPT_SSLVERSION, oldest) &&
           !curl_easy_setopt(
               easy, CURLOPT_SSL_VERIFYPEER, tls->verify == HTTP_VERIFY_NONE ? 0L : 1L) &&
           !curl_easy_setopt(
               easy, CURLOPT_SSL_VERIFYHOST, tls->verify == HTTP_VERIFY_FULL ? 2L : 0L);
}

/* A configured proxy is used for every address and ignores NO_PROXY. It is set before each request
 * (http_proxy.h). */
static bool set_proxy(CURL *easy, const char *proxy)
{
    return !proxy || strcmp(proxy, "system") == 0 || !curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
}

static bool set_protocols(CURL *easy)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    return !curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return !curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

static bool set_limits(CURL *easy, const struct http_options *options)
{
    long connect_ms = (long)(options->connect_timeout_ns / NS_PER_MS);
    return !curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) &&
           !curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) &&
           !curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L) &&
           !curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) &&
           !curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BYTES) &&
           !curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms) &&
           /* Request no compression, but decode it if a server uses it: without this header any
            * coding would be allowed (RFC 9110, 12.5.3). */
           !curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity") &&
           !curl_easy_setopt(easy, CURLOPT_USERAGENT, "etwship/" ETWSHIP_VERSION);
}

static void ask_here(const void *options, struct config_check *check)
{
    http_platform_check(check, options);
}

bool http_curl_set_up(CURL *easy, const struct http_options *options, struct error *err)
{
    const struct http_tls *tls = &options->tls;
    if (!config_check_first(ask_here, options, err)) {
        err->code = ERR_UNSUPPORTED;
        return false;
    }
    /* HTTP/2 does not exist in every build of libcurl. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* A name server that does not answer must not delay the end. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    if (set_protocols(easy) && set_limits(easy, options) && set_tls(easy, tls) &&
        set_proxy(easy, options->proxy)) {
        return true;
    }
    error_set(
        err, ERR_UNSUPPORTED, "this build of libcurl does not support what tls or proxy need");
    return false;
}

static enum http_failure failure_of_connection(bool before_proxy)
{
    return before_proxy ? HTTP_NO_PROXY : HTTP_NO_ROUTE;
}

bool http_curl_was_connected(CURL *easy)
{
    curl_off_t time = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &time);
    return time > 0;
}

/* The proxy refuses the tunnel request. */
static bool was_refused_by_proxy(CURL *easy, enum http_failure *ret_failure)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status);
    *ret_failure = status == 407 ? HTTP_PROXY_LOGIN : HTTP_NO_PROXY;
    return status && status / 100 != 2;
}

/* OpenSSL reports it as a number (X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED),
 * libcurl for Schannel only in its text. */
static bool is_expired(CURL *easy, const char *reason)
{
    enum { NOT_YET_VALID = 9, HAS_EXPIRED = 10 };
    long result = 0;
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &result);
    return result == NOT_YET_VALID || result == HAS_EXPIRED ||
           strstr(reason, "SEC_E_CERT_EXPIRED") || strstr(reason, "CERT_TRUST_IS_NOT_TIME_VALID");
}

static bool holds_one_of(const char *reason, const char *const *words)
{
    while (*words && !strstr(reason, *words)) {
        words++;
    }
    return *words != NULL;
}

/* The reason why the certificate fails; ${otherwise}: unknown. libcurl passes on Schannel's text or
 * number, and the result of CertGetCertificateChain, which it calls if tls.ca is set. */
static enum http_failure failure_of_certificate(
    CURL *easy, const char *reason, enum http_failure otherwise)
{
    static const char *const revoked[] = {
        "CRYPT_E_REVOKED", "0x80092010", "CERT_TRUST_IS_REVOKED", NULL};
    static const char *const unknown[] = {"CRYPT_E_NO_REVOCATION_CHECK", "0x80092012",
        "CRYPT_E_REVOCATION_OFFLINE", "0x80092013", "CERT_TRUST_REVOCATION_STATUS_UNKNOWN",
        "error mask: 0x01000000" /* CERT_TRUST_IS_OFFLINE_REVOCATION alone */, NULL};
    return holds_one_of(reason, revoked)   ? HTTP_REVOKED
           : holds_one_of(reason, unknown) ? HTTP_UNCHECKED
           : is_expired(easy, reason)      ? HTTP_EXPIRED
                                           : otherwise;
}

enum http_failure http_curl_failure(
    CURL *easy, CURLcode code, const char *reason, bool before_proxy)
{
    enum http_failure refused;
    if (code != CURLE_OK && was_refused_by_proxy(easy, &refused)) {
        return refused;
    }
    switch (code) {
    case CURLE_OK:
        return HTTP_REPLIED;
    case CURLE_COULDNT_RESOLVE_HOST:
        return HTTP_NO_ADDRESS;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
        return HTTP_NO_PROXY;
    case CURLE_COULDNT_CONNECT:
        return failure_of_connection(before_proxy);
    case CURLE_OPERATION_TIMEDOUT:
        return http_curl_was_connected(easy) ? HTTP_TIMED_OUT : failure_of_connection(before_proxy);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
        return failure_of_certificate(easy, reason, HTTP_NO_TLS);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_ISSUER_ERROR:
        return failure_of_certificate(easy, reason, HTTP_NO_TRUST);
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        return HTTP_OTHER_KEY;
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CLIENTCERT:
        return HTTP_BAD_FILE;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9; the scheme was checked before */
    case CURLE_PARTIAL_FILE:
    case CURLE_BAD_CONTENT_ENCODING:
        return HTTP_GARBLED;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_URL_MALFORMAT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_FAILED_INIT:
        return HTTP_IMPOSSIBLE;
    default:
        return HTTP_LOST;
    }
}
