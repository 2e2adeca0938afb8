/*
 * The Logs Ingestion API of Azure Monitor: sends arrays of events to a stream of a data collection
 * rule, with a token of Entra or of this machine. The documented reply for success is 204, without
 * a body.
 */
#include <stdlib.h>

#include "outputs/azure_logs/azure_frame.h"
#include "outputs/azure_logs/azure_settings.h"
#include "outputs/azure_logs/azure_token.h"
#include "outputs/delivery_id.h"
#include "outputs/http/http_link.h"
#include "outputs/http/http_status.h"

enum { BODY_MAX_BYTES = 512 * 1024 * 1024 };

static const char no_role[] = "the identity lacks the role Monitoring Metrics Publisher on the "
                              "data collection rule. assign it; that "
                              "may take up to 30 minutes to have an effect";
static const char no_rule[] = "there is no such data collection rule or stream at this endpoint. "
                              "check endpoint, dcr (its immutable "
                              "id) and stream";

struct out_azure {
    struct http_link link;
    const char *dcr;
    const char *stream;
    struct azure_token token;
    struct buf framed;
    struct http_pieces pieces;
};

/* ---- making ---------------------------------------------------------------------------------- */

static const char *keep(struct out_azure *self, const char *text, bool *good)
{
    struct span copy;
    if (!text) {
        return NULL;
    }
    *good = *good && arena_copy(&self->link.kept, span_text(text), &copy);
    return *good ? (const char *)copy.data : NULL;
}

static bool set_up(struct out_azure *self, const struct azure_settings *s,
    const struct output_env *env, struct error *err)
{
    const struct http_link_setup link = {
        .url = span_text(s->endpoint), .options = &s->http, .content_type = "application/json"};
    const struct http_client_setup client = {
        .options = &s->http, .stopping = env->stopping, .note = env->note, .host = env->host};
    bool good = true;
    if (!http_link_init(&self->link, &link, env, err)) {
        return false;
    }
    self->dcr = keep(self, s->dcr, &good);
    self->stream = keep(self, s->stream, &good);
    self->token.auth = (struct azure_auth){.method = s->auth.method,
        .tenant = keep(self, s->auth.tenant, &good),
        .client_id = keep(self, s->auth.client_id, &good),
        .client_secret = keep(self, s->auth.client_secret, &good),
        .certificate = keep(self, s->auth.certificate, &good),
        .key = keep(self, s->auth.key, &good),
        .token_file = keep(self, s->auth.token_file, &good),
        .authority = keep(self, s->auth.authority, &good),
        .identity_endpoint = keep(self, s->auth.identity_endpoint, &good),
        .resource = keep(self, s->auth.resource, &good)};
    self->token.client = self->link.client;
    self->link.own.name = "Authorization";
    return good ? azure_token_init(&self->token, &s->http, &client, err)
                : error_set(err, ERR_MEMORY, "out of memory");
}

static void azure_destroy(void *self_)
{
    struct out_azure *self = self_;
    if (self) {
        http_link_fini(&self->link);
        azure_token_fini(&self->token);
        http_pieces_fini(&self->pieces);
        buf_fini(&self->framed);
        free(self);
    }
}

static void *azure_create(const void *settings, const struct output_env *env, struct error *err)
{
    struct out_azure *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    buf_init(&self->framed, BODY_MAX_BYTES);
    http_pieces_init(&self->pieces, env);
    self->pieces.one_route = true;
    self->pieces.most_bytes = AZURE_FRAME_MAX_BYTES;
    if (!set_up(self, settings, env, err)) {
        azure_destroy(self);
        return NULL;
    }
    return self;
}

/* ---- one request ----------------------------------------------------------------------------- */

/* In a stream's name, characters other than letters, digits, '-' and '.' become '_': a field may
 * give a part of the name. */
