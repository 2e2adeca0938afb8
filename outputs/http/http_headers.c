#include "outputs/http/http_headers.h"

enum {
    KEPT_MAX_BYTES = 1024 * 1024,
    SHORTEST_SECRET = 8, /* among the values of headers */
};

void http_headers_init(struct http_headers *headers)
{
    *headers = (struct http_headers){.count = 0};
    arena_init(&headers->kept, KEPT_MAX_BYTES);
}

void http_headers_fini(struct http_headers *headers)
{
    arena_fini(&headers->kept);
}

static const char *keep(struct http_headers *headers, const char *text)
{
    struct span copy;
    return arena_copy(&headers->kept, span_text(text), &copy) ? (const char *)copy.data : NULL;
}

bool http_headers_add(struct http_headers *headers, const char *name, const char *value)
{
    if (!value) {
        return true;
    }
    struct http_header *header = &headers->list[headers->count];
    if (headers->count == HTTP_HEADERS_MAX + HTTP_HEADERS_OWN_MAX) {
        return false;
    }
    header->name = keep(headers, name);
    header->value = keep(headers, value);
    headers->count++;
    return header->name && header->value;
}

/* A server may repeat only the text after the scheme of a login. */
static bool hide(struct http_client *client, const struct config_pair *pair)
{
    const char *space = strchr(pair->value, ' ');
    const char *credentials = space ? space + strspn(space, " ") : "";
    bool logs_in = http_options_is_header(pair->key, "Authorization") ||
                   http_options_is_header(pair->key, "Proxy-Authorization");
    return (strlen(pair->value) < SHORTEST_SECRET || http_client_add_secret(client, pair->value)) &&
           ((!logs_in && strlen(credentials) < SHORTEST_SECRET) ||
               http_client_add_secret(client, credentials));
}

bool http_headers_take(
    struct http_headers *headers, const struct config_map *map, struct http_client *client)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct config_pair *pair = &map->items[i];
        if (!http_headers_add(headers, pair->key, pair->value) || !hide(client, pair)) {
            return false;
        }
    }
    return true;
}
