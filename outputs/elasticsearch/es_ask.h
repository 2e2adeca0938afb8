#ifndef ETWSHIP_OUTPUTS_ES_ASK_H
#define ETWSHIP_OUTPUTS_ES_ASK_H

#include "base/buf.h"
#include "outputs/http/http_client.h"
#include "outputs/json_scan.h"

/*
 * Small requests to Elasticsearch or OpenSearch other than shipping events, with a small reply
 * each.
 */
enum { ES_ASK_MAX_BYTES = 1024 * 1024, ES_ASK_MAX_WORDS = 400 };

struct es_response {
    const struct http_client *client; /* the client of the request; has the secrets */
    struct http_reply reply;
    bool elasticsearch; /* the server identifies itself in a header, even if GET / is forbidden */
    struct buf body;    /* cut at ES_ASK_MAX_BYTES */
};

void es_response_init(struct es_response *response);
void es_response_fini(struct es_response *response);

/* Send a request. ${body} may be empty. True: a reply with any status; false with ${err} set, and
 * the class of the failure in the reply. ${response} is reused. */
bool es_ask(struct http_client *client, const char *url, const char *method, const char *path,
    struct span body, struct es_response *response, struct error *err);

/* A part of a reply for display, without secrets. Secrets are searched before cutting, since a part
 * of one cannot be recognised. */
struct es_shown {
    char text[JSON_SCAN_MAX_TEXT + 1];
};
void es_response_show(
    const struct es_response *response, struct span text, struct es_shown *ret_shown);

/* The error in an unsuccessful reply: status, type and reason; without secrets. */
void es_response_words(const struct es_response *response, char ret_words[ES_ASK_MAX_WORDS]);

/* True if the body contains ${text}. */
bool es_response_has(const struct es_response *response, const char *text);

/* The value at ${path} ("version.number") of the body, if it is a string, number or word; its size,
 * 0: there is none. Terminated, cut if too long. Raw: es_response_show hides its secrets. */
size_t es_response_value(
    const struct es_response *response, const char *path, char *ret_value, size_t room);

#endif
