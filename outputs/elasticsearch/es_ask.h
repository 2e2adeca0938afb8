#ifndef ETWSHIP_OUTPUTS_ES_ASK_H
#define ETWSHIP_OUTPUTS_ES_ASK_H

#include "base/buf.h"
#include "outputs/http/http_client.h"
#include "outputs/json_scan.h"

/*
 * Questions to a server of Elasticsearch or OpenSearch beside the shipping of events: one small
 * request, one small reply.
 */
enum { ES_ASK_MAX_BYTES = 1024 * 1024, ES_ASK_MAX_WORDS = 400 };

struct es_said {
    const struct http_client *client; /* which was asked; knows what must not be shown */
    struct http_reply reply;
    bool elasticsearch; /* it calls itself so, in a header that a hidden GET / has as well */
    struct buf body;    /* cut at ES_ASK_MAX_BYTES */
};

void es_said_init(struct es_said *said);
void es_said_fini(struct es_said *said);

/* Ask. ${body} may be empty. True: there is a reply, of any status; false with ${err} set in plain
 * words, and the class of the failure in the reply. ${said} is used again. */
bool es_ask(struct http_client *client, const char *url, const char *method, const char *path,
    struct span body, struct es_said *said, struct error *err);

/* A piece of a reply as it may be shown: without secrets. They are looked for before anything is cut,
 * since nobody knows a part of one. */
struct es_shown {
    char text[JSON_SCAN_MAX_TEXT + 1];
};
void es_said_show(const struct es_said *said, struct span text, struct es_shown *ret_shown);

/* What a reply that is no success says: status, type and reason of the error; without secrets. */
void es_said_words(const struct es_said *said, char ret_words[ES_ASK_MAX_WORDS]);

/* Does the body hold ${text}? */
bool es_said_has(const struct es_said *said, const char *text);

/* The value at ${path} ("version.number") of the body, if it is a string, number or word; its size,
 * 0: there is none. Terminated, and cut where it is longer. As it came: for es_said_show. */
size_t es_said_value(const struct es_said *said, const char *path, char *ret_value, size_t room);

#endif
