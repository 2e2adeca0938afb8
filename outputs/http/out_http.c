/*
 * Batches as bodies of HTTP requests. One delivery is one request, unless the server finds it too
 * big or refuses something in it (http_window.h); http_status.c has the result of each status. An
 * incomplete reply does not count: the events are sent again.
 *
 * A server with one status for every fault (Splunk answers 400 for an unknown index) would make
 * every event a dead letter. So rejections are reported at the end of a delivery, and after several
 * single events in a row were refused, over deliveries, another one is sent alone before the next
 * is rejected. If that is refused, too, the set-up is wrong: the rejections of this delivery are
 * dropped, and it waits as for any fault of the set-up. Each try sends another event, so that many
 * bad events do not look like a bad set-up forever.
 *
 * The body is made with one copy at most (http_frame.c), and a second one where it is compressed,
 * into memory that is kept.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "outputs/compress.h"
#include "outputs/http/http_accept.h"
#include "outputs/http/http_client.h"
#include "outputs/http/http_headers.h"
#include "outputs/http/http_settings.h"
#include "outputs/http/http_status.h"
#include "outputs/http/http_window.h"
#include "outputs/rejections.h"

enum {
    KEPT_MAX_BYTES = 1024 * 1024, /* copied from the settings */
    BODY_MAX_BYTES = 512 * 1024 * 1024,
    EXCERPT_BYTES = 300,   /* part of a reply that is shown */
    SAID_MAX_BYTES = 4096, /* part of a reply that is searched for secrets before it is cut */
    REPLY_MAX_BYTES = 4 * 1024 * 1024, /* an endless reply ends its connection */
    /* Limit of tries in a delivery that is refused piece by piece, so that its host gets a
     * report. */
    MAX_REQUESTS = 1000,
    SHORTEST_SECRET = 8, /* among the values of a query */
    BAD_IN_A_ROW = 16,   /* this many single records refused in a row may mean a wrong set-up */
};

static const char one_by_one[] =
    "the server rejects one event after another. check the settings of this output";
static const char hec_path[] = "/services/collector/event";

/* ---- making ---------------------------------------------------------------------------------- */

struct out_http {
    struct arena kept; /* url */
    const char *url;
    const char *path; /* after it; NULL: none */
    const char *method;
    struct http_headers headers;
    struct http_client *client;
    struct http_frame frame;
    struct http_window window;
    struct http_accept accept;
    struct compress *compress; /* NULL: none */
    struct buf framed;
    struct buf packed;
    enum record_status *statuses; /* of the current delivery */
    size_t capacity;
    struct rejections notes; /* why records are rejected */
    unsigned bad_in_a_row;   /* records refused alone since the last accepted request */
    unsigned set_up_faults;  /* how often the set-up was found wrong since */
    char excerpt[SAID_MAX_BYTES];
    size_t excerpt_size;
    bool page; /* the reply is HTML */
    bool (*stopping)(void *host);
    void (*note)(void *host, const char *text);
    void *host;
};

static const char *keep(struct out_http *self, const char *text)
{
    struct span copy;
    return arena_copy(&self->kept, span_text(text), &copy) ? (const char *)copy.data : NULL;
}

/* The query of an address, or each of its values, may be a key. */
static bool hide_query(struct out_http *self)
{
    const char *query = strchr(self->url, '?');
    if (!query) {
        return true;
    }
    bool good = strlen(query) <= SHORTEST_SECRET || http_client_add_secret(self->client, query + 1);
    for (const char *at = query + 1; good && *at;) {
        size_t size = strcspn(at, "&;#");
        size_t name = strcspn(at, "=&;#");
        struct span value = name < size ? span_make(at + name + 1, size - name - 1)
                                        : span_make(at, size);
        struct span copy;
        good = value.size < SHORTEST_SECRET ||
               (arena_copy(&self->kept, value, &copy) &&
                   http_client_add_secret(self->client, (const char *)copy.data));
        at += size + (at[size] != 0);
    }
    return good;
}

static bool keep_headers(struct out_http *self, const struct http_settings *s)
{
    bool has_type = false;
    for (size_t i = 0; i < s->headers.count; i++) {
        has_type = has_type || http_options_is_header(s->headers.items[i].key, "Content-Type");
    }
    const char *type = has_type ? NULL : http_frame_content_type(self->frame.framing);
    const char *coding = self->compress ? http_compression_names[s->http.compression] : NULL;
    return http_headers_take(&self->headers, &s->headers, self->client) &&
           http_headers_add(&self->headers, "Content-Type", type) &&
           http_headers_add(&self->headers, "Content-Encoding", coding);
}

