#ifndef ETWSHIP_OUTPUTS_ES_VERDICT_H
#define ETWSHIP_OUTPUTS_ES_VERDICT_H

#include "base/buf.h"
#include "outputs/elasticsearch/es_reply.h"

/* What the answers of Elasticsearch and OpenSearch mean: tables that a user reads
 * in the reference, too.
 * What is not in them is tried again: zero is the safe answer. */
enum es_verdict {
    ES_RETRY,
    ES_RETRY_SLOWLY, /* a fault of set-up, which hits every event until somebody mends it */
    ES_TAKEN,
    ES_DUPLICATE, /* it is there already: taken, if it was sent before */
    ES_REFUSED,   /* it will never be taken */
    ES_BLOCKED,   /* its index cannot take it now, others may */
    ES_READ,      /* of a request: each event has an answer of its own */
    ES_SPLIT,     /* of a request: too large */
    ES_BISECT,    /* of a request: something in it is bad */
};

/* Of one event; the reason as the server wrote it. */
enum es_verdict es_verdict_item(const struct es_answer *answer);

/* Is what keeps the event out a matter of the index that it goes to, so that events for other indices may
 * be taken? For answers that mean ES_RETRY or ES_RETRY_SLOWLY. */
bool es_verdict_is_of_index(const struct es_answer *answer);

/* Of a request as such. The same. */
enum es_verdict es_verdict_request(const struct es_answer *answer);

/* What an item's answer says and what to do about it, for faults of set-up; else NULL. Static. */
const char *es_verdict_words(const struct es_answer *answer);

/* The same of a request that no item is answered of. Static. */
const char *es_verdict_request_words(const struct es_answer *answer);

/* Append both tables as a section of a page in Markdown. */
void es_verdict_write_reference(struct buf *out);

#endif
