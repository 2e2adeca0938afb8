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

struct es_said {
    const struct http_client *client; /* the client of the request; has the secrets */
    struct http_reply reply;
    bool elasticsearch; /* the server identifies itself in a header, even if GET / is forbidden */
    struct buf body;    /* cut at ES_ASK_MAX_BYTES */
};

void es_said_init(struct es_said *said);
void es_said_fini(struct es_said *said);

/* Send a request. ${body} may be empty. True: a reply with any status; false with ${err} set, and
 * the class of the failure in the reply. ${said} is reused. */
bool es_ask(struct http_client *client, const char *url, const char *method, const char *path,
    struct span body, struct es_said *said, struct error *err);

/* A part of a reply for display, without secrets. Secrets are searched before cutting, since a part
 * of one cannot be recognised. */
struct es_shown {
    char text[JSON_SCAN_MAX_TEXT + 1];
};
void es_said_show(const struct es_said *said, struct span text, struct es_shown *ret_shown);

/* The error in an unsuccessful reply: status, type and reason; without secrets. */
void es_said_words(const struct es_said *said, char ret_words[ES_ASK_MAX_WORDS]);

/* True if the body contains ${text}. */
bool es_said_has(const struct es_said *said, const char *text);

/* The value at ${path} ("version.number") of the body, if it is a string, number or word; its size,
 * 0: there is none. Terminated, cut if too long. Raw: es_said_show hides its secrets. */
size_t es_said_value(const struct es_said *said, const char *path, char *ret_value, size_t room);

#endif
