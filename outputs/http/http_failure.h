#ifndef ETWSHIP_OUTPUTS_HTTP_FAILURE_H
#define ETWSHIP_OUTPUTS_HTTP_FAILURE_H

#include "base/error.h"
#include "base/span.h"
#include "outputs/http/http_auth.h"

/* Why there is no whole reply. */
enum http_failure {
    HTTP_REPLIED,     /* there is a reply, with any status */
    HTTP_NO_ADDRESS,  /* the name has no address */
    HTTP_NO_ROUTE,    /* no server answers: refused, unreachable, no connection in time */
    HTTP_NO_PROXY,    /* the proxy has no address, does not answer, or refuses the request */
    HTTP_PROXY_LOGIN, /* the proxy requires credentials (407) */
    HTTP_NO_TLS,    /* the handshake failed: no common version, no TLS there, a broken connection */
    HTTP_NO_TRUST,  /* the server's certificate is not trusted, or has another name */
    HTTP_EXPIRED,   /* the server's certificate has expired, or is not valid yet */
    HTTP_REVOKED,   /* the server's certificate was revoked */
    HTTP_UNCHECKED, /* its revocation status is unknown */
    HTTP_NO_CA,     /* none of the server's certificates has the fingerprint of tls.ca */
    HTTP_OTHER_KEY, /* none of tls.pin_sha256 */
    HTTP_BAD_FILE,  /* tls.ca, tls.cert, tls.key or tls.client_cert cannot be used */
    HTTP_LOST,      /* the connection broke before a whole reply */
    HTTP_TIMED_OUT, /* no whole reply in time */
    HTTP_GARBLED,   /* the reply is not HTTP, or its body ends too early */
    HTTP_TOO_LONG,  /* max_reply_bytes */
    HTTP_UNWANTED,  /* a callback ended the request */
    HTTP_STOPPED,   /* `stopping` returned true */
    HTTP_IMPOSSIBLE, /* not tried: bad address, or out of memory */
};

/* True for a fault of the set-up, which lasts until a person corrects it. */
bool http_failure_lasts(enum http_failure failure);

/* The layer in which a request failed before the server got it: "name (DNS)". NULL: the server may
 * have got it, or it was not tried. Static. */
const char *http_failure_layer(enum http_failure failure);

/* Scheme and host of ${url}, which may be shown; paths may contain keys. */
struct span http_failure_origin(const char *url);

/* The text of a failed request to ${url}: "https://es1:9200: what (why). what to do". ${reason}:
 * why, of any length and content; its secrets are hidden. */
void http_failure_say(enum http_failure failure, const char *url, const char *reason,
    const struct http_secrets *secrets, struct error *err);

#endif
