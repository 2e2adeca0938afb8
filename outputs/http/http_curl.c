#include "outputs/http/http_curl.h"

#include "base/buf.h"
#include "outputs/http/http_ca.h"

enum {
    /* libcurl makes this buffer anew for every request. Large ones come from the system, with a fault per
     * page; small ones need more calls to send. */
    UPLOAD_BYTES = 112 * 1024,
    PINS_MAX_BYTES = 4096,
    NS_PER_MS = 1000000,
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
    if (http_options_is_pkcs12(tls->cert)) {
        return !curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->cert) &&
               !curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "P12");
    }
    return !tls->cert || !tls->key ||
           (!curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->cert) &&
               !curl_easy_setopt(easy, CURLOPT_SSLKEY, tls->key));
}

static bool set_tls(CURL *easy, const struct http_tls *tls)
{
    bool good = (!tls->ca || http_ca_set_up(easy, tls->ca)) && set_cert(easy, tls);
    long oldest = tls->min_version == HTTP_TLS_1_3 ? CURL_SSLVERSION_TLSv1_3
                                                   : CURL_SSLVERSION_TLSv1_2;
    return good && set_pins(easy, &tls->pin_sha256) &&
           !curl_easy_setopt(easy, CURLOPT_SSLVERSION, oldest) &&
           !curl_easy_setopt(
               easy, CURLOPT_SSL_VERIFYPEER, tls->verify == HTTP_VERIFY_NONE ? 0L : 1L) &&
           !curl_easy_setopt(
               easy, CURLOPT_SSL_VERIFYHOST, tls->verify == HTTP_VERIFY_FULL ? 2L : 0L);
}

/* A proxy that is written down is used for every address, whatever NO_PROXY says. */
static bool set_proxy(CURL *easy, const char *proxy)
{
    return !proxy || (!curl_easy_setopt(easy, CURLOPT_PROXY, proxy) &&
                         !curl_easy_setopt(easy, CURLOPT_NOPROXY, ""));
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
           /* None is asked for, but who sends one all the same is understood: without this header
            * any would be allowed (RFC 9110, 12.5.3). */
           !curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity") &&
           !curl_easy_setopt(easy, CURLOPT_USERAGENT, "etwship/" ETWSHIP_VERSION);
}

/* Schannel reads nothing else. */
static bool is_pem_unknown(void)
{
    const char *tls = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return tls && strncmp(tls, "Schannel", strlen("Schannel")) == 0;
}

bool http_curl_set_up(CURL *easy, const struct http_options *options, struct error *err)
{
    const struct http_tls *tls = &options->tls;
    if (tls->cert && !http_options_is_pkcs12(tls->cert) && is_pem_unknown()) {
        error_set(err, ERR_UNSUPPORTED,
            "tls: on Windows cert must be PKCS#12, with its key. make a file.pfx of both: openssl "
            "pkcs12 -export -in %s -inkey %s -out file.pfx -passout pass:",
            tls->cert, tls->key ? tls->key : "KEY");
        return false;
    }
    /* HTTP/2 does not exist in every build of libcurl. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* A name server that does not answer holds nobody up at the end. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    if (set_protocols(easy) && set_limits(easy, options) && set_tls(easy, tls) &&
        set_proxy(easy, options->proxy)) {
        return true;
    }
    error_set(err, ERR_UNSUPPORTED, "this build of libcurl cannot do what tls or proxy ask for");
    return false;
}

static enum http_failure failure_of_connection(bool own_proxy)
{
    return own_proxy ? HTTP_NO_PROXY : HTTP_NO_ROUTE;
}

static bool was_connected(CURL *easy)
{
    curl_off_t time = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &time);
    return time > 0;
}

/* A proxy that answers the wish for a tunnel with a refusal. */
static bool was_refused_by_proxy(CURL *easy, enum http_failure *ret_failure)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status);
    *ret_failure = status == 407 ? HTTP_PROXY_LOGIN : HTTP_NO_PROXY;
    return status && status / 100 != 2;
}

/* OpenSSL says so by a number (X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED), libcurl's
 * code for Schannel in its text alone. */
static bool is_expired(CURL *easy, const char *reason)
{
    enum { NOT_YET_VALID = 9, HAS_EXPIRED = 10 };
    long result = 0;
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &result);
    return result == NOT_YET_VALID || result == HAS_EXPIRED ||
           strstr(reason, "SEC_E_CERT_EXPIRED") || strstr(reason, "CERT_TRUST_IS_NOT_TIME_VALID");
}

enum http_failure http_curl_failure(CURL *easy, CURLcode code, const char *reason, bool own_proxy)
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
        return failure_of_connection(own_proxy);
    case CURLE_OPERATION_TIMEDOUT:
        return was_connected(easy) ? HTTP_TIMED_OUT : failure_of_connection(own_proxy);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
        return is_expired(easy, reason) ? HTTP_EXPIRED : HTTP_NO_TLS;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_ISSUER_ERROR:
        return is_expired(easy, reason) ? HTTP_EXPIRED : HTTP_NO_TRUST;
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