static bool write_path(
    const struct out_azure *self, const struct http_piece *piece, struct buf *path)
{
    const struct delivery *delivery = piece->delivery;
    struct span stream = delivery->routes ? delivery->route_names[delivery->routes[piece->first]]
                                          : span_text(self->stream);
    buf_printf(path, "dataCollectionRules/%s/streams/", self->dcr);
    for (size_t i = 0; i < stream.size; i++) {
        uint8_t c = stream.data[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.';
        buf_add_byte(path, plain ? c : '_');
    }
    buf_add_text(path, "?api-version=2023-01-01");
    buf_add_byte(path, '\0');
    return !path->failed;
}

/* ${body} is packed. */
static bool post_body(struct out_azure *self, const char *path, struct span body, struct error *err)
{
    self->link.own.value = self->token.bearer;
    return http_link_send(&self->link, "POST", path, body, err);
}

/* The verdict on a reply. ${ret_words}: what the user must change in the set-up. */
static enum http_piece_verdict verdict_of(
    const struct http_response *response, const char **ret_words)
{
    int status = response->reply.status;
    *ret_words = status == 403 ? no_role : status == 404 ? no_rule : http_status_words(status);
    if (status == 200 || status == 202 || status == 204) {
        *ret_words = "a web page or an answer to an incomplete request is no acknowledgement. "
                     "check endpoint";
        return response->page || !response->reply.sent ? HTTP_PIECE_MEND : HTTP_PIECE_TAKEN;
    }
    return http_pieces_of_status(status);
}

static struct http_piece_answer judge(struct out_azure *self, bool replied,
    const struct http_piece *piece, struct output_report *report)
{
    struct http_piece_answer answer = {.record = HTTP_PIECES_UNKNOWN};
    const struct http_response *response = &self->link.response;
    const struct http_reply *reply = &response->reply;
    const char *words;
    bool lost = reply->sent && (!replied || reply->status >= 500) && reply->status != 503;
    self->pieces.unsure += lost ? piece->records : 0;
    if (!replied) {
        answer.verdict = http_pieces_of_failure(reply->failure);
        return answer;
    }
    answer.verdict = verdict_of(response, &words);
    if (answer.verdict != HTTP_PIECE_TAKEN) {
        http_response_error(response, self->link.url, words, &report->error);
        report->wait_ms = reply->retry_after_ms;
        answer.why = http_response_why(response, "azure_logs", words);
    }
    return answer;
}

static struct http_piece_answer post_with_token(struct out_azure *self, const char *path,
    struct span body, const struct http_piece *piece, struct output_report *report)
{
    struct http_response *response = &self->link.response;
    for (int tries = 0;; tries++) {
        enum azure_token_result got = azure_token_get(&self->token, response, &report->error);
        if (got != AZURE_TOKEN) {
            report->wait_ms = response->reply.retry_after_ms;
            return (struct http_piece_answer){
                .verdict = got == AZURE_TOKEN_MEND ? HTTP_PIECE_MEND : HTTP_PIECE_LATER,
                .record = HTTP_PIECES_UNKNOWN};
        }
        bool replied = post_body(self, path, body, &report->error);
        /* The token may have expired early: try once more with a new one. */
        bool stale = replied && response->reply.status == 401;
        if (stale) {
            azure_token_drop(&self->token);
        }
        if (!stale || tries) {
            return judge(self, replied, piece, report);
        }
    }
}

static struct http_piece_answer azure_post(
    void *self_, const struct http_piece *piece, struct output_report *report)
{
    struct out_azure *self = self_;
    struct http_piece_answer answer = {.record = HTTP_PIECES_UNKNOWN};
    struct buf path;
    buf_init(&path, 64 * 1024);
    bool good = azure_frame_write(piece, &self->framed) && write_path(self, piece, &path);
    struct span body = buf_span(&self->framed);
    if (!good) {
        answer.verdict = http_pieces_no_memory(piece->records, &report->error);
    } else if (self->framed.size > AZURE_FRAME_MAX_BYTES && piece->records > 1) {
        error_set(&report->error, ERR_LIMIT, "a request of %zu events is larger than %d bytes",
            piece->records, AZURE_FRAME_MAX_BYTES);
        answer.verdict = HTTP_PIECE_TOO_BIG;
    } else if (http_link_pack(&self->link, &body, &report->error)) {
        answer = post_with_token(self, (const char *)path.data, body, piece, report);
    }
    buf_fini(&path);
    return answer;
}

static enum output_verdict azure_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_azure *self = self_;
    return http_pieces_send(&self->pieces, delivery, report, azure_post, self)
               ? http_pieces_verdict(&self->pieces, delivery, report)
               : OUTPUT_RETRY;
}

/* ---- test-output ----------------------------------------------------------------------------- */

/* Send an empty array: the service checks the token, the rule and the stream first. */
static bool try_rule(struct out_azure *self, const struct output_talk *talk)
{
    struct error err;
    struct buf path;
    const char *words;
    const struct delivery none = {.record_count = 0};
    const struct http_piece piece = {.delivery = &none};
    char text[700];
    buf_init(&path, 64 * 1024);
    bool replied = (write_path(self, &piece, &path) ||
                       error_set(&err, ERR_MEMORY, "out of memory")) &&
                   post_body(self, (const char *)path.data, span_make(NULL, 0), &err);
    buf_fini(&path);
    if (!replied) {
        http_response_layer(&self->link.response, &err, text, sizeof(text));
        talk->say(talk->host, OUTPUT_FOUND_FAULT, text);
        return false;
    }
    int status = self->link.response.reply.status;
    enum http_piece_verdict verdict = verdict_of(&self->link.response, &words);
    if (status == 401 || status == 403 || status == 404 || verdict == HTTP_PIECE_LATER) {
        http_response_error(&self->link.response, self->link.url, words, &err);
        talk->say(talk->host, OUTPUT_FOUND_FAULT, err.text);
        return false;
    }
    talk->say(
        talk->host, OUTPUT_FOUND_GOOD, "the service accepts the token for this rule and stream");
    return true;
}

static bool azure_examine(const void *settings, const struct output_talk *talk)
{
    const struct output_env env = {.name = talk->name};
    struct azure_settings plain = *(const struct azure_settings *)settings;
    struct error err = {0};
    plain.http.compression = HTTP_PLAIN; /* an empty body needs no compression */
    struct out_azure *self = azure_create(&plain, &env, &err);
    bool good = self && azure_token_get(&self->token, &self->link.response, &err) == AZURE_TOKEN;
    if (good) {
        talk->say(talk->host, OUTPUT_FOUND_GOOD, "a token was issued");
        if (!azure_settings_route(settings)) {
            good = try_rule(self, talk);
        }
    } else {
        talk->say(talk->host, OUTPUT_FOUND_FAULT, err.text);
    }
    azure_destroy(self);
    return good;
}

const struct output_ops output_azure_logs = {
    .name = "azure_logs",
    .fields = azure_settings_fields,
    .settings_size = sizeof(struct azure_settings),
    .workers = 2,
    .check = azure_settings_check,
    .can_run = azure_settings_can_run,
    .route = azure_settings_route,
    .route_safety = EVENT_TEMPLATE_PATH,
    .ids = delivery_id_always,
    .setup = azure_frame_setup,
    .examine = azure_examine,
    .create = azure_create,
    .send = azure_send,
    .destroy = azure_destroy,
};
