#ifndef ETWSHIP_OUTPUTS_ES_SENDER_H
#define ETWSHIP_OUTPUTS_ES_SENDER_H

#include "outputs/elasticsearch/es_bulk.h"
#include "outputs/http/http_client.h"

/*
 * Deliveries to the `_bulk` API, with the result of every answer for every record
 * (outputs/elasticsearch/README.md). One thread.
 */
struct es_sender;

/* All of it is copied. */
struct es_sender_options {
    const struct config_strings *hosts;
    const struct http_options *http;
    struct es_bulk_options bulk;
    const char *format; /* of the records */
    bool typed; /* the index has types for payloads: values that do not fit are not indexed */
};

/* Connects to nothing. NULL with ${err} set. */
struct es_sender *es_sender_create(
    const struct es_sender_options *options, const struct output_env *env, struct error *err);
void es_sender_destroy(struct es_sender *sender); /* NULL is fine */

/* As output_ops.send. */
enum output_verdict es_sender_send(
    struct es_sender *sender, const struct delivery *delivery, struct output_report *report);

#endif
