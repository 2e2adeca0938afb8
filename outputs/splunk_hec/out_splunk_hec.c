/*
 * Splunk's HTTP Event Collector. A delivery goes in pieces (http_pieces.h) to one of several
 * collectors. Its successful reply only means that the events look valid. With `ack` they count as
 * delivered when Splunk has confirmed that each request is indexed (hec_acks.h): `send` waits for
 * that, so each worker has one batch in flight.
 *
 * Possible duplicates are counted: a request without a reply, and one that is not acknowledged in
 * time, which is then sent again on a new channel.
 */
#include <stdlib.h>

#include "outputs/elasticsearch/es_hosts.h"
#include "outputs/http/http_link.h"
#include "outputs/splunk_hec/hec_acks.h"
#include "outputs/splunk_hec/hec_frame.h"
#include "outputs/splunk_hec/hec_reply.h"
#include "outputs/splunk_hec/hec_try.h"
#include "platform/plat_clock.h"
#include "platform/plat_system.h"

enum {
    SLICE_MS = 50, /* between two checks of `stopping` */
    BACK_OFF_TIMES = 10,
};

static const char health_path[] = "/services/collector/health";

/* ---- making ---------------------------------------------------------------------------------- */

struct out_hec {
    struct http_link link; /* its address: the collector of the last request */
    struct es_hosts hosts;
    bool *asked; /* by host: it acknowledges, or `ack` is off */
    struct hec_frame frame;
    struct http_pieces pieces;
    struct hec_ack ack;
    struct hec_acks acks;
};

static bool set_up(struct out_hec *self, const struct hec_settings *s, const struct output_env *env,
    struct error *err)
{
    struct http_options options = s->http;
    options.auth = (struct http_auth){.bearer = s->token};
    const struct http_link_setup setup = {.options = &options,
        .scheme = "Splunk",
        .content_type = s->endpoint == HEC_RAW ? "text/plain; charset=utf-8" : "application/json"};
    uint64_t start = 0;
    if (!http_link_init(&self->link, &setup, env, err)) {
        return false;
    }
    self->ack = s->ack;
    self->pieces.one_route = s->endpoint == HEC_RAW;
    self->link.own.name = "X-Splunk-Request-Channel";
    if (s->ack.enabled || s->endpoint == HEC_RAW) {
        self->link.own.value = self->acks.channel;
    }
    self->asked = calloc(s->urls.count + 1, sizeof(*self->asked));
    if (!self->asked || !hec_frame_init(&self->frame, s)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    return plat_random(&start, sizeof(start), err) && hec_acks_new_channel(&self->acks, err) &&
           es_hosts_init(&self->hosts, &s->urls, start, err);
}

static void hec_destroy(void *self_)
{
    struct out_hec *self = self_;
    if (self) {
        http_link_fini(&self->link);
        es_hosts_fini(&self->hosts);
        hec_frame_fini(&self->frame);
        hec_acks_fini(&self->acks);
        http_pieces_fini(&self->pieces);
        free(self->asked);
        free(self);
    }
}

static void *hec_create(const void *settings, const struct output_env *env, struct error *err)
{
    struct out_hec *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    http_pieces_init(&self->pieces, env);
    if (!set_up(self, settings, env, err)) {
        hec_destroy(self);
        return NULL;
    }
    return self;
}

/* ---- which collector ------------------------------------------------------------------------- */

static void fail_host(struct out_hec *self, size_t index, bool lasts, const struct error *err)
{
    const struct es_host_failure failure = {
        .retry_after_ms = self->link.response.reply.retry_after_ms,
        .lasts = lasts,
        .reason = err->text};
    es_hosts_failed(&self->hosts, index, plat_monotonic_ms(), &failure);
}

/* Check the health of a collector that failed before, if there are several, before it gets events
 * again. */
static bool is_healthy(struct out_hec *self, size_t index, struct error *err)
{
    const char *url = self->hosts.items[index].url;
    const struct http_request request = {.method = "GET", .url = url, .path = health_path};
    if (self->hosts.count == 1 || self->hosts.items[index].failures == 0) {
        return true;
    }
    if (!http_response_fetch(&self->link.response, self->link.client, &request, err)) {
        fail_host(self, index, http_failure_lasts(self->link.response.reply.failure), err);
        return false;
    }
    /* Only a report of bad health counts: not every collector has this endpoint. */
    if (self->link.response.reply.status < 500) {
        return true;
    }
    struct hec_reply reply;
    hec_reply_read(&self->link.response, &reply);
    http_response_error(
        &self->link.response, url, hec_reply_words(&reply, self->link.response.reply.status), err);
    fail_host(self, index, false, err);
    return false;
}

/* Test that it acknowledges: else accepted events would be sent again and again. */
static bool acknowledges(
    struct out_hec *self, size_t index, struct output_report *report, bool *ret_lasts)
{
    *ret_lasts = false;
    if (!self->ack.enabled || self->asked[index]) {
        return true;
    }
    const char *url = self->hosts.items[index].url;
    switch (hec_acks_try(self->link.client, url, &self->link.response, &report->error)) {
    case HEC_ASKED:
    case HEC_ASK_GONE: /* a channel exists from its first events on */
        self->asked[index] = true;
        report->error = (struct error){0};
        return true;
    case HEC_ASK_OFF:
    case HEC_ASK_REFUSED:
        *ret_lasts = true;
        break;
    case HEC_NOT_ASKED:
        *ret_lasts = http_failure_lasts(self->link.response.reply.failure);
        break;
    }
    fail_host(self, index, *ret_lasts, &report->error);
    return false;
}

/* ---- one request ----------------------------------------------------------------------------- */

/* The record of ${piece} that is event ${number} of its request. */
static size_t record_of(const struct http_piece *piece, uint64_t number)
{
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        if (http_piece_holds(piece, i) && number-- == 0) {
            return i;
        }
    }
    return HTTP_PIECES_UNKNOWN;
}

