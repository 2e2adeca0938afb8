#ifndef ETWSHIP_OUTPUTS_HTTP_AUTH_H
#define ETWSHIP_OUTPUTS_HTTP_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "outputs/http/http_options.h"

/* What must not be shown, and who we say we are. One thread at a time. */
struct http_secrets {
    char **items;
    size_t count;
};

/* Zeroed memory holds no secret. */
void http_secrets_fini(struct http_secrets *secrets);

/* Remember a copy of ${text}. NULL and what is shorter than four bytes are no secrets. False: out of
 * memory. */
bool http_secrets_add(struct http_secrets *secrets, const char *text);

/* Remember a copy of ${text}, and another as a form has it (http_form.h), which a server may quote. Forget those of
 * ${old}: a token changes all the time. NULL: none. */
bool http_secrets_replace(struct http_secrets *secrets, const char *old, const char *text);

/* Put *** in the place of each secret in ${text}, and of user and password in an address. A text that
 * ends within a secret loses that beginning, too; but text after it hides where it was cut, so hide
 * first, and cut then. */
void http_secrets_hide(const struct http_secrets *secrets, char *text);

/*
 * The value of the header Authorization, NULL in ${ret_value} if ${auth} is empty; freed by the
 * caller. What is secret of it is added to ${secrets}. ${scheme} as in struct http_client_setup. Basic
 * as in RFC 7617; ApiKey as Elasticsearch has it: the base64 of id:key. False: out of memory.
 */
bool http_auth_write(const struct http_auth *auth, const char *scheme, struct http_secrets *secrets,
    char **ret_value);

#endif
