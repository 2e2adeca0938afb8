#ifndef ETWSHIP_OUTPUTS_ES_WINNER_H
#define ETWSHIP_OUTPUTS_ES_WINNER_H

#include "outputs/elasticsearch/es_setup.h"

/*
 * Checks whether another index template overrides etwship's. A server applies one composable
 * template to a new index: of those with matching patterns, the one of the highest priority
 * ("Simulate index API", Elasticsearch and OpenSearch). So an installed template may have no
 * effect.
 */
struct es_winner {
    char name[ES_SETUP_MAX_NAME]; /* empty: unknown */
    long priority;
};

/* Query ${url}. True: another template wins, in ${ret_winner}. False: etwship's wins, or unknown.
 * ${response} is used for the replies. */
bool es_winner_find(const struct es_setup_names *names, struct http_client *client, const char *url,
    struct es_response *response, struct es_winner *ret_winner);

/* The text about it: "what. what to do". */
void es_winner_say(const struct es_winner *winner, const struct es_setup_names *names,
    const struct es_response *response, struct error *ret_text);

#endif
