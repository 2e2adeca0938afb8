#include "outputs/kafka/kafka_token.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/filetime.h"
#include "outputs/http/http_form.h"
#include "outputs/http/http_token.h"
#include "platform/plat_clock.h"

enum { KEPT_MAX_BYTES = 1024 * 1024, FORM_MAX_BYTES = 256 * 1024, REASON_BYTES = 300 };

struct kafka_token {
    struct arena kept;
    const char *url;
    const char *client_id;
    const char *client_secret;
    const char *scope;       /* NULL: none */
    const char **extensions; /* key, value, key, value, … */
    size_t extension_count;  /* number of keys and values */
    char *before;            /* previous token, a secret */
    struct http_client *http;
    struct http_response response;
};

static const char *keep(struct kafka_token *token, const char *text, bool *good)
{
    struct span copy;
    if (!text) {
        return NULL;
    }
    *good = *good && arena_copy(&token->kept, span_text(text), &copy);
    return *good ? (const char *)copy.data : NULL;
}

struct kafka_token *kafka_token_create(const struct kafka_settings *settings,
    bool (*stopping)(void *host), void (*note)(void *host, const char *text), void *host,
    struct error *err)
{
    const struct kafka_sasl *sasl = &settings->sasl;
    struct kafka_token *token = calloc(1, sizeof(*token));
    bool good = token != NULL;
    if (!good) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    arena_init(&token->kept, KEPT_MAX_BYTES);
    http_response_init(&token->response);
    token->url = keep(token, sasl->token_url, &good);
    token->client_id = keep(token, sasl->client_id, &good);
    token->client_secret = keep(token, sasl->client_secret, &good);
    token->scope = keep(token, sasl->scope, &good);
    token->extensions = arena_alloc_array(
        &token->kept, 2 * sasl->extensions.count + 1, sizeof(*token->extensions));
    for (size_t i = 0; token->extensions && i < sasl->extensions.count; i++) {
        token->extensions[2 * i] = keep(token, sasl->extensions.items[i].key, &good);
        token->extensions[2 * i + 1] = keep(token, sasl->extensions.items[i].value, &good);
        token->extension_count += 2;
    }
    const struct http_options options = {.tls = {.ca = sasl->token_ca},
        .connect_timeout_ns = settings->connect_timeout_ns,
        .timeout_ns = settings->connect_timeout_ns};
    const struct http_client_setup setup = {
        .options = &options, .stopping = stopping, .note = note, .host = host};
    if (!good || !token->extensions) {
        error_set(err, ERR_MEMORY, "out of memory");
    } else {
        token->http = http_client_create(&setup, err);
    }
    if (token->http && !http_client_add_secret(token->http, token->client_secret)) {
        good = error_set(err, ERR_MEMORY, "out of memory");
    }
    if (!token->http || !good) {
        kafka_token_destroy(token);
        return NULL;
    }
    return token;
}

void kafka_token_destroy(struct kafka_token *token)
{
    if (token) {
        http_client_destroy(token->http);
        http_response_fini(&token->response);
        arena_fini(&token->kept);
        free(token->before);
        free(token);
    }
}

static bool ask(struct kafka_token *token, struct error *err)
{
    struct buf form;
    buf_init(&form, FORM_MAX_BYTES);
    http_form_add(&form, "grant_type", "client_credentials");
    http_form_add(&form, "client_id", token->client_id);
    http_form_add(&form, "client_secret", token->client_secret);
    if (token->scope) {
        http_form_add(&form, "scope", token->scope);
    }
    bool replied = (!form.failed || error_set(err, ERR_MEMORY, "out of memory")) &&
                   http_token_post(
                       &token->response, token->http, token->url, NULL, buf_span(&form), err);
    buf_fini(&form);
    if (replied && token->response.reply.status != 200) {
        http_response_error(&token->response, token->url,
            "the server issued no token. check token_url, client_id and client_secret", err);
        return false;
    }
    return replied;
}

/* Pass the token to ${rk}. A copy is kept, so that the client hides it in texts. */
static bool put(struct kafka_token *token, rd_kafka_t *rk, struct span text, uint64_t seconds,
    struct error *err)
{
    char reason[REASON_BYTES] = "";
    char *copy = span_copy(text);
    if (!copy) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (!http_client_replace_secret(token->http, token->before, copy)) {
        free(copy);
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    free(token->before);
    token->before = copy;
    int64_t now_ms = (int64_t)((plat_now_filetime() - FILETIME_UNIX_EPOCH) / FILETIME_PER_MS);
    rd_kafka_resp_err_t code = rd_kafka_oauthbearer_set_token(rk, copy,
        now_ms + (int64_t)seconds * 1000, token->client_id, token->extensions,
        token->extension_count, reason, sizeof(reason));
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ||
           error_set(err, ERR_FORMAT, "sasl: the token cannot be used: %s", reason);
}

bool kafka_token_give(struct kafka_token *token, rd_kafka_t *rk, struct error *err)
{
    struct span text;
    uint64_t seconds;
    bool good = ask(token, err);
    if (good && !http_token_read(buf_span(&token->response.body), &text, &seconds)) {
        /* Show nothing of the reply: it may contain a part of the token. */
        good = error_set(
            err, ERR_FORMAT, "%.200s: the reply holds no token. check token_url", token->url);
    }
    good = good && put(token, rk, text, seconds, err);
    if (!good) {
        rd_kafka_oauthbearer_set_token_failure(rk, err->text);
    }
    return good;
}
