#include "outputs/elasticsearch/es_exchange.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/compress.h"
#include "outputs/elasticsearch/es_hosts.h"
#include "outputs/http/http_status.h"
#include "platform/plat_clock.h"
#include "platform/plat_system.h"

enum {
    /* A recent server answers with some 130 bytes per record, an older one, which does not trim its
     * reply, with a few hundred, and more for a refusal, which may quote the whole value, escaped.
     * None of it is stored, so a large limit costs nothing. */
    REPLY_BYTES = 64 * 1024,
    REPLY_BYTES_PER_RECORD = 4096,
    REPLY_TIMES_BODY = 8,

    PACKED_MAX_BYTES = 1 << 30,
    LOCATION_BYTES = 200,
};

static const char path[] = "_bulk?filter_path=errors,items.*.status,items.*._index,"
                           "items.*.error.type,items.*.error.reason";

struct es_exchange {
    bool (*stopping)(void *host);
    void (*note)(void *host, const char *text);
    void *host;
    struct http_client *client;
    struct compress *compress; /* NULL: bodies go as they are */
    struct buf packed;
    struct es_hosts hosts;
    struct es_reply reply;
    const struct es_stretch *stretch; /* the current request */
    char reason[ES_REPLY_MAX_REASON + 1];
    char location[LOCATION_BYTES]; /* target of a redirect; empty: none */
};

/* ---- make and destroy ------------------------------------------------------------------------ */

static bool make(
    struct es_exchange *self, const struct es_exchange_options *options, struct error *err)
{
    const struct http_client_setup setup = {.options = options->http,
        .stopping = self->stopping,
        .note = self->note,
        .host = self->host};
    uint64_t start = 0;
    plat_random(&start, sizeof(start), NULL);
    if (!compress_open(options->http->compression == HTTP_PLAIN ? HTTP_PLAIN : HTTP_GZIP,
            &self->compress, err)) {
        return false;
    }
    self->client = http_client_create(&setup, err);
    return self->client && es_hosts_init(&self->hosts, options->hosts, start, err);
}

struct es_exchange *es_exchange_create(
    const struct es_exchange_options *options, const struct output_env *env, struct error *err)
{
    struct es_exchange *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    self->stopping = env->stopping;
    self->note = env->note;
    self->host = env->host;
    buf_init(&self->packed, PACKED_MAX_BYTES);
    if (!make(self, options, err)) {
        es_exchange_destroy(self);
        return NULL;
    }
    return self;
}

void es_exchange_destroy(struct es_exchange *exchange)
{
    if (exchange) {
        http_client_destroy(exchange->client);
        compress_destroy(exchange->compress);
        buf_fini(&exchange->packed);
        es_hosts_fini(&exchange->hosts);
        free(exchange);
    }
}

bool es_exchange_must_stop(const struct es_exchange *exchange)
{
    return exchange->stopping && exchange->stopping(exchange->host);
}

void es_exchange_hide(const struct es_exchange *exchange, char *text)
{
    http_client_hide(exchange->client, text);
}

/* ---- one request ----------------------------------------------------------------------------- */

/* A server may quote the request, and its text goes into the log and dead letters: hide secrets. */
static struct es_answer without_secrets(struct es_exchange *self, struct es_answer answer)
{
    size_t size = answer.reason.size < ES_REPLY_MAX_REASON ? answer.reason.size
                                                           : ES_REPLY_MAX_REASON;
    memcpy(self->reason, answer.reason.data ? answer.reason.data : (const uint8_t *)"", size);
    self->reason[size] = '\0';
    http_client_hide(self->client, self->reason);
    answer.reason = span_text(self->reason);
    return answer;
}

static bool take_item(void *self_, size_t place, const struct es_answer *item)
{
    struct es_exchange *self = self_;
    const struct es_stretch *stretch = self->stretch;
    struct es_answer answer = *item;
    if (answer.status >= 300 && answer.status != 409) { /* the reason of a duplicate is useless */
        answer = without_secrets(self, answer);
    }
    return stretch->item(stretch->self, place, &answer);
}

/* The query may be a key. */
static bool note_location(void *self_, struct span name, struct span value)
{
    struct es_exchange *self = self_;
    if (span_equal_nocase(name, span_text("Location"))) {
        struct span shown = span_first(value, LOCATION_BYTES - 1);
        memcpy(self->location, shown.data, shown.size);
        self->location[shown.size] = '\0';
        self->location[strcspn(self->location, "?#")] = '\0';
    }
    return true;
}

/* Read the whole reply, even a useless one, to keep the connection. */
static bool feed(void *self_, struct span piece)
{
    struct es_exchange *self = self_;
    es_reply_feed(&self->reply, piece);
    return true;
}

