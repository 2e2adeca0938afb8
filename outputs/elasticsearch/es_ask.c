#include "outputs/elasticsearch/es_ask.h"

#include <stdio.h>

#include "outputs/elasticsearch/es_reply.h"
#include "outputs/json_value.h"

void es_response_init(struct es_response *response)
{
    *response = (struct es_response){.elasticsearch = false};
    buf_init(&response->body, ES_ASK_MAX_BYTES);
}

void es_response_fini(struct es_response *response)
{
    buf_fini(&response->body);
}

static bool take_header(void *self, struct span name, struct span value)
{
    struct es_response *response = self;
    if (span_equal_nocase(name, span_text("X-elastic-product"))) {
        response->elasticsearch = span_equal_nocase(value, span_text("Elasticsearch"));
    }
    return true;
}

static bool take_body(void *self, struct span piece)
{
    struct es_response *response = self;
    size_t room = ES_ASK_MAX_BYTES - response->body.size;
    buf_add_span(&response->body, span_first(piece, room));
    return true;
}

bool es_ask(struct http_client *client, const char *url, const char *method, const char *path,
    struct span body, struct es_response *response, struct error *err)
{
    static const struct http_header json = {"Content-Type", "application/json"};
    struct http_request request = {.method = method,
        .url = url,
        .path = path,
        .headers = &json,
        .header_count = body.size ? 1 : 0,
        .parts = &body,
        .part_count = body.size ? 1 : 0,
        .max_reply_bytes = 2 * ES_ASK_MAX_BYTES,
        .on_header = take_header,
        .on_body = take_body,
        .self = response};
    buf_reset(&response->body);
    response->client = client;
    response->elasticsearch = false;
    return http_client_send(client, &request, &response->reply, err);
}

void es_response_show(
    const struct es_response *response, struct span text, struct es_shown *ret_shown)
{
    size_t size = text.size < JSON_SCAN_MAX_TEXT ? text.size : JSON_SCAN_MAX_TEXT;
    if (size) {
        memcpy(ret_shown->text, text.data, size);
    }
    ret_shown->text[size] = '\0';
    if (response->client) {
        http_client_hide(response->client, ret_shown->text);
    }
}

void es_response_words(const struct es_response *response, char ret_words[ES_ASK_MAX_WORDS])
{
    struct es_reply reply;
    es_reply_init(&reply, 0, NULL, NULL);
    es_reply_feed(&reply, buf_span(&response->body));
    struct es_answer answer = es_reply_refusal(&reply);
    struct es_shown type;
    struct es_shown reason;
    es_response_show(response, answer.type, &type);
    es_response_show(response, answer.reason, &reason);
    snprintf(ret_words, ES_ASK_MAX_WORDS, "status %d%s%.127s%s%.250s", response->reply.status,
        type.text[0] ? ", " : "", type.text, reason.text[0] ? ": " : "", reason.text);
}

bool es_response_has(const struct es_response *response, const char *text)
{
    return span_find(buf_span(&response->body), text) != SIZE_MAX;
}

size_t es_response_value(
    const struct es_response *response, const char *path, char *ret_value, size_t room)
{
    return json_value_find(buf_span(&response->body), path, ret_value, room);
}