static bool has_path(const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    const char *path = host + strcspn(host, "/?#");
    return path[0] && strcmp(path, "/") != 0;
}

static bool set_up(struct out_http *self, const struct http_settings *s, struct error *err)
{
    bool hec = s->framing == HTTP_FRAMING_SPLUNK_HEC;
    self->client = http_client_create(&(struct http_client_setup){.options = &s->http,
                                          .scheme = hec ? "Splunk" : NULL,
                                          .stopping = self->stopping,
                                          .note = self->note,
                                          .host = self->host},
        err);
    if (!self->client ||
        !compress_open((enum http_compression)s->http.compression, &self->compress, err)) {
        return false;
    }
    self->url = keep(self, s->url);
    self->method = http_settings_methods[s->method];
    http_accept_init(&self->accept, &s->accept, hec);
    self->path = hec && !has_path(s->url) ? hec_path : NULL;
    if (!self->url || !http_frame_init(&self->frame, (enum http_framing)s->framing, &s->hec) ||
        !hide_query(self) || !keep_headers(self, s)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    return true;
}

static void http_destroy(void *self_)
{
    struct out_http *self = self_;
    if (self) {
        http_client_destroy(self->client);
        compress_destroy(self->compress);
        http_frame_fini(&self->frame);
        buf_fini(&self->framed);
        buf_fini(&self->packed);
        free(self->statuses);
        rejections_fini(&self->notes);
        http_headers_fini(&self->headers);
        arena_fini(&self->kept);
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
    arena_init(&self->kept, KEPT_MAX_BYTES);
    http_headers_init(&self->headers);
    buf_init(&self->framed, BODY_MAX_BYTES);
    buf_init(&self->packed, BODY_MAX_BYTES);
    rejections_init(&self->notes);
    self->stopping = env->stopping;
    self->note = env->note;
    self->host = env->host;
    if (!set_up(self, settings, err)) {
        http_destroy(self);
        return NULL;
    }
    return self;
}

/* ---- one request ----------------------------------------------------------------------------- */

static bool on_body(void *self_, struct span piece)
{
    struct out_http *self = self_;
    piece = span_first(piece, sizeof(self->excerpt) - 1 - self->excerpt_size);
    for (size_t i = 0; i < piece.size; i++) {
        uint8_t c = piece.data[i];
        self->excerpt[self->excerpt_size++] = c ? (char)c : ' ';
    }
    return true;
}

/* The reply has ended. */
static void finish_excerpt(struct out_http *self)
{
    self->excerpt[self->excerpt_size] = '\0';
    http_client_hide(self->client, self->excerpt);
    self->excerpt[EXCERPT_BYTES - 1] = '\0';
    for (char *c = self->excerpt; *c; c++) {
        *c = (uint8_t)*c < ' ' || (uint8_t)*c >= 0x7f ? ' ' : *c;
    }
}

/* The target of a redirect is more useful than its body. */
static bool on_header(void *self_, struct span name, struct span value)
{
    struct out_http *self = self_;
    if (span_equal_nocase(name, span_text("Content-Type"))) {
        self->page = http_accept_is_page(value);
    }
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] == '?' || value.data[i] == '#') {
            value.size = i; /* it may quote the request */
        }
    }
    return !span_equal_nocase(name, span_text("Location")) ||
           (on_body(self, value) && on_body(self, span_text(" ")));
}

static bool pack(struct out_http *self, struct span *body, struct error *err)
{
    if (!self->compress) {
        return true;
    }
    bool good = compress_whole(self->compress, *body, &self->packed, err);
    *body = buf_span(&self->packed);
    return good;
}

static void say_status(
    const struct out_http *self, int status, const char *words, struct error *err)
{
    const char *host = strstr(self->url, "://");
    host = host ? host + 3 : self->url;
    size_t size = (size_t)(host - self->url) + strcspn(host, "/?#");
    error_set(err, ERR_IO, "%.*s: status %d: %s%s%s", (int)size, self->url, status, words,
        self->excerpt[0] ? ": " : "", self->excerpt);
}

