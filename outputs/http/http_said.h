#ifndef ETWSHIP_OUTPUTS_HTTP_SAID_H
#define ETWSHIP_OUTPUTS_HTTP_SAID_H

#include "base/buf.h"
#include "outputs/http/http_client.h"

/*
 * A request whose reply is read for what it says: the beginning of its body is kept, and a line of it that
 * may be shown to people.
 */
enum {
    HTTP_SAID_BYTES = 256 * 1024,            /* of a body, to be read */
    HTTP_SAID_REPLY_BYTES = 4 * 1024 * 1024, /* a longer one ends its connection */
    HTTP_SAID_SHOWN_BYTES = 300,
    HTTP_SAID_CHALLENGE_BYTES = 512,
};

struct http_said {
    struct http_reply reply;
    struct buf body; /* cut at HTTP_SAID_BYTES; may be cut amid anything */
    bool is_cut;     /* there was more of the body */
    bool page;       /* its body is a web page */
    char challenge[HTTP_SAID_CHALLENGE_BYTES]; /* WWW-Authenticate; "": none, or too long */
    char shown[HTTP_SAID_SHOWN_BYTES]; /* one line of ASCII without secrets; "": nothing to show */
};

void http_said_init(struct http_said *said);
void http_said_fini(struct http_said *said);

/* Send ${request}; its callbacks and max_reply_bytes are set here. True: there is a whole reply, of any
 * status; else as http_client_send. ${said} is used again. */
bool http_said_ask(struct http_said *said, struct http_client *client,
    const struct http_request *request, struct error *err);

/* "https://host:8088: status 400: ${words}: what the server said"; of the address only the host. */
void http_said_tell(
    const struct http_said *said, const char *url, const char *words, struct error *err);

/* Say what a request to ${url} met, as a step of `test-output`: ${err} of a request that had no reply, with the
 * layer that it came to in front. */
void http_said_layer(
    const struct http_said *said, const struct error *err, char *text, size_t size);

/* The value at ${name} of the object that the body is: a string, number or word, as it stands there without
 * escapes, cut at ${room} - 1. Only of the outermost object, unless ${name} is a path: "error.code". Returns its
 * size, 0: there is none. */
size_t http_said_value(
    const struct http_said *said, const char *path, char *ret_value, size_t room);

#endif
