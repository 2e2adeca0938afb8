#ifndef ETWSHIP_TESTS_SUPPORT_HTTP_FAKE_H
#define ETWSHIP_TESTS_SUPPORT_HTTP_FAKE_H

#include "base/span.h"

/*
 * A web server on loopback, on a thread of its own, that answers as a script says. Several
 * connections, one request at a time. What cannot go on fails the test.
 */
struct http_fake;

struct http_fake_request {
    const char *head;    /* request line and headers, as they came, with a NUL after */
    struct span body;    /* a NUL stands after it */
    unsigned connection; /* from 1 */
};

struct http_fake_reply {
    int status;          /* 0: none, the connection is closed */
    const char *headers; /* each with its CRLF; NULL: none */
    const char *body;    /* NULL: empty */
    const char *raw;     /* instead of all of these */
    const char *interim; /* raw bytes before it */
    size_t cut;          /* only so many bytes of it, then the connection is closed; 0: all */
    size_t promised;     /* added to Content-Length, and never sent: the connection is closed */
    bool early;          /* without reading the body; the connection is closed */
    bool hang;           /* no reply, ever; the connection stays */
    bool close;          /* after the reply, without a word */
};

/* Take over from the script: ${ret_reply} is {200} before. Texts it points to must live until the
 * next call. On the server's thread. */
typedef void http_fake_handler_fn(
    void *self, const struct http_fake_request *request, struct http_fake_reply *ret_reply);

/* Answers 200 to everything until told otherwise. */
struct http_fake *http_fake_start(void);

/* Ends the thread and frees what was seen. NULL is fine. */
void http_fake_stop(struct http_fake *fake);

/* The next ${count} requests get these, later ones 200. Copied, but for their texts. */
void http_fake_script(struct http_fake *fake, const struct http_fake_reply *replies, size_t count);

void http_fake_handle(struct http_fake *fake, http_fake_handler_fn *handler, void *self);

/* "http://127.0.0.1:PORT" */
const char *http_fake_url(const struct http_fake *fake);

/* Whole requests so far, and one of them, there until the end. A request counts before its
 * reply. */
size_t http_fake_count(struct http_fake *fake);
const struct http_fake_request *http_fake_request(struct http_fake *fake, size_t index);

/* Wait until the server has closed all connections, as after a reply that says so. */
void http_fake_wait_closed(struct http_fake *fake);

/* Is there a header ${name} with the value ${value}? NULL: any. */
bool http_fake_has(const struct http_fake_request *request, const char *name, const char *value);

#endif