static bool post(
    struct es_exchange *self, const char *url, struct http_reply *reply, struct error *err)
{
    static const struct http_header headers[] = {
        {"Content-Type", "application/x-ndjson"}, {"Content-Encoding", "gzip"}};
    const struct es_stretch *stretch = self->stretch;
    struct span packed;
    if (self->compress) {
        if (!compress_parts(
                self->compress, stretch->parts, stretch->part_count, &self->packed, err)) {
            *reply = (struct http_reply){.failure = HTTP_IMPOSSIBLE};
            return false;
        }
        packed = buf_span(&self->packed);
    }
    const struct http_request request = {.method = "POST",
        .url = url,
        .path = path,
        .headers = headers,
        .header_count = self->compress ? 2 : 1,
        .parts = self->compress ? &packed : stretch->parts,
        .part_count = self->compress ? 1 : stretch->part_count,
        .max_reply_bytes = REPLY_BYTES + (uint64_t)stretch->count * REPLY_BYTES_PER_RECORD +
                           (uint64_t)REPLY_TIMES_BODY * stretch->size,
        .on_header = note_location,
        .on_body = feed,
        .self = self};
    self->location[0] = '\0';
    stretch->start(stretch->self);
    es_reply_init(&self->reply, stretch->count, take_item, self);
    return http_client_send(self->client, &request, reply, err);
}

/* True if the server may have executed the failed request. Servers parse a body while it arrives,
 * so this includes a partial one. */
static bool may_be_obeyed(const struct http_reply *reply)
{
    if (reply->failure == HTTP_REPLIED) {
        return reply->status < 300 || reply->status >= 500 || reply->status == 408;
    }
    return reply->failure != HTTP_IMPOSSIBLE && !http_failure_layer(reply->failure);
}

static bool answers_items(const struct http_reply *reply)
{
    return es_verdict_request(&(struct es_answer){.status = reply->status}) == ES_READ;
}

/* A reply without a result per record; ${why}: the fault, if it should have one. */
static void judge_reply(struct es_exchange *self, const struct http_reply *reply,
    const struct error *why, struct es_outcome *ret)
{
    struct es_answer answer = without_secrets(self, es_reply_refusal(&self->reply));
    answer.status = reply->status;
    if (reply->status / 100 == 3 && self->location[0]) {
        snprintf(self->reason, sizeof(self->reason), "it points to %s", self->location);
        answer.reason = span_text(self->reason);
    }
    ret->verdict = es_verdict_request(&answer);
    ret->refusal = answer;
    if (ret->verdict == ES_READ) {
        ret->verdict = ES_RETRY;
        ret->uncertain = true;
        error_set(&ret->error, ERR_FORMAT, "%s: %s", ret->url, why->text);
    } else {
        es_reply_say(&ret->error, ret->url, &answer, es_verdict_request_words(&answer));
    }
    if (reply->status == 429) { /* overloaded, or the request is too large (indexing pressure) */
        ret->too_large_hints++;
    }
}

/* Send it to node ${index}. False: no usable answer; try another node. */
static bool ask_host(struct es_exchange *self, size_t index, struct es_outcome *ret)
{
    struct http_reply reply;
    struct error err = {0};
    ret->url = self->hosts.items[index].url;
    ret->verdict = ES_READ;
    bool replied = post(self, ret->url, &reply, &err);
    if (replied && answers_items(&reply) && es_reply_end(&self->reply, &err)) {
        ret->wait_ms = reply.retry_after_ms;
        es_hosts_good(&self->hosts, index);
        return true;
    }
    ret->uncertain = ret->uncertain || may_be_obeyed(&reply);
    if (reply.failure == HTTP_REPLIED) {
        judge_reply(self, &reply, &err, ret);
    } else {
        ret->verdict = http_failure_lasts(reply.failure) ? ES_RETRY_SLOWLY : ES_RETRY;
        error_set(&ret->error, ERR_IO, "%s", err.text);
        ret->too_large_hints += reply.failure == HTTP_LOST || reply.failure == HTTP_TIMED_OUT;
    }
    if (ret->verdict == ES_SPLIT || ret->verdict == ES_BISECT) {
        es_hosts_good(&self->hosts, index);
        return true;
    }
    if (reply.failure == HTTP_STOPPED || reply.failure == HTTP_IMPOSSIBLE) {
        return true;
    }
    http_client_hide(self->client, ret->error.text);
    es_hosts_failed(&self->hosts, index, plat_monotonic_ms(),
        &(struct es_host_failure){.retry_after_ms = reply.retry_after_ms,
            .lasts = ret->verdict == ES_RETRY_SLOWLY,
            .reason = ret->error.text});
    return false;
}

void es_exchange_ask(
    struct es_exchange *exchange, const struct es_stretch *stretch, struct es_outcome *ret)
{
    struct es_hosts *hosts = &exchange->hosts;
    exchange->stretch = stretch;
    *ret = (struct es_outcome){.verdict = ES_RETRY};
    error_set(&ret->error, ERR_STOPPED, "stopped before everything was sent");
    for (size_t tries = 0; tries < hosts->count && !es_exchange_must_stop(exchange); tries++) {
        size_t index = tries ? es_hosts_pick(hosts, plat_monotonic_ms())
                             : es_hosts_pick_any(hosts, plat_monotonic_ms());
        if (index == ES_HOSTS_NONE) {
            break;
        }
        if (ask_host(exchange, index, ret)) {
            return;
        }
    }
    ret->wait_ms = es_hosts_asked_ms(hosts, plat_monotonic_ms());
    if (hosts->count > 1) {
        ret->verdict = es_hosts_all_bad(hosts) ? ES_RETRY_SLOWLY : ES_RETRY;
        es_hosts_say(hosts, &ret->error);
    }
}
