/*
 * Loki's push API. A delivery goes in pieces (http_pieces.h), each a request of all its streams. Loki stores what
 * it can of a request that it answers with 400, and says so of the last stream alone. So such a request is
 * followed by one for each stream: what Loki has already it drops, as it drops any line that stands in a stream
 * with the same time. What a stream's reply names becomes dead letters, the rest is delivered. Where it does not
 * name all, http_pieces.h sends less at a time, down to the line that is refused.
 */
#include <stdio.h>
#include <stdlib.h>

#include "outputs/compress.h"
#include "outputs/http/http_headers.h"
#include "outputs/http/http_pieces.h"
#include "outputs/http/http_said.h"
#include "outputs/http/http_status.h"
#include "outputs/loki/loki_frame.h"
#include "outputs/loki/loki_reply.h"
#include "outputs/loki/loki_try.h"

enum { PACKED_MAX_BYTES = 512 * 1024 * 1024, KEPT_MAX_BYTES = 64 * 1024, BAD_REQUEST = 400 };

/* ---- making -------------------------------------------------------------------------------------- */

struct out_loki {
    struct arena kept;
    const char *url;
    const char *path;
    struct http_client *client;
    struct http_headers headers;
    struct compress *compress; /* NULL: none */
    struct buf packed;
    struct loki_frame frame;
    struct http_pieces pieces;
    struct http_said said;
    struct loki_reply reply;
    bool *named; /* by record of the delivery in hand: Loki refused it by its time */
    size_t named_capacity;
    bool has_warned;
    bool (*stopping)(void *host);
    void (*warn)(void *host, const char *text);
    void *host;
};

