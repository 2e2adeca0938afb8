#ifndef ETWSHIP_OUTPUTS_HTTP_WINDOW_H
#define ETWSHIP_OUTPUTS_HTTP_WINDOW_H

#include "outputs/output.h"

/*
 * The size of requests. A request has the whole delivery, until the server finds it too big or
 * refuses something in it: then half of that, down to one record, and twice as much after each
 * accepted one. The smallest refused and the largest accepted size are remembered over deliveries;
 * sizes are those before compression. A limit may be temporary, so after HTTP_WINDOW_TAKEN accepted
 * requests in a row twice the size is tried.
 *
 * Many servers and proxies close the connection for a large body, or too early for their 413 to
 * arrive, and a slow connection does not carry a large body in time. So HTTP_WINDOW_LOST requests
 * in a row without a reply count as one that is too big.
 */
enum { HTTP_WINDOW_TAKEN = 64, HTTP_WINDOW_LOST = 3 };

struct http_window {
    uint64_t accepted_bytes; /* the largest accepted, if refused_bytes is known */
    uint64_t refused_bytes;  /* the smallest that was too big; 0: none */
    size_t records;          /* maximum of the next request */
    unsigned taken;          /* accepted in a row, if refused_bytes is known */
    unsigned lost;           /* without a reply in a row */
};

/* Call at the beginning of a delivery. Zeroed memory is the initial state. */
void http_window_start(struct http_window *window);

/* Maximum bytes of the next request. */
uint64_t http_window_limit(const struct http_window *window);

/* The server accepted them. */
void http_window_taken(struct http_window *window, uint64_t bytes);

/* They were too big. False: it was a single record, which will never be taken. */
bool http_window_too_big(struct http_window *window, size_t count, uint64_t bytes);

/* No whole reply arrived. */
void http_window_lost(struct http_window *window, size_t count, uint64_t bytes);

/* They were refused. */
void http_window_refused(struct http_window *window, size_t count);

#endif
