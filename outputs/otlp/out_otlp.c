/*
 * OpenTelemetry's protocol over HTTP. A delivery is sent in pieces (http_pieces.h), each a request
 * that otlp_frame.c writes.
 *
 * A successful reply may report a number of rejected log records without naming them (partial
 * success), and such a request must not be sent again. So all records of the request become dead
 * letters with the server's text, and the ledger counts by the reply: the rejected records as dead
 * letters, the others as delivered. After some statuses the protocol forbids sending the request
 * again. Then all its records become dead letters, too, but none counts as delivered.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "outputs/http/http_pieces.h"
#include "outputs/http/http_status.h"
#include "outputs/otlp/otlp_frame.h"
#include "outputs/otlp/otlp_link.h"
#include "outputs/otlp/otlp_metrics.h"
#include "outputs/otlp/otlp_reply.h"
#include "outputs/otlp/otlp_settings.h"
#include "outputs/otlp/otlp_try.h"

enum {
    WORDS_BYTES = 400,
    MAX_UNCERTAIN = 16, /* per delivery */
};

/* A request whose records become dead letters, because the server does not name the rejected
 * ones. */
struct uncertain_piece {
    size_t arrived;
    size_t maybe_arrived; /* including `arrived` */
    int status;
    char words[WORDS_BYTES];
};

/* ---- making ---------------------------------------------------------------------------------- */

struct out_otlp {
    struct http_link link;
    struct otlp_frame frame;
    struct http_pieces pieces;
    struct uncertain_piece uncertain[MAX_UNCERTAIN]; /* of the current delivery */
    size_t uncertain_count;
    uint8_t *piece_numbers; /* per record: place in `uncertain`, from 1; 0: none */
    size_t piece_numbers_capacity;
};

static void otlp_destroy(void *self_)
{
    struct out_otlp *self = self_;
    if (self) {
        http_link_fini(&self->link);
        otlp_frame_fini(&self->frame);
        http_pieces_fini(&self->pieces);
        free(self->piece_numbers);
        free(self);
    }
}

static void *otlp_create(const void *settings, const struct output_env *env, struct error *err)
{
    const struct otlp_settings *s = settings;
    struct out_otlp *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    http_pieces_init(&self->pieces, env);
    otlp_frame_init(&self->frame, (enum otlp_protocol)s->protocol);
    if (!otlp_link_init(&self->link, s, env, err)) {
        otlp_destroy(self);
        return NULL;
    }
    return self;
}

/* ---- one request ----------------------------------------------------------------------------- */

/* Mark the records of ${piece} as dead letters: ${arrived} of them have arrived, and at most
 * ${maybe} may have. */
static void add_uncertain(struct out_otlp *self, const struct http_piece *piece, size_t arrived,
    size_t maybe, const char *words)
{
    struct uncertain_piece *d = &self->uncertain[self->uncertain_count++];
    *d = (struct uncertain_piece){
        .arrived = arrived, .maybe_arrived = maybe, .status = self->link.response.reply.status};
    snprintf(d->words, sizeof(d->words), "%s", words);
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        if (http_piece_holds(piece, i)) {
            self->piece_numbers[i] = (uint8_t)self->uncertain_count;
        }
    }
}

/* The status reports success. */
static struct http_piece_answer take(struct out_otlp *self, const struct http_piece *piece,
    const struct otlp_reply *reply, struct output_report *report)
{
    struct http_piece_answer answer = {.verdict = HTTP_PIECE_TAKEN, .record = HTTP_PIECES_UNKNOWN};
    char words[WORDS_BYTES];
    size_t count = self->frame.count;
    if (!self->link.response.reply.sent || self->link.response.page) {
        http_response_error(&self->link.response, self->link.url,
            self->link.response.page
                ? "a web page answered instead of a collector. check the address, "
                  "and proxies on the way"
                : "an answer to an incomplete request",
            &report->error);
        answer.verdict = self->link.response.page ? HTTP_PIECE_MEND : HTTP_PIECE_LATER;
        return answer;
    }
    if (!reply->rejected && (reply->broken || self->link.response.is_cut)) {
        add_uncertain(self, piece, 0, count,
            "the server accepted the request, but its reply cannot be read, so some events may be "
            "rejected");
    } else if (reply->rejected) {
        size_t rejected = reply->rejected < count ? (size_t)reply->rejected : count;
        snprintf(words, sizeof(words), "%zu of %zu rejected%s%s%s", rejected, count,
            rejected < count ? ", and the server does not say which" : "",
            reply->message[0] ? ": " : "", reply->message);
        add_uncertain(self, piece, count - rejected, count - rejected, words);
    } else if (reply->message[0]) {
        snprintf(words, sizeof(words), "the server accepted all, and says: %s", reply->message);
        http_client_hide(self->link.client, words);
        http_pieces_warn(&self->pieces, words);
    }
    return answer;
}