/* True if a successful reply acknowledges the events. False before the whole request was sent. */
static bool is_ack(struct out_http *self, const struct http_reply *reply, struct error *err)
{
    const char *objection = reply->sent
                                ? http_accept_objection(&self->accept, reply->status, self->page)
                                : "an answer to an incomplete request";
    if (objection) {
        say_status(self, reply->status, objection, err);
    }
    return !objection;
}

static enum http_verdict post_body(
    struct out_http *self, struct span body, struct output_report *report, int *ret_status)
{
    struct http_reply reply;
    const struct http_request request = {.method = self->method,
        .url = self->url,
        .path = self->path,
        .headers = self->headers.list,
        .header_count = self->headers.count,
        .parts = &body,
        .part_count = 1,
        .max_reply_bytes = REPLY_MAX_BYTES, /* read and ignored */
        .on_header = on_header,
        .on_body = on_body,
        .self = self};
    bool replied = http_client_send(self->client, &request, &reply, &report->error);
    report->wait_ms = reply.retry_after_ms < UINT32_MAX ? (uint32_t)reply.retry_after_ms
                                                        : UINT32_MAX;
    report->degraded = http_failure_lasts(reply.failure);
    finish_excerpt(self);
    *ret_status = reply.status;
    enum http_verdict verdict = replied ? http_status_verdict(reply.status) : HTTP_LATER;
    if (verdict == HTTP_TAKEN && !is_ack(self, &reply, &report->error)) {
        report->degraded = reply.sent;
        return HTTP_LATER;
    }
    return verdict;
}

/* Send ${count} records. HTTP_LATER with the error set if there is no reply; else ${ret_status} is
 * its status. */
static enum http_verdict post(struct out_http *self, const struct delivery *delivery, size_t first,
    size_t count, struct output_report *report, int *ret_status)
{
    struct span body;
    self->excerpt_size = 0;
    self->excerpt[0] = '\0';
    self->page = false;
    *ret_status = 0;
    report->error = (struct error){0};
    if (!http_frame_body(&self->frame, delivery, first, count, &self->framed, &body)) {
        error_set(&report->error, ERR_MEMORY, "out of memory for a request of %zu events", count);
        return count > 1 ? HTTP_TOO_BIG : HTTP_LATER;
    }
    if (!pack(self, &body, &report->error)) {
        return HTTP_LATER;
    }
    return post_body(self, body, report, ret_status);
}

/* ---- one delivery ---------------------------------------------------------------------------- */

/* Progress of a delivery. */
struct progress {
    size_t at;  /* the first record that is not settled */
    size_t end; /* end of the unsettled records; a record that was sent out of order ends them */
    size_t all;
    size_t delivered;
    size_t rejected;
    int status; /* of the last reply, 0: none */
};

static void go_on_at(struct progress *progress, size_t at)
{
    progress->at = at;
    if (at == progress->end && at < progress->all) {
        progress->at++;
        progress->end = progress->all;
    }
}

static void take(struct out_http *self, struct progress *progress, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        self->statuses[first + i] = RECORD_DELIVERED;
    }
    progress->delivered += count;
    self->bad_in_a_row = 0;
    self->set_up_faults = 0;
}

static void reject_record(struct out_http *self, struct progress *progress)
{
    const char *reason = self->excerpt[0] ? self->excerpt : http_status_words(progress->status);
    const struct output_rejection why = {
        .status = progress->status, .type = span_text("http"), .reason = span_text(reason)};
    rejections_add(&self->notes, progress->at, &why);
    self->statuses[progress->at] = RECORD_REJECTED;
    progress->rejected++;
    go_on_at(progress, progress->at + 1);
}

static void take_back(struct out_http *self, struct progress *progress)
{
    for (size_t i = 0; i < progress->at; i++) {
        self->statuses[i] = RECORD_RETRY;
    }
    rejections_reset(&self->notes);
    progress->at = 0;
    progress->rejected = 0;
}

/* Several single records were refused, and now a request of ${refused} more, with ${verdict}. Send
 * another record alone, at first the last one. False: it is refused, too, and no record of this
 * delivery is rejected. */
