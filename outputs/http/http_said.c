#include "outputs/http/http_said.h"

#include <stdio.h>

#include "outputs/http/http_accept.h"
#include "outputs/json_scan.h"

enum { HIDDEN_BYTES = 4096 }; /* looked through for secrets before it is cut */

void http_said_init(struct http_said *said)
{
    *said = (struct http_said){.page = false};
    buf_init(&said->body, HTTP_SAID_BYTES);
}

void http_said_fini(struct http_said *said)
{
    buf_fini(&said->body);
}

/* ---- asking -------------------------------------------------------------------------------------- */

static bool on_header(void *self, struct span name, struct span value)
{
    struct http_said *said = self;
    if (span_equal_nocase(name, span_text("Content-Type"))) {
        said->page = http_accept_is_page(value);
    }
    if (span_equal_nocase(name, span_text("WWW-Authenticate")) &&
        value.size < sizeof(said->challenge)) {
        snprintf(said->challenge, sizeof(said->challenge), "%.*s", SPAN_ARG(value));
    }
    return true;
}

static bool on_body(void *self, struct span piece)
{
    struct http_said *said = self;
    struct span kept = span_first(piece, HTTP_SAID_BYTES - said->body.size);
    buf_add_span(&said->body, kept);
    said->is_cut = said->is_cut || kept.size < piece.size || said->body.failed;
    return true;
}

/* Secrets are looked for before anything is cut, since nobody knows a part of one. */
static void show(struct http_said *said, const struct http_client *client)
{
    char text[HIDDEN_BYTES];
    struct span body = span_first(buf_span(&said->body), sizeof(text) - 1);
    for (size_t i = 0; i < body.size; i++) {
        text[i] = body.data[i] ? (char)body.data[i] : ' ';
    }
    text[body.size] = '\0';
    http_client_hide(client, text);
    snprintf(said->shown, sizeof(said->shown), "%.*s", (int)sizeof(said->shown) - 1, text);
    for (char *c = said->shown; *c; c++) {
        *c = (uint8_t)*c < ' ' || (uint8_t)*c >= 0x7f ? ' ' : *c;
    }
}

bool http_said_ask(struct http_said *said, struct http_client *client,
    const struct http_request *request, struct error *err)
{
    struct http_request own = *request;
    own.max_reply_bytes = HTTP_SAID_REPLY_BYTES;
    own.on_header = on_header;
    own.on_body = on_body;
    own.self = said;
    buf_reset(&said->body);
    said->page = false;
    said->is_cut = false;
    said->challenge[0] = '\0';
    bool replied = http_client_send(client, &own, &said->reply, err);
    show(said, client);
    return replied;
}

/* ---- what it says -------------------------------------------------------------------------------- */

void http_said_tell(
    const struct http_said *said, const char *url, const char *words, struct error *err)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t size = (size_t)(host - url) + strcspn(host, "/?#");
    error_set(err, ERR_IO, "%.*s: status %d: %s%s%s", (int)size, url, said->reply.status, words,
        said->shown[0] ? ": " : "", said->shown);
}

void http_said_layer(const struct http_said *said, const struct error *err, char *text, size_t size)
{
    const char *layer = "reply (HTTP)";
    switch (said->reply.failure) {
    case HTTP_NO_ADDRESS:
        layer = "name (DNS)";
        break;
    case HTTP_NO_ROUTE:
        layer = "connection (TCP)";
        break;
    case HTTP_NO_PROXY:
    case HTTP_PROXY_LOGIN:
        layer = "proxy";
        break;
    case HTTP_NO_TLS:
    case HTTP_NO_TRUST:
    case HTTP_EXPIRED:
    case HTTP_REVOKED:
    case HTTP_UNCHECKED:
    case HTTP_NO_CA:
    case HTTP_OTHER_KEY:
    case HTTP_BAD_FILE:
        layer = "certificates (TLS)";
        break;
    default:
        break;
    }
    snprintf(text, size, "%s: %s", layer, err->text);
}

/* Follows a path down the objects. */
struct search {
    const char *path;
    char *value;
    size_t room;
    size_t size;
    unsigned depth;
    unsigned matched; /* so many of its names have an object that is open, all that are open one */
    bool fits;        /* the last key is the next name of the path */
};

static struct span name_at(const char *path, unsigned index)
{
    for (; index && *path; index--) {
        path += strcspn(path, ".");
        path += *path == '.';
    }
    return span_make(path, strcspn(path, "."));
}

static bool look(void *self, enum json_token token, struct span text)
{
    struct search *search = self;
    bool here = search->depth == search->matched + 1;
    struct span name = name_at(search->path, search->matched);
    switch (token) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        search->matched += here && search->fits && token == JSON_OBJECT;
        search->depth++;
        search->fits = false;
        return true;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        search->depth--;
        search->matched -= search->matched && search->depth == search->matched;
        return true;
    case JSON_KEY:
        search->fits = here && span_equal(text, name);
        return true;
    default:
        break;
    }
    if (here && search->fits && name.data[name.size] == '\0') {
        search->size = text.size < search->room - 1 ? text.size : search->room - 1;
        memcpy(search->value, text.data, search->size);
        search->value[search->size] = '\0';
        return false;
    }
    search->fits = false;
    return true;
}

size_t http_said_value(const struct http_said *said, const char *path, char *ret_value, size_t room)
{
    struct json_scan scan;
    struct search search = {.path = path, .value = ret_value, .room = room};
    ret_value[0] = '\0';
    json_scan_init(&scan, look, &search);
    json_scan_feed(&scan, buf_span(&said->body));
    return search.size;
}
