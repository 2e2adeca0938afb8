#ifndef ETWSHIP_OUTPUTS_HTTP_RESPONSE_H
#define ETWSHIP_OUTPUTS_HTTP_RESPONSE_H

#include "base/buf.h"
#include "outputs/http/http_client.h"
#include "outputs/output.h"

/*
 * A request whose reply is evaluated: the beginning of its body is kept, and one line of it that
 * may be shown to people.
 */
enum {
    HTTP_RESPONSE_KEPT_BYTES = 256 * 1024,     /* kept of a body */
    HTTP_RESPONSE_MAX_BYTES = 4 * 1024 * 1024, /* a longer one is not read to its end */
    HTTP_RESPONSE_SHOWN_BYTES = 300,
    HTTP_RESPONSE_CHALLENGE_BYTES = 512,
    HTTP_RESPONSE_TARGET_BYTES = 1024,
};

struct http_response {
    struct http_reply reply;
    struct buf body; /* cut at HTTP_RESPONSE_KEPT_BYTES, possibly within a token */
    bool is_cut;     /* the body was longer */
    bool page;       /* its body is a web page */
    char challenge[HTTP_RESPONSE_CHALLENGE_BYTES]; /* WWW-Authenticate; "": none, or too long */
    /* Location, without its query, which may quote the request; "": none, or too long */
    char target[HTTP_RESPONSE_TARGET_BYTES];
    /* Target and body as one line of ASCII without secrets; "": nothing to show */
    char shown[HTTP_RESPONSE_SHOWN_BYTES];
};

void http_response_init(struct http_response *response);
void http_response_fini(struct http_response *response);

/* Send ${request}; this sets its callbacks and max_reply_bytes. True: there is a whole reply, of
 * any status; otherwise like http_client_send. ${response} can be reused. */
bool http_response_fetch(struct http_response *response, struct http_client *client,
    const struct http_request *request, struct error *err);

/* Set ${err} to "https://host:8088: status 400: ${words}: what the server said"; only the host of
 * the address is shown. */
void http_response_error(
    const struct http_response *response, const char *url, const char *words, struct error *err);

/* Why the server rejected a record, as its dead letter says it: status, and the server's text. If
 * the server sent no text, ${words} takes its place. ${type}: type of the output. The texts are
 * valid until the next request. */
struct output_rejection http_response_why(
    const struct http_response *response, const char *type, const char *words);

/* Report the result of a request as a step of `test-output`. ${err}: the error of a request without
 * a reply; the layer in which it failed precedes it. */
void http_response_layer(
    const struct http_response *response, const struct error *err, char *text, size_t size);

/* The value at ${path} of the object in the body: a string, number or word, unescaped, cut at
 * ${room} - 1. Only of the outermost object, unless ${path} is like "error.code". Returns its size;
 * 0: there is none. */
size_t http_response_value(
    const struct http_response *response, const char *path, char *ret_value, size_t room);

#endif
