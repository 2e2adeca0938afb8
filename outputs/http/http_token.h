#ifndef ETWSHIP_OUTPUTS_HTTP_TOKEN_H
#define ETWSHIP_OUTPUTS_HTTP_TOKEN_H

#include "outputs/http/http_response.h"

/* Requests an access token (OAuth 2.0, RFC 6749), and reads the reply with it (section 5.1). */

/* As http_response_fetch. ${response} shows nothing of a reply that may contain a token, since the
 * client cannot hide an unknown token. */
bool http_token_ask(struct http_response *response, struct http_client *client,
    const struct http_request *request, struct error *err);

/* Request a token by POST of ${form} (http_form.h) to ${url} and ${path}, which may be NULL. */
bool http_token_post(struct http_response *response, struct http_client *client, const char *url,
    const char *path, struct span form, struct error *err);

/* Find the token in ${body}, a view, and its lifetime in seconds: at least 1, at most a day; five
 * minutes if ${body} does not say. False: ${body} has no token. */
bool http_token_read(struct span body, struct span *ret_text, uint64_t *ret_seconds);

#endif
