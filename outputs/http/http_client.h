#ifndef ETWSHIP_OUTPUTS_HTTP_CLIENT_H
#define ETWSHIP_OUTPUTS_HTTP_CLIENT_H

#include "base/error.h"
#include "base/span.h"
#include "outputs/http/http_failure.h"
#include "outputs/http/http_options.h"

/*
 * Requests over HTTP, one at a time, over connections that are kept alive between them. It never
 * repeats a request by itself: neither over a new connection when one breaks, nor to the target of
 * a redirect. A request ends with one reply or one failure with its class; the caller decides.
 *
 * Its texts contain no secret (password, key, token, user and password of a proxy). One thread at a
 * time.
 */
struct http_client;

struct http_client_setup {
    const struct http_options *options; /* copied */
    const char *scheme; /* scheme for auth.bearer or auth.api_key, which is then sent unencoded;
                           NULL: Bearer, ApiKey */

    /* True: end the request as HTTP_STOPPED. Called several times a second during a request. NULL:
     * never. As in struct output_env. */
    bool (*stopping)(void *host);

    /* Called with the system's proxy in use, when it is known and when it changes. May be NULL. */
    void (*note)(void *host, const char *text);
    void *host; /* first argument of both */
};

/* Reads no file and connects to nothing: certificates are read again for each connection. NULL with
 * ${err} set. */
struct http_client *http_client_create(const struct http_client_setup *setup, struct error *err);

/* NULL is fine. */
void http_client_destroy(struct http_client *client);

/* Close the connections that are kept. The next request makes a new one, and resolves the name and
 * reads the certificates again. */
void http_client_disconnect(struct http_client *client);

struct http_header {
    const char *name;
    const char *value; /* no line breaks */
};

struct http_request {
    const char *method; /* "GET", "POST", … */
    const char *url;    /* http:// or https://, passed http_options_check_url */
    const char *path;   /* appended to ${url}, with one '/' between; NULL: nothing. Escaped already
                           */
    const struct http_header *headers; /* further headers; Host, User-Agent, Authorization and
                                          Content-Length are set by the client */
    size_t header_count;

    /* The body is these parts back to back; they are read once, in order. None: no body; an empty
     * body for POST and PUT. */
    const struct span *parts;
    size_t part_count;

    uint64_t timeout_ms;      /* for the whole request; 0: as in the options */
    uint64_t max_reply_bytes; /* a longer body of the reply is HTTP_TOO_LONG; 0: 64 KB */

    /* Called with the reply's headers, and with pieces of its body, after its status is in the
     * reply. Views, valid during the call. False ends the request as HTTP_UNWANTED. Both may be
     * NULL. */
    bool (*on_header)(void *self, struct span name, struct span value);
    bool (*on_body)(void *self, struct span piece);
    void *self;
};

enum { HTTP_RETRY_AFTER_MAX_S = 6 * 60 * 60 };

struct http_reply {
    enum http_failure failure;
    int status;              /* 200 and more; 0: none came */
    bool sent;               /* the whole request was sent, so the server may have executed it */
    uint32_t retry_after_ms; /* Retry-After, in seconds or as a date, cut at HTTP_RETRY_AFTER_MAX_S;
                                0: none, or now */
};

/*
 * Send ${request} and wait for the whole reply. True: a reply with any status, including redirects.
 * False with the class in ${ret_reply} and the text in ${err}: "https://es1:9200: what. what to
 * do". ${ret_reply} is always filled.
 */
bool http_client_send(struct http_client *client, const struct http_request *request,
    struct http_reply *ret_reply, struct error *err);

/* Replace each secret in ${text} by ***, for example if a server quotes the request. */
void http_client_hide(const struct http_client *client, char *text);

/* Add a secret, copied: the value of a header, or of a form field, which is hidden in its encoded
 * form, too. Texts shorter than four bytes are ignored. False: out of memory. */
bool http_client_add_secret(struct http_client *client, const char *secret);

/* Add a secret in place of ${old}; NULL: of none. */
bool http_client_replace_secret(struct http_client *client, const char *old, const char *secret);

#endif
