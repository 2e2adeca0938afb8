#ifndef ETWSHIP_STATUS_STATUS_REQUEST_H
#define ETWSHIP_STATUS_STATUS_REQUEST_H

#include "base/buf.h"
#include "base/span.h"

/*
 * The head of an HTTP/1 request (RFC 9112), for a server that only answers GET. Strict, since
 * browsers, scrapers and etwship's commands send nothing else: lines end in CRLF, no folded lines,
 * no body, one Host. Bytes are untrusted.
 */
enum {
    STATUS_REQUEST_MAX_BYTES = 8192,
    STATUS_REQUEST_MAX_LINE_BYTES = 4096, /* of the request line */
    STATUS_REQUEST_MAX_HEADERS = 64,
};

enum status_parse {
    STATUS_PARSE_MORE, /* the head is incomplete */
    STATUS_PARSE_DONE,
    STATUS_PARSE_BAD,    /* 400 */
    STATUS_PARSE_LARGE,  /* 431 */
    STATUS_PARSE_METHOD, /* 405: well formed, but not GET */
};

/* Views of the bytes that were parsed. */
struct status_request {
    struct span path;  /* "/metrics", as it was sent */
    struct span query; /* after the question mark */
    struct span host;  /* empty: none */
    struct span authorization;
    struct span accept;
};

enum status_parse status_request_parse(struct span bytes, struct status_request *ret_request);

/* Append the value of ${name} in the query to ${out}, %XX and + decoded. False if it is missing,
 * malformed, or contains a NUL. */
bool status_request_query(const struct status_request *request, const char *name, struct buf *out);

/* True if ${host} is a literal address of this machine, or localhost, with or without a port.
 * Another name may point here for a request of a foreign page (DNS rebinding). */
bool status_request_is_local(struct span host);

#endif
