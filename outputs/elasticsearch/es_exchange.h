#ifndef ETWSHIP_OUTPUTS_ES_EXCHANGE_H
#define ETWSHIP_OUTPUTS_ES_EXCHANGE_H

#include "outputs/elasticsearch/es_reply.h"
#include "outputs/elasticsearch/es_verdict.h"
#include "outputs/http/http_client.h"
#include "outputs/output.h"

/*
 * One `_bulk` request, sent to one node after the other until one gives a usable answer. A node
 * that fails, refuses access (401, 403), redirects, is overloaded (429) or answers with a web page
 * counts as bad (es_hosts.h), and the next one is tried at once. One thread.
 */
struct es_exchange;

/* Copied. */
struct es_exchange_options {
    const struct config_strings *hosts;
    const struct http_options *http;
};

/* Connects to nothing. NULL with ${err} set. */
struct es_exchange *es_exchange_create(
    const struct es_exchange_options *options, const struct output_env *env, struct error *err);
void es_exchange_destroy(struct es_exchange *exchange); /* NULL is fine */

/* A request for ${count} events. */
struct es_stretch {
    const struct span *parts; /* the body, back to back */
    size_t part_count;
    size_t size; /* bytes of the body */
    size_t count;

    /* ${start} is called before each reply; the calls of ${item} after it count only if the
     * outcome's verdict is ES_READ. Reasons have no secrets. */
    void (*start)(void *self);
    es_reply_item_fn item;
    void *self;
};

struct es_outcome {
    /* ES_READ; ES_SPLIT or ES_BISECT, with `refusal`; ES_RETRY or ES_RETRY_SLOWLY, with `error` */
    enum es_verdict verdict;
    struct es_answer refusal; /* views, valid until the next request */
    struct error error;       /* with several nodes: the reason of each */
    const char *url;          /* of the last node */
    uint64_t wait_ms;         /* wait requested by the destination; 0: none */
    bool uncertain;           /* a node may have executed the request without an answer */
    unsigned too_large_hints; /* answers that may mean that the request is too large: 429, a lost
                            connection */
};

void es_exchange_ask(
    struct es_exchange *exchange, const struct es_stretch *stretch, struct es_outcome *ret);

/* True if `stopping` is true. */
bool es_exchange_must_stop(const struct es_exchange *exchange);

/* Replace each secret in ${text} by ***. */
void es_exchange_hide(const struct es_exchange *exchange, char *text);

#endif