static bool ask_another(struct out_http *self, const struct delivery *delivery,
    struct progress *progress, size_t refused, enum http_verdict verdict,
    struct output_report *report)
{
    size_t other = progress->all - 1 - self->set_up_faults % (progress->all - progress->at);
    if (refused > 1 || other != progress->at) {
        verdict = post(self, delivery, other, 1, report, &progress->status);
    }
    if (verdict == HTTP_TAKEN) {
        take(self, progress, other, 1);
        progress->end = other;
        go_on_at(progress, progress->at);
        return true;
    }
    take_back(self, progress);
    self->set_up_faults += verdict != HTTP_LATER;
    report->degraded = report->degraded || verdict != HTTP_LATER;
    if (verdict == HTTP_REFUSED || report->error.code == ERR_NONE) {
        const char *words = verdict == HTTP_REFUSED ? one_by_one
                                                    : http_status_words(progress->status);
        say_status(self, progress->status, words, &report->error);
    }
    return false;
}

/* Send the next piece. False: stop sending this delivery. */
static bool step(struct out_http *self, const struct delivery *delivery, struct progress *progress,
    struct output_report *report)
{
    struct delivery stretch = *delivery;
    stretch.record_count = progress->end;
    size_t first = progress->at;
    size_t count = http_window_fit(&self->window, &stretch, first);
    uint32_t start = first ? delivery->record_ends[first - 1] : 0;
    uint32_t bytes = delivery->record_ends[first + count - 1] - start;
    enum http_verdict verdict = post(self, delivery, first, count, report, &progress->status);
    if (verdict == HTTP_TAKEN) {
        http_window_taken(&self->window, bytes);
        take(self, progress, first, count);
        go_on_at(progress, first + count);
        return true;
    }
    if (report->error.code == ERR_NONE) {
        say_status(self, progress->status, http_status_words(progress->status), &report->error);
    }
    report->degraded = report->degraded || verdict == HTTP_MEND;
    if (verdict != HTTP_TOO_BIG && verdict != HTTP_REFUSED) {
        return false;
    }
    bool refused = verdict == HTTP_REFUSED;
    bool smaller = refused ? http_window_refused(&self->window, count)
                           : http_window_too_big(&self->window, count, bytes);
    /* An accepted record of this delivery shows that the set-up is right. */
    if ((refused || !smaller) && self->bad_in_a_row >= BAD_IN_A_ROW && progress->delivered == 0) {
        return ask_another(self, delivery, progress, count, verdict, report);
    }
    if (!smaller) {
        self->bad_in_a_row++;
        reject_record(self, progress);
    }
    return true;
}

static enum output_verdict verdict_of(
    const struct out_http *self, const struct progress *progress, struct output_report *report)
{
    if (progress->delivered == progress->all) {
        report->error = (struct error){0};
        report->wait_ms = 0;
        return OUTPUT_DELIVERED;
    }
    rejections_tell(&self->notes, self->statuses, report);
    if (progress->delivered + progress->rejected == 0) {
        return OUTPUT_RETRY;
    }
    if (progress->rejected == progress->all) {
        return OUTPUT_REJECTED;
    }
    memcpy(report->records, self->statuses, progress->all * sizeof(*report->records));
    return OUTPUT_MIXED;
}

/* Begin ${delivery}: no record is settled yet. */
static bool begin(struct out_http *self, const struct delivery *delivery)
{
    size_t count = delivery->record_count;
    if (count > self->capacity) {
        enum record_status *statuses = realloc(self->statuses, count * sizeof(*statuses));
        if (!statuses) {
            return false;
        }
        self->statuses = statuses;
        self->capacity = count;
    }
    for (size_t i = 0; i < count; i++) {
        self->statuses[i] = RECORD_RETRY;
    }
    rejections_reset(&self->notes);
    http_window_start(&self->window);
    return true;
}

static enum output_verdict http_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_http *self = self_;
    struct progress progress = {.end = delivery->record_count, .all = delivery->record_count};
    struct error told = {0};
    if (!begin(self, delivery)) {
        error_set(&report->error, ERR_MEMORY, "out of memory");
        return OUTPUT_RETRY;
    }
    for (int i = 0; progress.at < progress.all; i++) {
        bool over = i == MAX_REQUESTS || (i && self->stopping && self->stopping(self->host));
        if (over || !step(self, delivery, &progress, report)) {
            break;
        }
        told = report->error.code ? report->error : told;
    }
    if (!report->error.code) {
        report->error = told; /* from an earlier piece */
    }
    return verdict_of(self, &progress, report);
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
