#include "outputs/http/http_said.h"

#include <stdio.h>

#include "outputs/http/http_accept.h"
#include "outputs/json_value.h"

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

/* ---- asking ---------------------------------------------------------------------------------- */

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

/* Secrets are searched before anything is cut, since a part of one cannot be recognised. */
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

/* ---- what it says ---------------------------------------------------------------------------- */

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
    const char *layer = http_failure_layer(said->reply.failure);
    snprintf(text, size, "%s: %s", layer ? layer : "reply (HTTP)", err->text);
}

size_t http_said_value(const struct http_said *said, const char *path, char *ret_value, size_t room)
{
    return json_value_find(buf_span(&said->body), path, ret_value, room);
}
