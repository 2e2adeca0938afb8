#ifndef ETWSHIP_OUTPUTS_HTTP_FAILURE_H
#define ETWSHIP_OUTPUTS_HTTP_FAILURE_H

#include "base/error.h"
#include "outputs/http/http_auth.h"

/* Why there is no whole reply. */
enum http_failure {
    HTTP_REPLIED,     /* there is one, whatever its status */
    HTTP_NO_ADDRESS,  /* the name has no address */
    HTTP_NO_ROUTE,    /* nobody answers there: refused, unreachable, no connection in time */
    HTTP_NO_PROXY,    /* the same of the proxy's name or address, or it refuses us */
    HTTP_PROXY_LOGIN, /* the proxy does not know us (407) */
    HTTP_NO_TLS,    /* the handshake failed: no common version, no TLS there, a broken connection */
    HTTP_NO_TRUST,  /* their certificate is not trusted, or of another name */
    HTTP_EXPIRED,   /* their certificate is out of date, or not valid yet */
    HTTP_REVOKED,   /* their certificate was revoked */
    HTTP_UNCHECKED, /* whether it was revoked cannot be found out */
    HTTP_NO_CA,     /* none of their certificates has the fingerprint of tls.ca */
    HTTP_OTHER_KEY, /* none of tls.pin_sha256 */
    HTTP_BAD_FILE,  /* tls.ca, tls.cert, tls.key or tls.client_cert cannot be used */
    HTTP_LOST,      /* the connection broke before a whole reply */
    HTTP_TIMED_OUT, /* no whole reply in time */
    HTTP_GARBLED,   /* what came is no HTTP, or its body ends too early */
    HTTP_TOO_LONG,  /* max_reply_bytes */
    HTTP_UNWANTED,  /* a callback had enough */
    HTTP_STOPPED,   /* `stopping` said so */
    HTTP_IMPOSSIBLE, /* nothing was tried: the address, memory */
};

/* Is it a fault of the set-up, which lasts until somebody mends it? */
bool http_failure_lasts(enum http_failure failure);

/*
 * Plain words for what became of a request to ${url}, of which no more than the host is shown, as paths
 * may hold keys: "https://es1:9200: what (why). what to do". ${reason}: the why, of any length and
 * content; secrets in it are hidden.
 */
void http_failure_say(enum http_failure failure, const char *url, const char *reason,
    const struct http_secrets *secrets, struct error *err);

#endif
