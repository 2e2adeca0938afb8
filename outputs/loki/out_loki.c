/*
 * Loki's push API. A delivery goes in pieces (http_pieces.h), each a request of all its streams. If
 * Loki answers 400, it has stored a part of the request, but its reply names the refused lines of
 * the last stream only. So each stream is then sent in a request of its own: Loki drops the lines
 * that it already has (equal stream, time and text), since a request covers half an hour at most
 * (loki_frame.h). Lines named in the reply for a stream become dead letters, the rest is delivered.
 * If a reply does not name all, http_pieces.h sends less at a time, down to the refused line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "outputs/http/http_pieces.h"
#include "outputs/http/http_status.h"
#include "outputs/loki/loki_frame.h"
#include "outputs/loki/loki_link.h"
#include "outputs/loki/loki_reply.h"
#include "outputs/loki/loki_try.h"

enum { BAD_REQUEST = 400, TOO_MANY_REQUESTS = 429 };

/* ---- making ---------------------------------------------------------------------------------- */

struct out_loki {
    struct http_link link;
    struct loki_frame frame;
    struct http_pieces pieces;
    struct loki_reply reply;
    enum loki_state *states; /* by record of the current delivery */
    size_t state_capacity;
    bool repeated;        /* Loki may have some of these already */
    size_t maybe_arrived; /* records that Loki refused, and may have stored before */
    bool has_warned;
};

static void loki_destroy(void *self_)
{
    struct out_loki *self = self_;
    if (self) {
        http_link_fini(&self->link);
        loki_frame_fini(&self->frame);
        http_pieces_fini(&self->pieces);
        free(self->states);
        free(self);
    }
}

static void *loki_create(const void *settings, const struct output_env *env, struct error *err)
{
    const struct loki_settings *s = settings;
    struct out_loki *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    http_pieces_init(&self->pieces, env);
    if (!loki_link_init(&self->link, s, env, err)) {
        loki_destroy(self);
        return NULL;
    }
    if (!loki_frame_init(&self->frame, (enum loki_encoding)s->encoding, loki_settings_labels(s),
            (size_t)s->max_streams)) {
        loki_destroy(self);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    return self;
}

/* ---- one request ----------------------------------------------------------------------------- */

/* The result of a reply for the whole request. */
static enum http_piece_verdict verdict_of(const struct http_response *response)
{
    int status = response->reply.status;
    if (http_status_verdict(status) == HTTP_TAKEN && !response->page) {
        return response->reply.sent ? HTTP_PIECE_TAKEN : HTTP_PIECE_LATER;
    }
    return http_pieces_of_status(status);
}

/* Send entries [first, end). */
static enum http_piece_verdict post_entries(
    struct out_loki *self, size_t first, size_t end, struct output_report *report)
{
    if (!loki_frame_write(&self->frame, first, end)) {
        return http_pieces_no_memory(end - first, &report->error);
    }
    struct http_link *link = &self->link;
    if (!http_link_post(
            link, loki_settings_path(link->url), buf_span(&self->frame.body), &report->error)) {
        return http_pieces_of_failure(link->response.reply.failure);
    }
    report->wait_ms = link->response.reply.retry_after_ms;
    enum http_piece_verdict verdict = verdict_of(&link->response);
    if (verdict != HTTP_PIECE_TAKEN) {
        http_response_error(&link->response, link->url,
            link->response.page
                ? "a web page answered instead of Loki. check the address, and proxies on the way"
                : http_status_words(link->response.reply.status),
            &report->error);
    }
    return verdict;
}

/* ---- lines that Loki names ------------------------------------------------------------------- */

static const struct loki_named *named_of(const struct loki_reply *reply, int64_t nanos)
{
    for (size_t i = 0; i < reply->named_count; i++) {
        if (reply->named[i].nanos == nanos) {
            return &reply->named[i];
        }
    }
    return NULL;
}

/* True if the reply names all refused entries of [first, end), which are of one stream. */
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

/* The record becomes a dead letter at the end of the delivery. In a repeated delivery Loki may have
 * stored the line before, and refuse it now only because it is too far behind. */
static void refuse(struct out_loki *self, const struct loki_entry *entry, struct span reason)
{
    char text[640];
    if (self->repeated && span_find(reason, "too far behind") != SIZE_MAX) {
        snprintf(text, sizeof(text), "it was sent before, and may be stored already: %.*s",
            SPAN_ARG(span_first(reason, sizeof(text) / 2)));
        reason = span_text(text);
        self->maybe_arrived++;
    }
    const struct output_rejection why = {
        .status = BAD_REQUEST, .type = span_text("loki"), .reason = reason};
    rejections_add(&self->pieces.notes, entry->record, &why);
    self->states[entry->record] = LOKI_REFUSED;
}

static void store(struct out_loki *self, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        self->states[self->frame.entries[i].record] = LOKI_STORED;
    }
}

/* Loki has refused something of entries [first, end), which are of one stream. It answers 400 if it
 * refuses the last of them for ever, even if others only came too early. */
