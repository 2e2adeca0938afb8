#include "outputs/elasticsearch/es_ask.h"

#include <stdio.h>

#include "outputs/elasticsearch/es_reply.h"
#include "outputs/json_value.h"

void es_said_init(struct es_said *said)
{
    *said = (struct es_said){.elasticsearch = false};
    buf_init(&said->body, ES_ASK_MAX_BYTES);
}

void es_said_fini(struct es_said *said)
{
    buf_fini(&said->body);
}

static bool take_header(void *self, struct span name, struct span value)
{
    struct es_said *said = self;
    if (span_equal_nocase(name, span_text("X-elastic-product"))) {
        said->elasticsearch = span_equal_nocase(value, span_text("Elasticsearch"));
    }
    return true;
}

static bool take_body(void *self, struct span piece)
{
    struct es_said *said = self;
    size_t room = ES_ASK_MAX_BYTES - said->body.size;
    buf_add_span(&said->body, span_first(piece, room));
    return true;
}

bool es_ask(struct http_client *client, const char *url, const char *method, const char *path,
    struct span body, struct es_said *said, struct error *err)
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
        .self = said};
    buf_reset(&said->body);
    said->client = client;
    said->elasticsearch = false;
    return http_client_send(client, &request, &said->reply, err);
}

void es_said_show(const struct es_said *said, struct span text, struct es_shown *ret_shown)
{
    size_t size = text.size < JSON_SCAN_MAX_TEXT ? text.size : JSON_SCAN_MAX_TEXT;
    if (size) {
        memcpy(ret_shown->text, text.data, size);
    }
    ret_shown->text[size] = '\0';
    if (said->client) {
        http_client_hide(said->client, ret_shown->text);
    }
}

void es_said_words(const struct es_said *said, char ret_words[ES_ASK_MAX_WORDS])
{
    struct es_reply reply;
    es_reply_init(&reply, 0, NULL, NULL);
    es_reply_feed(&reply, buf_span(&said->body));
    struct es_answer answer = es_reply_refusal(&reply);
    struct es_shown type;
    struct es_shown reason;
    es_said_show(said, answer.type, &type);
    es_said_show(said, answer.reason, &reason);
    snprintf(ret_words, ES_ASK_MAX_WORDS, "status %d%s%.127s%s%.250s", said->reply.status,
        type.text[0] ? ", " : "", type.text, reason.text[0] ? ": " : "", reason.text);
}

bool es_said_has(const struct es_said *said, const char *text)
{
    size_t size = strlen(text);
    for (size_t at = 0; at + size <= said->body.size; at++) {
        if (memcmp(said->body.data + at, text, size) == 0) {
            return true;
        }
    }
    return false;
}

size_t es_said_value(const struct es_said *said, const char *path, char *ret_value, size_t room)
{
    return json_value_find(buf_span(&said->body), path, ret_value, room);
}
