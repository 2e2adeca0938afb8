#ifndef ETWSHIP_OUTPUTS_HTTP_HEADERS_H
#define ETWSHIP_OUTPUTS_HTTP_HEADERS_H

#include "base/arena.h"
#include "outputs/http/http_client.h"

/* The headers of an output's requests: what users write under `headers`, which may be secrets, and the
 * output's own after it. */
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

/* What ${map} says, and have ${client} hide its values. The same. */
bool http_headers_take(
    struct http_headers *headers, const struct config_map *map, struct http_client *client);

#endif