static enum http_piece_verdict judge_stream(
    struct out_loki *self, size_t first, size_t end, struct output_report *report)
{
    const struct loki_reply *reply = &self->reply;
    loki_reply_read(buf_span(&self->link.response.body), &self->reply);
    if (reply->is_rate_limited) {
        http_response_error(&self->link.response, self->link.url,
            http_status_words(TOO_MANY_REQUESTS), &report->error);
        return HTTP_PIECE_LATER;
    }
    if (!names_all(self, first, end)) {
        return HTTP_PIECE_REFUSED;
    }
    store(self, first, end);
    for (size_t i = first; i < end; i++) {
        const struct loki_named *named = named_of(reply, self->frame.entries[i].nanos);
        if (named || reply->ignored == reply->total) {
            refuse(self, &self->frame.entries[i],
                named ? named->reason : span_text(self->link.response.shown));
        }
    }
    return HTTP_PIECE_TAKEN;
}

static enum http_piece_verdict post_stream(
    struct out_loki *self, size_t first, size_t end, struct output_report *report)
{
    enum http_piece_verdict verdict = post_entries(self, first, end, report);
    if (verdict == HTTP_PIECE_REFUSED && self->link.response.reply.status == BAD_REQUEST) {
        return judge_stream(self, first, end, report);
    }
    if (verdict == HTTP_PIECE_TAKEN) {
        store(self, first, end);
    }
    return verdict;
}

/* Send the slice of entries [first, end). If some of it is refused, send each stream separately,
 * until one has to wait. */
static enum http_piece_verdict post_slice(
    struct out_loki *self, size_t first, size_t end, struct output_report *report)
{
    if (loki_frame_stream_end(&self->frame, first) == end) {
        return post_stream(self, first, end, report);
    }
    enum http_piece_verdict verdict = post_entries(self, first, end, report);
    if (verdict != HTTP_PIECE_REFUSED || self->link.response.reply.status != BAD_REQUEST) {
        if (verdict == HTTP_PIECE_TAKEN) {
            store(self, first, end);
        }
        return verdict;
    }
    verdict = HTTP_PIECE_TAKEN;
    for (size_t next = first; first < end && verdict == HTTP_PIECE_TAKEN; first = next) {
        next = loki_frame_stream_end(&self->frame, first);
        verdict = post_stream(self, first, next, report);
    }
    return verdict;
}

static void warn_of_overflow(struct out_loki *self)
{
    if (self->frame.has_overflowed && !self->has_warned) {
        char text[200];
        snprintf(text, sizeof(text),
            "events have more labels than max_streams, %zu, allows: further ones go to one stream "
            "with overflow=true. write fewer labels",
            self->frame.max_streams);
        http_pieces_warn(&self->pieces, text);
        self->has_warned = true;
    }
}

static struct http_piece_answer loki_post(
    void *self_, const struct http_piece *piece, struct output_report *report)
{
    struct out_loki *self = self_;
    struct http_piece_answer answer = {.record = HTTP_PIECES_UNKNOWN};
    if (!loki_frame_sort(&self->frame, piece, self->states, &answer.record)) {
        bool known = answer.record != HTTP_PIECES_UNKNOWN;
        error_set(&report->error, known ? ERR_FORMAT : ERR_MEMORY, "%s",
            known ? "an event has no @timestamp" : "out of memory");
        answer.verdict = known ? HTTP_PIECE_REFUSED : HTTP_PIECE_LATER;
        answer.why = (struct output_rejection){
            .type = span_text("loki"), .reason = span_text("it has no @timestamp")};
        return answer;
    }
    warn_of_overflow(self);
    answer.verdict = HTTP_PIECE_TAKEN;
    for (size_t first = 0, end = 0;
         first < self->frame.entry_count && answer.verdict == HTTP_PIECE_TAKEN; first = end) {
        end = loki_frame_slice_end(&self->frame, first);
        answer.verdict = post_slice(self, first, end, report);
    }
    answer.why = http_response_why(
        &self->link.response, "loki", http_status_words(self->link.response.reply.status));
    return answer;
}

/* ---- one delivery ---------------------------------------------------------------------------- */

static bool begin(struct out_loki *self, const struct delivery *delivery)
{
    size_t count = delivery->record_count;
    if (!grow_to(&self->states, count, &self->state_capacity, sizeof(*self->states))) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        self->states[i] = LOKI_OPEN;
    }
    self->repeated = delivery->repeated;
    self->maybe_arrived = 0;
    return true;
}

/* Results of single records override those of their requests. */
static void settle_states(struct out_loki *self, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (self->states[i] != LOKI_OPEN) {
            self->pieces.statuses[i] = self->states[i] == LOKI_REFUSED ? RECORD_REJECTED
                                                                       : RECORD_DELIVERED;
        }
    }
}

static enum output_verdict loki_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_loki *self = self_;
    if (!begin(self, delivery)) {
        error_set(&report->error, ERR_MEMORY, "out of memory");
        return OUTPUT_RETRY;
    }
    if (!http_pieces_send(&self->pieces, delivery, report, loki_post, self)) {
        return OUTPUT_RETRY;
    }
    settle_states(self, delivery->record_count);
    report->rejected_maybe_arrived = self->maybe_arrived;
    return http_pieces_verdict(&self->pieces, delivery, report);
}

const struct output_ops output_loki = {
    .name = "loki",
    .formats = "native",
    .refuses_old =
        "Loki by default refuses lines that are older than a week, or more than an hour behind "
        "others of their stream. raise reject_old_samples_max_age and max_chunk_age there. else "
        "such events become dead letters, or wait if Loki refuses all of them",
    .refuses_older_days = 7,
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
