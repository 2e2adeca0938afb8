/*
 * Batches as bodies of HTTP requests. One delivery is one request, unless the server finds it too
 * big or refuses something in it (http_pieces.h); http_status.c has the result of each status. An
 * incomplete reply does not count: the events are sent again.
 *
 * The body is made with one copy at most (http_frame.c), and a second one where it is compressed,
 * into memory that is kept.
 */
#include <stdlib.h>

#include "outputs/http/http_accept.h"
#include "outputs/http/http_link.h"
#include "outputs/http/http_pieces.h"
#include "outputs/http/http_settings.h"
#include "outputs/http/http_status.h"

enum {
    BODY_MAX_BYTES = 512 * 1024 * 1024,
    SHORTEST_SECRET = 8, /* among the values of a query */
};

static const char hec_path[] = "/services/collector/event";

/* ---- making ---------------------------------------------------------------------------------- */

struct out_http {
    struct http_link link;
    const char *path; /* after its address; NULL: none */
    const char *method;
    struct http_frame frame;
    struct http_accept accept;
    struct buf framed;
    struct http_pieces pieces;
};

/* The query of an address, or each of its values, may be a key. */
static bool hide_query(struct http_link *link)
{
    const char *query = strchr(link->url, '?');
    if (!query) {
        return true;
    }
    bool good = strlen(query) <= SHORTEST_SECRET || http_client_add_secret(link->client, query + 1);
    for (const char *at = query + 1; good && *at;) {
        size_t size = strcspn(at, "&;#");
        size_t name = strcspn(at, "=&;#");
        struct span value = name < size ? span_make(at + name + 1, size - name - 1)
                                        : span_make(at, size);
        struct span copy;
        good = value.size < SHORTEST_SECRET ||
               (arena_copy(&link->kept, value, &copy) &&
                   http_client_add_secret(link->client, (const char *)copy.data));
        at += size + (at[size] != 0);
    }
    return good;
}

static bool has_path(const char *url)
{
    const char *path = url + http_failure_origin(url).size;
    return path[0] && strcmp(path, "/") != 0;
}

static bool set_up(struct out_http *self, const struct http_settings *s,
    const struct output_env *env, struct error *err)
{
    bool hec = s->framing == HTTP_FRAMING_SPLUNK_HEC;
    bool has_type = false;
    for (size_t i = 0; i < s->headers.count; i++) {
        has_type = has_type || http_options_is_header(s->headers.items[i].key, "Content-Type");
    }
    enum http_framing framing = (enum http_framing)s->framing;
    const struct http_link_setup setup = {.url = span_text(s->url),
        .options = &s->http,
        .scheme = hec ? "Splunk" : NULL,
        .headers = &s->headers,
        .content_type = has_type ? NULL : http_frame_content_type(framing)};
    if (!http_link_init(&self->link, &setup, env, err)) {
        return false;
    }
    self->method = http_settings_methods[s->method];
    self->path = hec && !has_path(s->url) ? hec_path : NULL;
    http_accept_init(&self->accept, &s->accept, hec);
    return (http_frame_init(&self->frame, framing, &s->hec) && hide_query(&self->link)) ||
           error_set(err, ERR_MEMORY, "out of memory");
}

static void http_destroy(void *self_)
{
    struct out_http *self = self_;
    if (self) {
        http_link_fini(&self->link);
        http_frame_fini(&self->frame);
        buf_fini(&self->framed);
        http_pieces_fini(&self->pieces);
        free(self);
    }
}

static void *http_create(const void *settings, const struct output_env *env, struct error *err)
{
    struct out_http *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    buf_init(&self->framed, BODY_MAX_BYTES);
    http_pieces_init(&self->pieces, env);
    self->pieces.in_a_row = true;
    if (!set_up(self, settings, env, err)) {
        http_destroy(self);
        return NULL;
    }
    return self;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Judge the reply. ${ret_words}: what it means for the user. */
static enum http_piece_verdict judge(const struct out_http *self, const char **ret_words)
{
    const struct http_response *response = &self->link.response;
    int status = response->reply.status;
    *ret_words = http_status_words(status);
    if (http_status_verdict(status) != HTTP_TAKEN) {
        return http_pieces_of_status(status);
    }
    if (!response->reply.sent) {
        *ret_words = "an answer to an incomplete request";
        return HTTP_PIECE_LATER;
    }
    *ret_words = http_accept_objection(&self->accept, status, response->page);
    return *ret_words ? HTTP_PIECE_MEND : HTTP_PIECE_TAKEN;
}

static struct http_piece_answer http_post(
    void *self_, const struct http_piece *piece, struct output_report *report)
{
    struct out_http *self = self_;
    struct http_piece_answer answer = {.record = HTTP_PIECES_UNKNOWN};
    const struct http_response *response = &self->link.response;
    const char *words;
    struct span body;
    if (!http_frame_body(
            &self->frame, piece->delivery, piece->first, piece->count, &self->framed, &body)) {
        answer.verdict = http_pieces_no_memory(piece->records, &report->error);
        return answer;
    }
    bool replied = http_link_pack(&self->link, &body, &report->error) &&
                   http_link_send(&self->link, self->method, self->path, body, &report->error);
    report->wait_ms = response->reply.retry_after_ms;
    const struct http_reply *reply = &response->reply;
    bool lost = reply->sent && (!replied || (reply->status >= 500 && reply->status != 503));
    self->pieces.unsure += lost ? piece->records : 0; /* it may have arrived */
    if (!replied) {
        answer.verdict = http_pieces_of_failure(response->reply.failure);
        return answer;
    }
    answer.verdict = judge(self, &words);
    if (answer.verdict != HTTP_PIECE_TAKEN) {
        http_response_error(response, self->link.url, words, &report->error);
        answer.why = http_response_why(response, "http", words);
    }
    return answer;
}

static enum output_verdict http_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_http *self = self_;
    return http_pieces_send(&self->pieces, delivery, report, http_post, self)
               ? http_pieces_verdict(&self->pieces, delivery, report)
               : OUTPUT_RETRY;
}

const struct output_ops output_http = {
    .name = "http",
    .fields = http_settings_fields,
    .settings_size = sizeof(struct http_settings),
    .workers = 2,
    .check = http_settings_check,
    .warnings = http_settings_warnings,
    .can_run = http_settings_can_run,
    .reference = http_status_write_reference,
    .create = http_create,
    .send = http_send,
    .destroy = http_destroy,
};