/* True if events of this request may have arrived without a reply. */
static bool is_unsure(const struct http_response *response, const struct hec_reply *reply)
{
    bool lost = response->reply.failure != HTTP_REPLIED;
    return response->reply.sent && (lost || (response->reply.status >= 500 &&
                                                (reply->code == HEC_NO_CODE || reply->code == 8)));
}

/* Number of events that may have arrived of a request refused for one event: Splunk reads them in
 * order, and may have indexed those before the bad one. */
static size_t taken_before(
    const struct http_piece *piece, const struct hec_reply *reply, enum http_piece_verdict verdict)
{
    bool looked = reply->code != HEC_NO_CODE && reply->code != HEC_NO_DATA &&
                  (verdict == HTTP_PIECE_REFUSED || verdict == HTTP_PIECE_BLOCKED);
    size_t most = piece->records - 1;
    return !looked                                                 ? 0
           : reply->has_event_number && reply->event_number < most ? (size_t)reply->event_number
                                                                   : most;
}

static struct http_piece_answer take(struct out_hec *self, size_t index,
    const struct http_piece *piece, const struct hec_reply *reply, struct output_report *report)
{
    struct http_piece_answer answer = {.verdict = HTTP_PIECE_TAKEN, .record = HTTP_PIECES_UNKNOWN};
    const struct hec_pending pending = {.first = piece->first,
        .count = piece->count,
        .records = piece->records,
        .host = index,
        .ack_id = reply->ack_id};
    if (!self->ack.enabled) {
        return answer;
    }
    if (!reply->has_ack_id) {
        http_response_error(&self->link.response, self->hosts.items[index].url,
            "the reply has no ackId, so the token has no indexer acknowledgement. enable indexer "
            "acknowledgement for it in Splunk, or write ack: {enabled: false}",
            &report->error);
        self->asked[index] = false;
        answer.verdict = HTTP_PIECE_MEND;
    } else if (!hec_acks_add(&self->acks, &pending)) {
        error_set(&report->error, ERR_MEMORY, "out of memory");
        answer.verdict = HTTP_PIECE_LATER;
    }
    self->pieces.unsure += answer.verdict == HTTP_PIECE_TAKEN ? 0 : piece->records;
    return answer;
}

/* Send ${body}, which is packed, to ${index}. */
static struct http_piece_answer try_host(struct out_hec *self, size_t index, struct span body,
    const struct http_piece *piece, struct output_report *report)
{
    struct http_response *response = &self->link.response;
    struct hec_reply reply = {.code = HEC_NO_CODE};
    struct http_piece_answer answer = {.record = HTTP_PIECES_UNKNOWN};
    self->link.url = self->hosts.items[index].url;
    if (!http_link_send(
            &self->link, "POST", (const char *)self->frame.path.data, body, &report->error)) {
        self->pieces.unsure += is_unsure(response, &reply) ? piece->records : 0;
        answer.verdict = http_pieces_of_failure(response->reply.failure);
        return answer;
    }
    int status = response->reply.status;
    hec_reply_read(response, &reply);
    answer.verdict = hec_reply_verdict(&reply, status);
    if (answer.verdict == HTTP_PIECE_TAKEN && response->reply.sent) {
        return take(self, index, piece, &reply, report);
    }
    if (answer.verdict == HTTP_PIECE_TAKEN) {
        answer.verdict = HTTP_PIECE_LATER; /* an answer to half a request */
    }
    const char *words = hec_reply_words(&reply, status);
    http_response_error(response, self->link.url, words, &report->error);
    self->pieces.unsure += is_unsure(response, &reply)
                               ? piece->records
                               : taken_before(piece, &reply, answer.verdict);
    if (reply.code == HEC_BAD_CHANNEL && !hec_acks_left(&self->acks, SIZE_MAX)) {
        hec_acks_new_channel(&self->acks, NULL);
    }
    if (reply.has_event_number) {
        answer.record = record_of(piece, reply.event_number);
    }
    answer.why = http_response_why(response, "splunk_hec", words);
    return answer;
}

