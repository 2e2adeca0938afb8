#include "outputs/elasticsearch/es_ask.h"

#include <stdio.h>

#include "outputs/elasticsearch/es_reply.h"

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

/* ---- values --------------------------------------------------------------------------------------- */

/* Follows a path down the objects. ${matched}: how many of its names the open objects have, where
 * all that are open have one. */
struct search {
    const char *path;
    char *value;
    size_t room;
    size_t size;
    unsigned depth;
    unsigned matched;
    bool key_fits; /* the last key is the next name of the path */
};

/* The name number ${index} of a path. */
static struct span name_at(const char *path, unsigned index)
{
    for (; index && *path; index--) {
        path += strcspn(path, ".");
        path += *path == '.';
    }
    return span_make(path, strcspn(path, "."));
}

static bool is_last(const char *path, unsigned index)
{
    struct span name = name_at(path, index);
    return name.data[name.size] == '\0';
}

static bool look(void *self, enum json_token token, struct span text)
{
    struct search *search = self;
    bool here = search->depth == search->matched + 1;
    switch (token) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        if (here && search->key_fits && token == JSON_OBJECT) {
            search->matched++;
        }
        search->depth++;
        search->key_fits = false;
        return true;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        search->depth--;
        if (search->matched && search->depth == search->matched) {
            search->matched--;
        }
        return true;
    case JSON_KEY:
        search->key_fits = here && span_equal(text, name_at(search->path, search->matched));
        return true;
    case JSON_STRING:
    case JSON_NUMBER:
    case JSON_WORD:
        break;
    }
    if (here && search->key_fits && is_last(search->path, search->matched)) {
        search->size = text.size < search->room - 1 ? text.size : search->room - 1;
        memcpy(search->value, text.data, search->size);
        search->value[search->size] = '\0';
        return false;
    }
    search->key_fits = false;
    return true;
}

size_t es_said_value(const struct es_said *said, const char *path, char *ret_value, size_t room)
{
    struct json_scan scan;
    ret_value[0] = '\0';
    struct search search = {.path = path, .value = ret_value, .room = room};
    json_scan_init(&scan, look, &search);
    json_scan_feed(&scan, buf_span(&said->body));
    return search.size;
}