static bool set_up(struct out_loki *self, const struct loki_settings *s,
    const struct output_env *env, struct error *err)
{
    struct span url;
    self->client = http_client_create(
        &(struct http_client_setup){
            .options = &s->http, .stopping = env->stopping, .note = env->note, .host = env->host},
        err);
    if (!self->client) {
        return false;
    }
    if (s->http.compression != HTTP_PLAIN) {
        self->compress = compress_create((enum http_compression)s->http.compression, err);
        if (!self->compress) {
            return false;
        }
    }
    if (!loki_frame_init(&self->frame, (enum loki_encoding)s->encoding, loki_settings_labels(s),
            (size_t)s->max_streams) ||
        !arena_copy(&self->kept, span_text(s->url), &url) ||
        !http_headers_add(&self->headers, "Content-Type", loki_settings_content_type(s)) ||
        !http_headers_add(&self->headers, "X-Scope-OrgID", s->tenant) ||
        !http_headers_add(&self->headers, "Content-Encoding", self->compress ? "gzip" : NULL)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    self->url = (const char *)url.data;
    self->path = loki_settings_path(self->url);
    return true;
}

static void loki_destroy(void *self_)
{
    struct out_loki *self = self_;
    if (self) {
        http_client_destroy(self->client);
        http_headers_fini(&self->headers);
        compress_destroy(self->compress);
        loki_frame_fini(&self->frame);
        http_pieces_fini(&self->pieces);
        http_said_fini(&self->said);
        buf_fini(&self->packed);
        free(self->named);
        arena_fini(&self->kept);
        free(self);
    }
}

static void *loki_create(const void *settings, const struct output_env *env, struct error *err)
{
    struct out_loki *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    arena_init(&self->kept, KEPT_MAX_BYTES);
    buf_init(&self->packed, PACKED_MAX_BYTES);
    http_headers_init(&self->headers);
    http_said_init(&self->said);
    http_pieces_init(&self->pieces);
    self->stopping = env->stopping;
    self->warn = env->warn;
    self->host = env->host;
    if (!set_up(self, settings, env, err)) {
        loki_destroy(self);
        return NULL;
    }
    return self;
}

/* ---- one request --------------------------------------------------------------------------------- */

/* What a reply says of the whole request. */
static enum http_piece_verdict verdict_of(const struct http_said *said)
{
    switch (http_status_verdict(said->reply.status)) {
    case HTTP_TAKEN:
        return said->page         ? HTTP_PIECE_MEND
               : said->reply.sent ? HTTP_PIECE_TAKEN
                                  : HTTP_PIECE_LATER;
    case HTTP_MEND:
        return HTTP_PIECE_MEND;
    case HTTP_TOO_BIG:
        return HTTP_PIECE_TOO_BIG;
    case HTTP_REFUSED:
        return HTTP_PIECE_REFUSED;
    default:
        return HTTP_PIECE_LATER;
    }
}

/* Send entries [first, end). */
static enum http_piece_verdict post_entries(
    struct out_loki *self, size_t first, size_t end, struct output_report *report)
{
    if (!loki_frame_write(&self->frame, first, end)) {
        error_set(
            &report->error, ERR_MEMORY, "out of memory for a request of %zu events", end - first);
        return end - first > 1 ? HTTP_PIECE_TOO_BIG : HTTP_PIECE_LATER;
    }
    struct span body = buf_span(&self->frame.body);
    if (self->compress) {
        if (!compress_whole(self->compress, body, &self->packed, &report->error)) {
            return HTTP_PIECE_LATER;
        }
        body = buf_span(&self->packed);
    }
    const struct http_request request = {.method = "POST",
        .url = self->url,
        .path = self->path,
        .headers = self->headers.list,
        .header_count = self->headers.count,
        .parts = &body,
        .part_count = 1};
    if (!http_said_ask(&self->said, self->client, &request, &report->error)) {
        return http_failure_lasts(self->said.reply.failure) ? HTTP_PIECE_MEND : HTTP_PIECE_LATER;
    }
    uint64_t wait_ms = self->said.reply.retry_after_ms;
    report->wait_ms = wait_ms < UINT32_MAX ? (uint32_t)wait_ms : UINT32_MAX;
    enum http_piece_verdict verdict = verdict_of(&self->said);
    if (verdict != HTTP_PIECE_TAKEN) {
        http_said_tell(&self->said, self->url,
            self->said.page
                ? "a web page answers, and no Loki. check the address, and what is on the way"
                : http_status_words(self->said.reply.status),
            &report->error);
    }
    return verdict;
}

/* ---- lines that Loki names ------------------------------------------------------------------------- */

static const struct loki_named *named_of(const struct loki_reply *reply, int64_t nanos)
{
    for (size_t i = 0; i < reply->named_count; i++) {
        if (reply->named[i].nanos == nanos) {
            return &reply->named[i];
        }
    }
    return NULL;
}

/* Do the names in the reply tell which of entries [first, end), of one stream, Loki has refused? */
static bool names_all(const struct out_loki *self, size_t first, size_t end)
{
    const struct loki_reply *reply = &self->reply;
    size_t found = 0;
    for (size_t i = first; i < end; i++) {
        found += named_of(reply, self->frame.entries[i].nanos) != NULL;
    }
    return reply->is_partial && reply->total == end - first &&
           (reply->ignored == reply->total || found == reply->ignored);
}

/* Those that it has refused are dead letters when the delivery ends. */
static void note_named(struct out_loki *self, size_t first, size_t end)
{
    const struct loki_reply *reply = &self->reply;
    for (size_t i = first; i < end; i++) {
        const struct loki_entry *entry = &self->frame.entries[i];
        const struct loki_named *named = named_of(reply, entry->nanos);
        if (named || reply->ignored == reply->total) {
            const struct output_rejection why = {.status = BAD_REQUEST,
                .type = span_text("loki"),
                .reason = named ? named->reason : span_text(self->said.shown)};
            rejections_add(&self->pieces.notes, entry->record, &why);
            self->named[entry->record] = true;
        }
    }
}

/* Loki has refused something of entries [first, end), which are of one stream. */
static enum http_piece_verdict judge_stream(struct out_loki *self, size_t first, size_t end)
{
    loki_reply_read(buf_span(&self->said.body), &self->reply);
    if (!names_all(self, first, end)) {
        return HTTP_PIECE_REFUSED;
    }
    note_named(self, first, end);
    return HTTP_PIECE_TAKEN;
}

/* Each stream by itself, until one has to wait. */
static enum http_piece_verdict post_streams(struct out_loki *self, struct output_report *report)
{
    size_t count = self->frame.entry_count;
    enum http_piece_verdict verdict = HTTP_PIECE_TAKEN;
    for (size_t first = 0, end = 0; first < count && verdict == HTTP_PIECE_TAKEN; first = end) {
        end = loki_frame_stream_end(&self->frame, first);
        verdict = post_entries(self, first, end, report);
        if (verdict == HTTP_PIECE_REFUSED && self->said.reply.status == BAD_REQUEST) {
            verdict = judge_stream(self, first, end);
        }
    }
    return verdict;
}

static void warn_of_overflow(struct out_loki *self)
{
    if (self->frame.has_overflowed && !self->has_warned && self->warn) {
        char text[200];
        snprintf(text, sizeof(text),
            "events have more labels than max_streams, %zu, allows: further ones go to one stream "
            "with "
            "overflow=true. write fewer labels",
            self->frame.max_streams);
        self->warn(self->host, text);
        self->has_warned = true;
    }
}

static struct http_piece_answer loki_post(
    void *self_, const struct http_piece *piece, struct output_report *report)
{
    struct out_loki *self = self_;
    struct http_piece_answer answer = {.culprit = HTTP_PIECES_UNKNOWN};
    if (!loki_frame_sort(&self->frame, piece, &answer.culprit)) {
        bool known = answer.culprit != HTTP_PIECES_UNKNOWN;
        error_set(&report->error, known ? ERR_FORMAT : ERR_MEMORY, "%s",
            known ? "an event has no @timestamp" : "out of memory");
        answer.verdict = known ? HTTP_PIECE_REFUSED : HTTP_PIECE_LATER;
        answer.why = (struct output_rejection){
            .type = span_text("loki"), .reason = span_text("it has no @timestamp")};
        return answer;
    }
    warn_of_overflow(self);
    size_t count = self->frame.entry_count;
    answer.verdict = post_entries(self, 0, count, report);
    if (answer.verdict == HTTP_PIECE_REFUSED && self->said.reply.status == BAD_REQUEST) {
        bool is_one = loki_frame_stream_end(&self->frame, 0) == count;
        answer.verdict = is_one ? judge_stream(self, 0, count) : post_streams(self, report);
    }
    answer.why = (struct output_rejection){.status = self->said.reply.status,
        .type = span_text("loki"),
        .reason = span_text(
            self->said.shown[0] ? self->said.shown : http_status_words(self->said.reply.status))};
    return answer;
}

/* ---- one delivery -------------------------------------------------------------------------------- */

static bool begin(struct out_loki *self, size_t count)
{
    if (count > self->named_capacity) {
        bool *named = realloc(self->named, count * sizeof(*named));
        if (!named) {
            return false;
        }
        self->named = named;
        self->named_capacity = count;
    }
    if (count) {
        memset(self->named, 0, count * sizeof(*self->named));
    }
    return true;
}

static enum output_verdict loki_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_loki *self = self_;
    if (!begin(self, delivery->record_count)) {
        error_set(&report->error, ERR_MEMORY, "out of memory");
        return OUTPUT_RETRY;
    }
    if (!http_pieces_send(
            &self->pieces, delivery, report, loki_post, self, self->stopping, self->host)) {
        return OUTPUT_RETRY;
    }
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (self->named[i] && self->pieces.statuses[i] == RECORD_DELIVERED) {
            self->pieces.statuses[i] = RECORD_REJECTED;
        }
    }
    return http_pieces_verdict(&self->pieces, delivery, report);
}

const struct output_ops output_loki = {
    .name = "loki",
    .formats = "native",
    .refuses_old = "Loki by default refuses lines that are older than a week, or more than an hour "
                   "behind others of "
                   "their stream. raise reject_old_samples_max_age and max_chunk_age there, or "
                   "expect dead letters",
    .fields = loki_settings_fields,
    .settings_size = sizeof(struct loki_settings),
    .check = loki_settings_check,
    .can_run = loki_settings_can_run,
    .streams = loki_settings_streams,
    .examine = loki_try_run,
    .create = loki_create,
    .send = loki_send,
    .destroy = loki_destroy,
};