/* All of them have failed: ${report} has the errors. ${lost}: one of them without a reply. */
static struct http_piece_answer all_failed(
    const struct out_hec *self, bool lost, struct output_report *report)
{
    bool all_last = true;
    for (size_t i = 0; i < self->hosts.count; i++) {
        all_last = all_last && self->hosts.items[i].failures && self->hosts.items[i].lasts;
    }
    uint64_t asked_ms = es_hosts_asked_ms(&self->hosts, plat_monotonic_ms());
    report->wait_ms = (uint32_t)asked_ms;
    es_hosts_say(&self->hosts, &report->error);
    return (struct http_piece_answer){.verdict = all_last ? HTTP_PIECE_MEND
                                                 : lost   ? HTTP_PIECE_LOST
                                                          : HTTP_PIECE_LATER,
        .record = HTTP_PIECES_UNKNOWN};
}

static struct http_piece_answer hec_post(
    void *self_, const struct http_piece *piece, struct output_report *report)
{
    struct out_hec *self = self_;
    struct http_piece_answer answer = {.record = HTTP_PIECES_UNKNOWN};
    bool lost = false;
    if (!hec_frame_write(&self->frame, piece)) {
        answer.verdict = http_pieces_no_memory(piece->records, &report->error);
        return answer;
    }
    /* Once for all collectors, and no fault of theirs if it fails. */
    struct span body = buf_span(&self->frame.body);
    if (!http_link_pack(&self->link, &body, &report->error)) {
        return answer;
    }
    for (size_t i = 0; i < self->hosts.count; i++) {
        bool lasts;
        size_t index = i ? es_hosts_pick(&self->hosts, plat_monotonic_ms())
                         : es_hosts_pick_any(&self->hosts, plat_monotonic_ms());
        if (index == ES_HOSTS_NONE || (i && http_pieces_is_stopping(&self->pieces))) {
            break;
        }
        if (!is_healthy(self, index, &report->error) ||
            !acknowledges(self, index, report, &lasts)) {
            continue;
        }
        answer = try_host(self, index, body, piece, report);
        lost = lost || answer.verdict == HTTP_PIECE_LOST;
        if (answer.verdict != HTTP_PIECE_LATER && answer.verdict != HTTP_PIECE_LOST &&
            answer.verdict != HTTP_PIECE_MEND) {
            if (!self->ack.enabled || answer.verdict != HTTP_PIECE_TAKEN) {
                es_hosts_good(&self->hosts, index);
            }
            return answer;
        }
        fail_host(self, index, answer.verdict == HTTP_PIECE_MEND, &report->error);
    }
    return all_failed(self, lost, report);
}

/* ---- waiting for acknowledgements ------------------------------------------------------------ */

/* False: it is time to stop. */
static bool sleep_until(const struct out_hec *self, uint64_t until_ms)
{
    for (;;) {
        uint64_t now = plat_monotonic_ms();
        if (http_pieces_is_stopping(&self->pieces)) {
            return false;
        }
        if (now >= until_ms) {
            return true;
        }
        uint64_t left = until_ms - now;
        plat_sleep_ms(left < SLICE_MS ? (unsigned)left : SLICE_MS);
    }
}

/* Query each collector with pending requests. False: another query is useless. */
static bool ask_all(struct out_hec *self, struct output_report *report)
{
    for (size_t i = 0; i < self->hosts.count; i++) {
        if (!hec_acks_left(&self->acks, i)) {
            continue;
        }
        const char *url = self->hosts.items[i].url;
        switch (hec_acks_ask(
            &self->acks, self->link.client, i, url, &self->link.response, &report->error)) {
        case HEC_ASK_OFF:
            self->asked[i] = false;
            report->degraded = true;
            return false;
        case HEC_ASK_GONE:
            return false;
        default:
            break; /* other errors may be temporary */
        }
    }
    return true;
}

