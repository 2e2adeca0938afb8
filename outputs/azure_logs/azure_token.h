#ifndef ETWSHIP_OUTPUTS_AZURE_TOKEN_H
#define ETWSHIP_OUTPUTS_AZURE_TOKEN_H

#include "base/arena.h"
#include "outputs/azure_logs/azure_settings.h"
#include "outputs/http/http_response.h"

/*
 * A token of Entra (OAuth 2.0 client credentials), or of the identity service of this machine. It
 * is renewed some minutes before it expires.
 *
 * No text contains a token, or the secret that is sent for it: both clients hide them, and nothing
 * is shown of a reply that may contain a token (http_token.h).
 */
struct azure_token {
    struct azure_auth auth;       /* the owner keeps the texts */
    struct http_client *identity; /* asks the service of this machine, never through a proxy */
    struct http_client
        *client;      /* the owner's client: asks Entra, and sends events with the token */
    char *bearer;     /* the value of Authorization; NULL: none yet */
    char *proof;      /* last secret sent for a token, except client_secret; NULL: none */
    uint64_t ends_ms; /* time of renewal, by a monotonic clock */
};

enum azure_token_result {
    AZURE_TOKEN,
    AZURE_TOKEN_LATER, /* none at present; ${err} has the reason */
    AZURE_TOKEN_MEND,  /* none until a person corrects the set-up */
};

/* Zeroed memory except for auth and client. ${setup}: of the owner's client; its stopping and note
 * are used. */
bool azure_token_init(struct azure_token *token, const struct http_options *options,
    const struct http_client_setup *setup, struct error *err);
void azure_token_fini(struct azure_token *token);

/* Get a valid token into token->bearer. */
enum azure_token_result azure_token_get(
    struct azure_token *token, struct http_response *response, struct error *err);

/* The service refused the token: get a new one next time. */
void azure_token_drop(struct azure_token *token);

#endif
