#ifndef ETWSHIP_STATUS_STATUS_CLIENT_H
#define ETWSHIP_STATUS_STATUS_CLIENT_H

#include "base/buf.h"
#include "base/text/ip.h"

/* Sends requests to a running agent (status_server.h), on the calling thread. Replies are
 * untrusted. */
struct status_client {
    struct ip_address address; /* used where there is no local_name */
    uint16_t port;
    const char *local_name; /* NULL: TCP */
    const char *token;      /* NULL: none */
    const char *tls_cert;   /* of TCP: the certificate that the agent has, in PEM; NULL: no TLS */
    unsigned
        timeout_ms; /* to connect, and between two parts of a reply; 0 for the latter: no limit (a
                       stream) */
};

enum { STATUS_CLIENT_CONNECT_MS = 5000, STATUS_CLIENT_MAX_BODY_BYTES = 16 * 1024 * 1024 };

/* Append the body of ${target} ("/health?format=text") to ${body}. False with ${err} set;
 * ERR_MISSING: nothing listens there. */
bool status_client_get(const struct status_client *client, const char *target, unsigned *ret_status,
    struct buf *body, struct error *err);

/* Request a stream: passes each part to ${take}, until that returns false or the agent ends it. The
 * body of a status other than 200 goes to ${refusal}. */
bool status_client_stream(const struct status_client *client, const char *target,
    unsigned *ret_status, bool (*take)(void *self, struct span part), void *self,
    struct buf *refusal, struct error *err);

/* Append ${text} as a value of a query. */
void status_client_escape(const char *text, struct buf *out);

/* Remove the head of a reply from ${bytes}: its status, and the length of the body (SIZE_MAX: until
 * the end). False: incomplete, or (${*ret_bad}) malformed. */
bool status_client_head(
    struct span *bytes, unsigned *ret_status, size_t *ret_length, bool *ret_bad);

#endif
