#ifndef ETWSHIP_OUTPUTS_HTTP_CLIENT_H
#define ETWSHIP_OUTPUTS_HTTP_CLIENT_H

#include "base/error.h"
#include "base/span.h"
#include "outputs/http/http_failure.h"
#include "outputs/http/http_options.h"

/*
 * Requests over HTTP, one at a time, over connections that are kept alive between them. Nothing is
 * ever sent twice by itself: not over a new connection when one breaks, not to where a redirect
 * points. What becomes of a request is said once, as a reply or as a failure with its class; whoever
 * asked decides.
 *
 * No secret (password, key, token, user and password of a proxy) is in any text that comes out of
 * here. One thread at a time.
 */
struct http_client;

struct http_client_setup {
    const struct http_options *options; /* copied */
    const char *scheme; /* word before auth.bearer or auth.api_key, which then goes as it is;
                           NULL: Bearer, ApiKey */

    /* Is it time to give up waiting? Asked several times a second while a request is under way,
     * which then ends as HTTP_STOPPED. NULL: never. As in struct output_env. */
    bool (*stopping)(void *host);

    /* Which proxy of the system's is used, when that is known and when it changes. NULL: nobody listens. */
    void (*note)(void *host, const char *text);
    void *host; /* first argument of both */
};

/* Reads no file and connects to nothing: certificates are read when a connection is made, each time
 * anew. NULL with ${err} set. */
struct http_client *http_client_create(const struct http_client_setup *setup, struct error *err);

/* NULL is fine. */
void http_client_destroy(struct http_client *client);

/* Close the connections that are kept. The next request makes a new one, with what name server and
 * files of certificates say then. */
void http_client_disconnect(struct http_client *client);

struct http_header {
    const char *name;
    const char *value; /* no line breaks */
};

struct http_request {
    const char *method; /* "GET", "POST", … */
    const char *url;    /* http:// or https://, as http_options_check_url lets pass */
    const char *path;   /* put after ${url}, with one '/' between; NULL: nothing. Escaped already */
    const struct http_header *headers; /* beside Host, User-Agent, Authorization, Content-Length */
    size_t header_count;

    /* The body is these parts back to back; they are read once, in order. None: a request without
     * body, but for POST and PUT, whose body is empty then. */
    const struct span *parts;
    size_t part_count;

    uint64_t timeout_ms;      /* for all of it; 0: as in the options */
    uint64_t max_reply_bytes; /* a longer body of the reply is HTTP_TOO_LONG; 0: 64 KB */

    /* The reply's headers, and its body piece by piece, once its status is in the reply. Views for
     * the time of the call. False ends the request as HTTP_UNWANTED. Both may be NULL. */
    bool (*on_header)(void *self, struct span name, struct span value);
    bool (*on_body)(void *self, struct span piece);
    void *self;
};

enum { HTTP_RETRY_AFTER_MAX_S = 6 * 60 * 60 };

struct http_reply {
    enum http_failure failure;
    int status;              /* 200 and more; 0: none came */
    bool sent;               /* the whole request was on its way, so it may have been obeyed */
    uint64_t retry_after_ms; /* Retry-After, in seconds or as a date, cut at HTTP_RETRY_AFTER_MAX_S;
                                0: none, or now */
};

/*
 * Send ${request} and wait for the whole reply. True: there is one, of any status; a redirect is
 * one, too. False with the class in ${ret_reply} and plain words in ${err}: "https://es1:9200: what.
 * what to do". ${ret_reply} is always filled.
 */
bool http_client_send(struct http_client *client, const struct http_request *request,
    struct http_reply *ret_reply, struct error *err);

/* Put *** in the place of each secret that ${text} holds, as where a server says what it was sent. */
void http_client_hide(const struct http_client *client, char *text);

/* Hide another one, copied: the value of a header, or of a field of a form, which is hidden as the form has it, too.
 * What is shorter than four bytes hides nothing. False: out of memory. */
bool http_client_add_secret(struct http_client *client, const char *secret);

/* The same of one that takes the place of ${old}; NULL: of none. */
bool http_client_replace_secret(struct http_client *client, const char *old, const char *secret);

#endif
