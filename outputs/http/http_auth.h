#ifndef ETWSHIP_OUTPUTS_HTTP_AUTH_H
#define ETWSHIP_OUTPUTS_HTTP_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "outputs/http/http_options.h"

/* Secrets to hide in texts, and the credentials. One thread at a time. */
struct http_secrets {
    char **items;
    size_t count;
};

/* Zeroed memory holds no secret. */
void http_secrets_fini(struct http_secrets *secrets);

/* Add a copy of ${text}. NULL and texts shorter than four bytes are ignored. False: out of
 * memory. */
bool http_secrets_add(struct http_secrets *secrets, const char *text);

/* Add a copy of ${text}, and of its form encoding (http_form.h), which a server may quote. Remove
 * those of ${old}, as a token changes frequently. NULL: none. */
bool http_secrets_replace(struct http_secrets *secrets, const char *old, const char *text);

/* Replace each secret in ${text}, and user and password in an address, by ***. The beginning of a
 * secret at the end of a text is hidden, too; so hide before cutting or appending. */
void http_secrets_hide(const struct http_secrets *secrets, char *text);

/*
 * The value of the header Authorization, NULL in ${ret_value} if ${auth} is empty; freed by the
 * caller. Its secrets are added to ${secrets}. ${scheme} as in struct http_client_setup. Basic as
 * in RFC 7617; ApiKey as in Elasticsearch: the base64 of id:key. False: out of memory.
 */
bool http_auth_write(const struct http_auth *auth, const char *scheme, struct http_secrets *secrets,
    char **ret_value);

#endif
