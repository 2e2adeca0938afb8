#ifndef ETWSHIP_OUTPUTS_HTTP_WINDOW_H
#define ETWSHIP_OUTPUTS_HTTP_WINDOW_H

#include "outputs/output.h"

/*
 * How much of a delivery goes into one request. As much as there is, until the server finds a request
 * too big, or refuses one for something in it: then half of that, down to one record, and twice as much
 * again with each that is taken. What is too big is remembered over deliveries, and so is the largest
 * that was not; sizes are those of the records as they are, before framing and compression. A server that
 * found little too big for a while would get small requests for ever: after HTTP_WINDOW_TAKEN requests in a row
 * twice as much is tried.
 */
enum { HTTP_WINDOW_TAKEN = 64 };

struct http_window {
    uint64_t accepted_bytes; /* the largest so far, where refused_bytes is known */
    uint64_t refused_bytes;  /* the smallest that was too big; 0: none was */
    size_t records;          /* at most so many next */
    unsigned taken;          /* in a row, with refused_bytes known */
};

/* At the beginning of a delivery. Zeroed memory knows nothing yet. */
void http_window_start(struct http_window *window);

/* How many bytes of records go into the next request. */
uint64_t http_window_limit(const struct http_window *window);

/* How many records of ${delivery} from ${first} on, which there is; at least 1. */
size_t http_window_fit(
    const struct http_window *window, const struct delivery *delivery, size_t first);

/* What fitted was taken. */
void http_window_taken(struct http_window *window, uint64_t bytes);

/* They were too big, or refused. False: it was a single one, which will never be taken. */
bool http_window_too_big(struct http_window *window, size_t count, uint64_t bytes);
bool http_window_refused(struct http_window *window, size_t count);

#endif
