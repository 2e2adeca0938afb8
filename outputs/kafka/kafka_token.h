#ifndef ETWSHIP_OUTPUTS_KAFKA_TOKEN_H
#define ETWSHIP_OUTPUTS_KAFKA_TOKEN_H

#include <librdkafka/rdkafka.h>

#include "outputs/kafka/kafka_settings.h"

/* Tokens of OAUTHBEARER by the client credentials grant (RFC 6749, 4.4; RFC 7628). etwship's own
 * HTTP client requests them, so proxies and certificates work as in all other outputs. One thread
 * at a time. */
struct kafka_token;

/* Copies what it needs. NULL with ${err} set. */
struct kafka_token *kafka_token_create(const struct kafka_settings *settings,
    bool (*stopping)(void *host), void (*note)(void *host, const char *text), void *host,
    struct error *err);
void kafka_token_destroy(struct kafka_token *token); /* NULL does nothing */

/* Request a token and pass it to ${rk}. False with ${err} set; ${rk} gets the failure, and asks
 * again later. */
bool kafka_token_give(struct kafka_token *token, rd_kafka_t *rk, struct error *err);

#endif
