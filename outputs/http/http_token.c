#include "outputs/http/http_token.h"

#include "outputs/json_value.h"

enum { MAX_TOKEN_BYTES = 64 * 1024, MAX_SECONDS = 24 * 60 * 60, UNKNOWN_SECONDS = 5 * 60 };

bool http_token_ask(struct http_response *response, struct http_client *client,
    const struct http_request *request, struct error *err)
{
    bool replied = http_response_fetch(response, client, request, err);
    if (span_find(buf_span(&response->body), "access_token") != SIZE_MAX) {
        response->shown[0] = '\0';
    }
    return replied;
}

bool http_token_post(struct http_response *response, struct http_client *client, const char *url,
    const char *path, struct span form, struct error *err)
{
    static const struct http_header type = {"Content-Type", "application/x-www-form-urlencoded"};
    const struct http_request request = {.method = "POST",
        .url = url,
        .path = path,
        .headers = &type,
        .header_count = 1,
        .parts = &form,
        .part_count = 1};
    return http_token_ask(response, client, &request, err);
}

static bool is_string(struct span value, struct span *ret_text)
{
    bool good = value.size >= 2 && value.data[0] == '"';
    *ret_text = good ? span_make(value.data + 1, value.size - 2) : value;
    return good;
}

bool http_token_read(struct span body, struct span *ret_text, uint64_t *ret_seconds)
{
    struct span seconds;
    *ret_seconds = 0;
    if (!is_string(json_value_raw(body, "access_token"), ret_text) || ret_text->size == 0 ||
        ret_text->size > MAX_TOKEN_BYTES) {
        return false;
    }
    for (size_t i = 0; i < ret_text->size; i++) {
        uint8_t c = ret_text->data[i];
        if (c <= ' ' || c >= 0x7f || c == '\\') {
            return false;
        }
    }
    is_string(json_value_raw(body, "expires_in"), &seconds); /* of Azure's identity service */
    if (seconds.size == 0) {                                 /* RFC 6749, 5.1: it may be left out */
        *ret_seconds = UNKNOWN_SECONDS;
        return true;
    }
    for (size_t i = 0; i < seconds.size && i < 9; i++) {
        if (seconds.data[i] < '0' || seconds.data[i] > '9') {
            return false;
        }
        *ret_seconds = *ret_seconds * 10 + (uint64_t)(seconds.data[i] - '0');
    }
    *ret_seconds = *ret_seconds < MAX_SECONDS ? *ret_seconds : MAX_SECONDS;
    return *ret_seconds > 0;
}
