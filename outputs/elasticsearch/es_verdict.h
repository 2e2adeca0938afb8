#ifndef ETWSHIP_OUTPUTS_ES_VERDICT_H
#define ETWSHIP_OUTPUTS_ES_VERDICT_H

#include "base/buf.h"
#include "outputs/elasticsearch/es_reply.h"

/* Meaning of the answers of Elasticsearch and OpenSearch: tables that are also in the reference.
 * Other answers are retried: zero is the safe answer. */
enum es_verdict {
    ES_RETRY,
    ES_RETRY_SLOWLY, /* a fault of the set-up, which fails every event until a person corrects it */
    ES_TAKEN,
    ES_DUPLICATE, /* it exists already: delivered, if it was sent before */
    ES_REFUSED,   /* it will never be accepted */
    ES_BLOCKED,   /* its index cannot accept it now, others may */
    ES_READ,      /* of a request: each event has an answer of its own */
    ES_SPLIT,     /* of a request: too large */
    ES_BISECT,    /* of a request: a record in it is bad */
};

/* Verdict for one event; ${reason}: the server's text. */
enum es_verdict es_verdict_item(const struct es_answer *answer);

/* True if only the event's index refuses it, so that other indices may accept events. For answers
 * that mean ES_RETRY or ES_RETRY_SLOWLY. */
bool es_verdict_is_of_index(const struct es_answer *answer);

/* Verdict for a request. */
enum es_verdict es_verdict_request(const struct es_answer *answer);

/* Text and remedy for an item with a fault of the set-up; else NULL. Static. */
const char *es_verdict_words(const struct es_answer *answer);

/* Text and remedy for a request without items. Static. */
const char *es_verdict_request_words(const struct es_answer *answer);

/* Append both tables as a section of a page in Markdown. */
void es_verdict_write_reference(struct buf *out);

#endif
