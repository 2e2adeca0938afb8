#ifndef ETWSHIP_OUTPUTS_AZURE_TOKEN_H
#define ETWSHIP_OUTPUTS_AZURE_TOKEN_H

#include "base/arena.h"
#include "outputs/azure_logs/azure_settings.h"
#include "outputs/http/http_said.h"

/*
 * Neither a token nor what is shown for it stands in any text: both clients hide them, and nothing is shown of a reply
 * that may hold a token (http_token.h).
 *
 * A token of Entra (OAuth 2.0 client credentials), or of the identity service of this machine. It is renewed some
 * minutes before it ends.
 */
struct azure_token {
    struct azure_auth auth;       /* texts are the owner's */
    struct http_client *identity; /* asks the service of this machine, never through a proxy */
    struct http_client *client;   /* the owner's: asks Entra, and the service with the token */
    char *bearer;                 /* the value of Authorization; NULL: none yet */
    char *proof;                  /* shown for it last, if it is no client_secret; NULL: none */
    uint64_t ends_ms;             /* by a clock that only grows; renewed then */
};

enum azure_token_result {
    AZURE_TOKEN,
    AZURE_TOKEN_LATER, /* none now; ${err} says why */
    AZURE_TOKEN_MEND,  /* none until somebody mends the set-up */
};

/* Zeroed memory but for auth and client. ${setup}: of the owner's client, whose stopping and note are taken. */
bool azure_token_init(struct azure_token *token, const struct http_options *options,
    const struct http_client_setup *setup, struct error *err);
void azure_token_fini(struct azure_token *token);

/* A token that is good now, in token->bearer. */
enum azure_token_result azure_token_get(
    struct azure_token *token, struct http_said *said, struct error *err);

/* The service did not take it: the next one is a new one. */
void azure_token_drop(struct azure_token *token);

#endif
