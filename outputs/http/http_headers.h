#ifndef ETWSHIP_OUTPUTS_HTTP_HEADERS_H
#define ETWSHIP_OUTPUTS_HTTP_HEADERS_H

#include "base/arena.h"
#include "outputs/http/http_client.h"

/* The headers of an output's requests: those of the key `headers`, which may be secrets, then the
 * output's own. */
enum { HTTP_HEADERS_MAX = 64, HTTP_HEADERS_OWN_MAX = 4 };

struct http_headers {
    struct arena kept;
    struct http_header list[HTTP_HEADERS_MAX + HTTP_HEADERS_OWN_MAX];
    size_t count;
};

void http_headers_init(struct http_headers *headers);
void http_headers_fini(struct http_headers *headers);

/* Copied. ${value} NULL: nothing is added. False: out of memory. */
bool http_headers_add(struct http_headers *headers, const char *name, const char *value);

/* Add the headers in ${map}, and have ${client} hide their values. False: out of memory. */
bool http_headers_take(
    struct http_headers *headers, const struct config_map *map, struct http_client *client);

#endif