static struct http_piece_answer judge(struct out_otlp *self, const struct http_piece *piece,
    const struct otlp_reply *reply, struct output_report *report)
{
    struct http_piece_answer answer = {.record = HTTP_PIECES_UNKNOWN};
    int status = self->link.response.reply.status;
    const char *words = otlp_reply_words(status);
    switch (otlp_reply_verdict(status)) {
    case OTLP_TAKEN:
        return take(self, piece, reply, report);
    case OTLP_MEND:
        answer.verdict = HTTP_PIECE_MEND;
        break;
    case OTLP_TOO_BIG:
        answer.verdict = HTTP_PIECE_TOO_BIG;
        break;
    case OTLP_REFUSED:
        answer.verdict = HTTP_PIECE_REFUSED;
        break;
    case OTLP_NEVER:
        /* The collector did not get the whole request, or a proxy answered in its place. */
        if (!self->link.response.reply.sent || self->link.response.page) {
            self->pieces.unsure += self->link.response.reply.sent ? self->frame.count : 0;
            words = http_status_words(status);
            answer.verdict = HTTP_PIECE_LATER;
            break;
        }
        answer.verdict = HTTP_PIECE_TAKEN; /* these records need no further request */
        add_uncertain(
            self, piece, 0, self->frame.count, reply->message[0] ? reply->message : words);
        return answer;
    case OTLP_LATER:
        answer.verdict = HTTP_PIECE_LATER;
        break;
    }
    char text[WORDS_BYTES];
    snprintf(text, sizeof(text), "%s%s%s", words, reply->message[0] ? ": " : "", reply->message);
    http_client_hide(self->link.client, text);
    self->link.response.shown[0] = '\0'; /* protobuf is unreadable */
    http_response_error(&self->link.response, self->link.url, text, &report->error);
    snprintf(self->link.response.shown, sizeof(self->link.response.shown), "%.*s",
        (int)sizeof(self->link.response.shown) - 1, text);
    answer.why = http_response_why(&self->link.response, "otlp", words);
    return answer;
}

static struct http_piece_answer otlp_post(
    void *self_, const struct http_piece *piece, struct output_report *report)
{
    struct out_otlp *self = self_;
    struct http_piece_answer answer = {.record = HTTP_PIECES_UNKNOWN};
    if (self->uncertain_count == MAX_UNCERTAIN) {
        error_set(&report->error, ERR_STOPPED, "the server rejects a part of each request");
        return answer; /* the rest is sent with the next delivery */
    }
    switch (otlp_frame_write(&self->frame, piece, &answer.record)) {
    case OTLP_NO_MEMORY:
        answer.verdict = http_pieces_no_memory(piece->records, &report->error);
        return answer;
    case OTLP_NO_RECORD:
        error_set(&report->error, ERR_FORMAT,
            "an event is not a log record of this protocol. it may have been encoded for the other "
            "one");
        answer.verdict = HTTP_PIECE_REFUSED;
        answer.why = (struct output_rejection){
            .type = span_text("otlp"), .reason = span_text("not a log record of this protocol")};
        return answer;
    case OTLP_FRAMED:
        break;
    }
    struct span body = buf_span(&self->frame.body);
    if (!http_link_post(&self->link, otlp_settings_logs_path, body, &report->error)) {
        const struct http_reply *reply = &self->link.response.reply;
        answer.verdict = http_pieces_of_failure(reply->failure);
        self->pieces.unsure += reply->sent ? self->frame.count : 0;
        return answer;
    }
    report->wait_ms = self->link.response.reply.retry_after_ms;
    struct otlp_reply reply;
    otlp_reply_read(buf_span(&self->link.response.body), self->link.response.reply.status,
        self->frame.protocol, &reply);
    return judge(self, piece, &reply, report);
}

/* ---- one delivery ---------------------------------------------------------------------------- */

/* Begin ${delivery}: nothing of it was sent yet. */
static bool begin(struct out_otlp *self, const struct delivery *delivery)
{
    size_t count = delivery->record_count;
    if (!grow_to(&self->piece_numbers, count, &self->piece_numbers_capacity, 1)) {
        return false;
    }
    if (count) {
        memset(self->piece_numbers, 0, count);
    }
    self->uncertain_count = 0;
    return true;
}

/* Turn the records of these requests, which count as delivered so far, into dead letters. */
static void reject_uncertain(
    struct out_otlp *self, const struct delivery *delivery, struct output_report *report)
{
    for (size_t i = 0; i < self->uncertain_count; i++) {
        struct uncertain_piece *d = &self->uncertain[i];
        http_client_hide(self->link.client, d->words);
        report->rejected_but_arrived += d->arrived;
        report->rejected_maybe_arrived += d->maybe_arrived;
        self->link.response.shown[0] = '\0';
        self->link.response.reply.status = d->status;
        http_response_error(&self->link.response, self->link.url, d->words, &report->error);
    }
    for (size_t i = 0; self->uncertain_count && i < delivery->record_count; i++) {
        if (self->piece_numbers[i] && self->pieces.statuses[i] == RECORD_DELIVERED) {
            const struct uncertain_piece *d = &self->uncertain[self->piece_numbers[i] - 1];
            const struct output_rejection why = {
                .status = d->status, .type = span_text("otlp"), .reason = span_text(d->words)};
            self->pieces.statuses[i] = RECORD_REJECTED;
            rejections_add(&self->pieces.notes, i, &why);
        }
    }
}

static enum output_verdict otlp_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_otlp *self = self_;
    if (!begin(self, delivery)) {
        error_set(&report->error, ERR_MEMORY, "out of memory");
        return OUTPUT_RETRY;
    }
    if (!http_pieces_send(&self->pieces, delivery, report, otlp_post, self)) {
        return OUTPUT_RETRY;
    }
    reject_uncertain(self, delivery, report);
    return http_pieces_verdict(&self->pieces, delivery, report);
}

const struct output_ops output_otlp = {
    .name = "otlp",
    .fields = otlp_settings_fields,
    .settings_size = sizeof(struct otlp_settings),
    .workers = 2,
    .format = otlp_settings_format,
    .check = otlp_settings_check,
    .warnings = otlp_settings_warnings,
    .can_run = otlp_settings_can_run,
    .reference = otlp_reply_write_reference,
    .metrics = &otlp_metrics,
    .examine = otlp_try_run,
    .create = otlp_create,
    .send = otlp_send,
    .destroy = otlp_destroy,
};
