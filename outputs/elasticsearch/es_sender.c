/*
 * A delivery is sent in as few requests as the destination accepts (es_request.c). If the index has
 * types for payload fields, records refused by their items are sent again with payloads that are
 * not indexed (es_unindexed.h), so that a definition missing when the index was made loses no
 * event.
 *
 * Results stay in own arrays until the end, since the host's are only read with OUTPUT_MIXED, and a
 * reply counts only when it is complete.
 */
#include "outputs/elasticsearch/es_sender.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "outputs/elasticsearch/es_sender_own.h"

enum { TEXTS_MAX_BYTES = 1 << 20 };

/* ---- make and destroy ------------------------------------------------------------------------ */

static bool make(struct es_sender *self, const struct es_sender_options *options,
    const struct output_env *env, struct error *err)
{
    const struct es_exchange_options exchange = {.hosts = options->hosts, .http = options->http};
    struct span format = span_text(self->format ? self->format : "");
    struct span name = span_text(env->name ? env->name : "NAME");
    if (!es_bulk_options_copy(&self->options, &self->texts) ||
        !arena_copy(&self->texts, format, &format) || !arena_copy(&self->texts, name, &name)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    self->name = (const char *)name.data;
    self->format = (const char *)format.data;
    self->exchange = es_exchange_create(&exchange, env, err);
    return self->exchange != NULL;
}

struct es_sender *es_sender_create(
    const struct es_sender_options *options, const struct output_env *env, struct error *err)
{
    struct es_sender *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    self->options = options->bulk;
    self->typed = options->typed;
    es_unindexed_init(&self->unindexed, options->format && strcmp(options->format, "ecs") == 0);
    self->warn = env->warn;
    self->host = env->host;
    self->format = options->format;
    arena_init(&self->texts, TEXTS_MAX_BYTES);
    es_bulk_init(&self->bulk);
    rejections_init(&self->notes);
    if (!make(self, options, env, err)) {
        es_sender_destroy(self);
        return NULL;
    }
    return self;
}

void es_sender_destroy(struct es_sender *sender)
{
    if (sender) {
        es_exchange_destroy(sender->exchange);
        es_bulk_fini(&sender->bulk);
        rejections_fini(&sender->notes);
        arena_fini(&sender->texts);
        es_unindexed_fini(&sender->unindexed);
        es_hold_fini(&sender->hold);
        free(sender->statuses);
        free(sender->verdicts);
        free(sender->routes);
        free(sender);
    }
}

/* ---- payloads that do not fit ---------------------------------------------------------------- */

static void warn_of_misfits(struct es_sender *self)
{
    char text[1024];
    struct error why = self->trouble.error;
    bool is_known = self->trouble.of == ES_REFUSED;
    es_exchange_hide(self->exchange, why.text);
    snprintf(text, sizeof(text),
        "payloads of events do not fit the types of the index: they are stored in "
        "%s" ES_UNINDEXED_SUFFIX ", and are not searchable%s%s. run: etwship setup %s",
        self->unindexed.is_ecs ? "winlog.event_data" : "data", is_known ? ": " : "",
        is_known ? why.text : "", self->name);
    self->warn(self->host, text);
}

/* Send refused records again, with payloads that are not indexed. */
static void send_unindexed(struct es_sender *self)
{
    struct es_outcome outcome;
    size_t sent = es_unindexed_send(&self->unindexed, self->exchange, &self->bulk,
        http_window_limit(&self->window), self->statuses, &outcome);
    struct error *err = outcome.verdict == ES_READ ? NULL
                                                   : es_request_trouble(self, 1, outcome.verdict);
    if (err) {
        *err = outcome.error;
    }
    self->wait_ms = outcome.wait_ms > self->wait_ms ? outcome.wait_ms : self->wait_ms;
    if (sent && self->warn) {
        warn_of_misfits(self);
    }
}

/* ---- deliveries ------------------------------------------------------------------------------ */

static bool grow_routes(struct es_sender *self, size_t count)
{
    return grow_to(&self->routes, count, &self->route_capacity, sizeof(*self->routes));
}

static bool grow(struct es_sender *self, size_t count)
{
    size_t capacity = self->capacity; /* of both arrays */
    return grow_to(&self->statuses, count, &capacity, sizeof(*self->statuses)) &&
           grow_to(&self->verdicts, count, &self->capacity, sizeof(*self->verdicts));
}

static void begin(struct es_sender *self, const struct delivery *delivery)
{
    self->delivery = delivery;
    self->uncertain_end = 0;
    self->unexpected_duplicates = 0;
    self->wait_ms = 0;
    self->trouble = (struct trouble){.count = 0};
    rejections_reset(&self->notes);
    for (size_t i = 0; i < delivery->record_count; i++) {
        self->statuses[i] = RECORD_RETRY;
    }
}

static void count_statuses(const struct es_sender *self, size_t counts[])
{
    for (size_t i = 0; i < self->delivery->record_count; i++) {
        counts[self->statuses[i]]++;
    }
}

static enum output_verdict verdict_of(const struct es_sender *self, size_t *ret_left)
{
    size_t counts[RECORD_HELD + 1] = {0};
    size_t all = self->delivery->record_count;
    count_statuses(self, counts);
    *ret_left = counts[RECORD_RETRY];
    return counts[RECORD_DELIVERED] == all  ? OUTPUT_DELIVERED
           : counts[RECORD_REJECTED] == all ? OUTPUT_REJECTED
           : counts[RECORD_RETRY] == all    ? OUTPUT_RETRY
                                            : OUTPUT_MIXED;
}

static enum output_verdict finish(struct es_sender *self, struct output_report *report)
{
    size_t left;
    es_suspect_judge(self, report);
    enum output_verdict verdict = verdict_of(self, &left);
    report->unexpected_duplicates = self->unexpected_duplicates;
    if (verdict == OUTPUT_DELIVERED) {
        return verdict;
    }
    if (left) {
        report->wait_ms = self->wait_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)self->wait_ms;
        /* After a blocked probe the rest stays held. */
        bool held = self->delivery->suspect && self->trouble.of == ES_BLOCKED;
        report->degraded = self->trouble.count && (self->trouble.of == ES_RETRY_SLOWLY || held);
    }
    report->error = self->trouble.error;
    es_exchange_hide(self->exchange, report->error.text);
    if (self->trouble.count == 0) {
        error_set(&report->error, ERR_STOPPED, "stopped before everything was sent");
    }
    if (verdict == OUTPUT_MIXED) {
        memcpy(report->records, self->statuses,
            self->delivery->record_count * sizeof(*report->records));
    }
    rejections_tell(&self->notes, self->statuses, report);
    return verdict;
}

enum output_verdict es_sender_send(
    struct es_sender *sender, const struct delivery *delivery, struct output_report *report)
{
    if (delivery->record_count == 0) {
        return OUTPUT_DELIVERED;
    }
    if (!grow(sender, delivery->record_count) ||
        !grow_routes(sender, delivery->routes ? delivery->route_count : 0) ||
        !es_unindexed_begin(&sender->unindexed, delivery->record_count)) {
        error_set(&report->error, ERR_MEMORY, "out of memory");
        return OUTPUT_RETRY;
    }
    begin(sender, delivery);
    es_suspect_begin(sender);
    if (!es_bulk_build(&sender->bulk, &sender->options, sender->format, delivery, &report->error)) {
        report->degraded = report->error.code == ERR_CONFIG;
        return OUTPUT_RETRY;
    }
    size_t asked = delivery->record_count; /* what was probed; none */
    bool goes_on = !es_suspect_is(sender) || es_suspect_probe(sender, &asked);
    if (goes_on && es_request_send(sender, 0, asked)) {
        es_request_send(sender, asked + 1, delivery->record_count);
    }
    if (sender->typed) {
        send_unindexed(sender);
    }
    return finish(sender, report);
}
