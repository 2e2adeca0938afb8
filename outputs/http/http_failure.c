#include "outputs/http/http_failure.h"

#include <string.h>

enum {
    REASON_MAX_BYTES = 2048, /* more than is shown, so that whole secrets can be hidden */
    SHOWN_MAX_BYTES = 255,
};

static const struct {
    enum error_code code;
    bool lasts;
    const char *what;
    const char *advice; /* follows the reason in parentheses; NULL: the reason is not shown */
} words[] = {
    [HTTP_REPLIED] = {ERR_NONE, false, "replied", NULL},
    [HTTP_NO_ADDRESS] = {ERR_IO, false, "the name has no address",
        ". check the name, and the name server"},
    [HTTP_NO_ROUTE] = {ERR_IO, false, "no connection",
        ". check that the server runs there, and that this machine may reach it"},
    [HTTP_NO_PROXY] = {ERR_IO, false, "the proxy cannot be reached, or refuses the connection",
        ". check proxy"},
    [HTTP_PROXY_LOGIN] = {ERR_IO, true, "the proxy refuses these credentials",
        ". write user and password into the address under proxy"},
    [HTTP_NO_TLS] = {ERR_IO, false, "no TLS",
        ". check that this is a port for https, and which versions of TLS the server supports"},
    [HTTP_NO_TRUST] = {ERR_IO, true, "the server's certificate is not trusted",
        ". name its authority under tls.ca, and write the address as the certificate has it"},
    [HTTP_EXPIRED] = {ERR_IO, true, "the server's certificate has expired, or is not valid yet",
        ". renew it on the server, or set this machine's clock"},
    [HTTP_REVOKED] = {ERR_IO, true, "the server's certificate was revoked by its authority",
        ". renew it on the server"},
    [HTTP_UNCHECKED] = {ERR_IO, true,
        "Windows cannot find out whether the server's certificate was revoked",
        ". make the list or OCSP server that the certificate names reachable, or set "
        "tls.revocation: best_effort"},
    [HTTP_NO_CA] = {ERR_IO, true,
        "none of the server's certificates has the fingerprint of tls.ca. check that this is the "
        "right server, and that it sends the certificate of its authority; if it does not, name a "
        "file",
        NULL},
    [HTTP_OTHER_KEY] = {ERR_IO, true, "the server's key is none of tls.pin_sha256",
        ". check that this is the right server"},
    [HTTP_BAD_FILE] = {ERR_IO, true,
        "a file of certificates, or one in the store of Windows, cannot be used",
        ". check tls.ca, tls.cert, tls.key and tls.client_cert, and that the agent may read them"},
    [HTTP_LOST] = {ERR_IO, false, "the connection closed before the whole reply arrived", ""},
    [HTTP_TIMED_OUT] = {ERR_IO, false, "no complete reply in time", ""},
    [HTTP_GARBLED] = {ERR_FORMAT, false, "the reply is malformed or incomplete", ""},
    [HTTP_TOO_LONG] = {ERR_LIMIT, false, "the reply is too long", NULL},
    [HTTP_UNWANTED] = {ERR_FORMAT, false, "the reply was not read to its end", NULL},
    [HTTP_STOPPED] = {ERR_STOPPED, false, "stopped, as the agent or the command ends", NULL},
    [HTTP_IMPOSSIBLE] = {ERR_MEMORY, false, "nothing could be sent", ""},
};

bool http_failure_lasts(enum http_failure failure)
{
    return words[failure].lasts;
}

const char *http_failure_layer(enum http_failure failure)
{
    switch (failure) {
    case HTTP_NO_ADDRESS:
        return "name (DNS)";
    case HTTP_NO_ROUTE:
        return "connection (TCP)";
    case HTTP_NO_PROXY:
    case HTTP_PROXY_LOGIN:
        return "proxy";
    case HTTP_NO_TLS:
    case HTTP_NO_TRUST:
    case HTTP_EXPIRED:
    case HTTP_REVOKED:
    case HTTP_UNCHECKED:
    case HTTP_NO_CA:
    case HTTP_OTHER_KEY:
    case HTTP_BAD_FILE:
        return "certificates (TLS)";
    default:
        return NULL;
    }
}

struct span http_failure_origin(const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    return span_make(url, (size_t)(host - url) + strcspn(host, "/?#"));
}

void http_failure_say(enum http_failure failure, const char *url, const char *reason,
    const struct http_secrets *secrets, struct error *err)
{
    char shown[REASON_MAX_BYTES];
    struct span origin = http_failure_origin(url);
    const char *what = words[failure].what;
    const char *advice = words[failure].advice;
    if (!advice) {
        error_set(err, words[failure].code, "%.*s: %s", SPAN_ARG(origin), what);
        return;
    }
    size_t size = strlen(reason);
    size = size < sizeof(shown) ? size : sizeof(shown) - 1;
    memcpy(shown, reason, size);
    shown[size] = '\0';
    http_secrets_hide(secrets, shown);
    for (char *c = shown; *c; c++) {
        *c = (uint8_t)*c < ' ' || *c == 0x7f ? ' ' : *c;
    }
    error_set(err, words[failure].code, "%.*s: %s (%.*s)%s", SPAN_ARG(origin), what,
        SHOWN_MAX_BYTES, shown, advice);
}
