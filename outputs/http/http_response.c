#include "outputs/http/http_response.h"

#include <stdio.h>

#include "outputs/http/http_accept.h"
#include "outputs/json_value.h"

enum { HIDDEN_BYTES = 4096 }; /* looked through for secrets before it is cut */

void http_response_init(struct http_response *response)
{
    *response = (struct http_response){.page = false};
    buf_init(&response->body, HTTP_RESPONSE_KEPT_BYTES);
}

void http_response_fini(struct http_response *response)
{
    buf_fini(&response->body);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool on_header(void *self, struct span name, struct span value)
{
    struct http_response *response = self;
    if (span_equal_nocase(name, span_text("Content-Type"))) {
        response->page = http_accept_is_page(value);
    }
    if (span_equal_nocase(name, span_text("Location"))) {
        size_t size = 0;
        while (size < value.size && value.data[size] != '?' && value.data[size] != '#') {
            size++;
        }
        if (size < sizeof(response->target)) {
            snprintf(response->target, sizeof(response->target), "%.*s",
                SPAN_ARG(span_first(value, size)));
        }
    }
    if (span_equal_nocase(name, span_text("WWW-Authenticate")) &&
        value.size < sizeof(response->challenge)) {
        snprintf(response->challenge, sizeof(response->challenge), "%.*s", SPAN_ARG(value));
    }
    return true;
}

static bool on_body(void *self, struct span piece)
{
    struct http_response *response = self;
    struct span kept = span_first(piece, HTTP_RESPONSE_KEPT_BYTES - response->body.size);
    buf_add_span(&response->body, kept);
    response->is_cut = response->is_cut || kept.size < piece.size || response->body.failed;
    return true;
}

/* Secrets are searched before anything is cut, since a part of one cannot be recognised. */
static void show(struct http_response *response, const struct http_client *client)
{
    char text[HIDDEN_BYTES];
    size_t size = (size_t)snprintf(
        text, sizeof(text), "%s%s", response->target, response->target[0] ? " " : "");
    struct span body = span_first(buf_span(&response->body), sizeof(text) - 1 - size);
    for (size_t i = 0; i < body.size; i++) {
        text[size++] = body.data[i] ? (char)body.data[i] : ' ';
    }
    text[size] = '\0';
    http_client_hide(client, text);
    snprintf(
        response->shown, sizeof(response->shown), "%.*s", (int)sizeof(response->shown) - 1, text);
    for (char *c = response->shown; *c; c++) {
        *c = (uint8_t)*c < ' ' || (uint8_t)*c >= 0x7f ? ' ' : *c;
    }
}

bool http_response_fetch(struct http_response *response, struct http_client *client,
    const struct http_request *request, struct error *err)
{
    struct http_request own = *request;
    own.max_reply_bytes = HTTP_RESPONSE_MAX_BYTES;
    own.on_header = on_header;
    own.on_body = on_body;
    own.self = response;
    buf_reset(&response->body);
    response->page = false;
    response->is_cut = false;
    response->challenge[0] = '\0';
    response->target[0] = '\0';
    bool replied = http_client_send(client, &own, &response->reply, err);
    if (response->reply.failure == HTTP_TOO_LONG) {
        /* Its status counts. A server that always says so much would get every event again. */
        response->reply.failure = HTTP_REPLIED;
        replied = true;
    }
    response->page = response->page || http_accept_begins_page(buf_span(&response->body));
    show(response, client);
    return replied;
}

/* ---- what it says ---------------------------------------------------------------------------- */

void http_response_error(
    const struct http_response *response, const char *url, const char *words, struct error *err)
{
    struct span origin = http_failure_origin(url);
    error_set(err, ERR_IO, "%.*s: status %d: %s%s%s", SPAN_ARG(origin), response->reply.status,
        words, response->shown[0] ? ": " : "", response->shown);
}

struct output_rejection http_response_why(
    const struct http_response *response, const char *type, const char *words)
{
    return (struct output_rejection){.status = response->reply.status,
        .type = span_text(type),
        .reason = span_text(response->shown[0] ? response->shown : words)};
}

void http_response_layer(
    const struct http_response *response, const struct error *err, char *text, size_t size)
{
    const char *layer = http_failure_layer(response->reply.failure);
    snprintf(text, size, "%s: %s", layer ? layer : "reply (HTTP)", err->text);
}

size_t http_response_value(
    const struct http_response *response, const char *path, char *ret_value, size_t room)
{
    return json_value_find(buf_span(&response->body), path, ret_value, room);
}