/* The first collector that has not acknowledged all. */
static const char *late_url(const struct out_hec *self)
{
    size_t index = 0;
    while (index + 1 < self->hosts.count && !hec_acks_left(&self->acks, index)) {
        index++;
    }
    return self->hosts.items[index].url;
}

static void await_acks(struct out_hec *self, struct output_report *report)
{
    uint64_t interval_ms = self->ack.interval_ns / NS_PER_MS;
    uint64_t wait_ms = interval_ms;
    uint64_t end_ms = plat_monotonic_ms() + self->ack.timeout_ns / NS_PER_MS;
    bool useful = true;
    while (useful && hec_acks_left(&self->acks, SIZE_MAX)) {
        uint64_t now = plat_monotonic_ms();
        size_t before = hec_acks_left(&self->acks, SIZE_MAX);
        if (now >= end_ms) {
            struct error cause = report->error;
            error_set(&report->error, ERR_IO,
                "%s: Splunk did not acknowledge in time (ack.timeout), so the events are sent "
                "again on a new channel%s%.250s",
                late_url(self), cause.code ? ": " : "", cause.code ? cause.text : "");
            break;
        }
        if (!sleep_until(self, now + wait_ms < end_ms ? now + wait_ms : end_ms)) {
            error_set(&report->error, ERR_STOPPED,
                "stopped before Splunk acknowledged: the events are sent again");
            return; /* the next run does not have the channel */
        }
        report->error = (struct error){0};
        useful = ask_all(self, report);
        bool moved = hec_acks_left(&self->acks, SIZE_MAX) < before;
        wait_ms = moved
                      ? interval_ms
                      : (wait_ms * 2 < interval_ms * BACK_OFF_TIMES ? wait_ms * 2
                                                                    : interval_ms * BACK_OFF_TIMES);
    }
    if (!hec_acks_all(&self->acks) || hec_acks_is_full(&self->acks)) {
        hec_acks_new_channel(&self->acks, NULL);
    }
}

/* A collector that does not acknowledge is left alone for a while, as another one may. */
static void judge_hosts(struct out_hec *self, const struct output_report *report)
{
    for (size_t i = 0; i < self->acks.count; i++) {
        if (self->acks.items[i].acked) {
            es_hosts_good(&self->hosts, self->acks.items[i].host);
        }
    }
    for (size_t i = 0; i < self->hosts.count && !http_pieces_is_stopping(&self->pieces); i++) {
        if (hec_acks_left(&self->acks, i)) {
            fail_host(self, i, false, &report->error);
        }
    }
}

/* Requests without an acknowledgement count as not arrived. */
static void settle_acks(
    struct out_hec *self, const struct delivery *delivery, struct output_report *report)
{
    for (size_t i = 0; i < self->acks.count; i++) {
        const struct hec_pending *item = &self->acks.items[i];
        if (item->ambiguous && !report->error.code) {
            error_set(&report->error, ERR_IO,
                "two requests have the same ackId on one channel, as after a restart of Splunk or "
                "behind a load balancer without sticky sessions: the events are sent again on a "
                "new channel");
        }
        if (!item->acked) {
            http_pieces_take_back(&self->pieces, delivery, item->first, item->count);
            self->pieces.unsure += item->records;
        }
    }
    self->acks.count = 0;
}

static enum output_verdict hec_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_hec *self = self_;
    if (!http_pieces_send(&self->pieces, delivery, report, hec_post, self)) {
        return OUTPUT_RETRY;
    }
    if (self->acks.count) {
        struct error told = report->error;
        bool degraded = report->degraded;
        await_acks(self, report);
        judge_hosts(self, report);
        settle_acks(self, delivery, report);
        report->degraded = report->degraded || degraded;
        if (!report->error.code) {
            report->error = told;
        }
    }
    return http_pieces_verdict(&self->pieces, delivery, report);
}

static bool wants_ids(const void *settings)
{
    const struct hec_settings *s = settings;
    return s->ids && s->endpoint == HEC_EVENT;
}

const struct output_ops output_splunk_hec = {
    .name = "splunk_hec",
    .fields = hec_settings_fields,
    .settings_size = sizeof(struct hec_settings),
    .workers = 4,
    .check = hec_settings_check,
    .can_run = hec_settings_can_run,
    .route = hec_settings_route,
    .route_safety = EVENT_TEMPLATE_PATH,
    .ids = wants_ids,
    .reference = hec_reply_write_reference,
    .examine = hec_try_run,
    .create = hec_create,
    .send = hec_send,
    .destroy = hec_destroy,
};
