/*
 * One delivery, one verdict.
 *
 * Brokers refuse a batch of messages as a whole: MSG_SIZE_TOO_LARGE does not say which message is too large. So after
 * such a refusal the output sends each message alone; then the answer is about that message. Later batches have a
 * quarter of the size.
 */
#include "outputs/kafka/out_kafka.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ROUNDS_MAX = 64,
    LEAST_BATCH_BYTES = 4096,
    REASON_BYTES = 200,
};

/* How a round went. */
enum round {
    ROUND_DONE,   /* every message has its answer */
    ROUND_FAILED, /* the report says why */
};

static bool grow(struct out_kafka *self, size_t count)
{
    if (count > self->capacity) {
        struct kafka_result *results = realloc(self->results, count * sizeof(*results));
        self->results = results ? results : self->results;
        bool *skip = realloc(self->skip, count * sizeof(*skip));
        self->skip = skip ? skip : self->skip;
        bool *refused = realloc(self->refused, count * sizeof(*refused));
        self->refused = refused ? refused : self->refused;
        bool *blocked = realloc(self->blocked, count * sizeof(*blocked));
        self->blocked = blocked ? blocked : self->blocked;
        if (!results || !skip || !refused || !blocked) {
            return false;
        }
        self->capacity = count;
    }
    return true;
}

static size_t size_of(const struct delivery *delivery, size_t index)
{
    return delivery->record_ends[index] - (index ? delivery->record_ends[index - 1] : 0);
}

/* Hand over the records that are not skipped. False: out of memory, so the delivery must come again. */
static bool put_all(struct out_kafka *self, const struct delivery *delivery, struct error *err)
{
    if (!kafka_send_begin(&self->send, delivery)) {
        return error_set(err, ERR_MEMORY, "out of memory for messages");
    }
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (!self->skip[i]) {
            kafka_send_put(&self->send, &self->link, delivery, i, &self->results[i]);
        }
    }
    return true;
}

static enum kafka_class class_of(const struct kafka_result *result)
{
    return result->known && result->code ? kafka_words_class((rd_kafka_resp_err_t)result->code)
                                         : KAFKA_LATER;
}

static bool arrived(const struct kafka_result *result)
{
    return result->known && !result->code;
}

static size_t count_too_big(const struct out_kafka *self, const struct delivery *delivery)
{
    size_t count = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        count += !self->skip[i] && class_of(&self->results[i]) == KAFKA_TOO_BIG;
    }
    return count;
}

static void refuse(struct out_kafka *self, const struct delivery *delivery, size_t index,
    struct output_report *report)
{
    char reason[REASON_BYTES];
    self->skip[index] = true;
    self->refused[index] = true;
    const char *topic = kafka_send_topic(&self->send, delivery, index);
    snprintf(reason, sizeof(reason),
        "the topic takes no event of %zu bytes. raise its max.message.bytes",
        size_of(delivery, index));
    error_set(&report->error, ERR_LIMIT, "topic %s: an event of %zu bytes is too large for it",
        topic, size_of(delivery, index));
    if (report->reject) {
        const struct output_rejection why = {.type = span_text("MSG_SIZE_TOO_LARGE"),
            .reason = span_text(reason),
            .index = span_text(topic)};
        report->reject(report->host, index, &why);
    }
}

/* Each message went alone. Refuse those that were too big. Without compression and with one topic for all, refuse every
 * other message of at least that size, too: the topic would not take it either. */
static void refuse_too_big(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (!self->skip[i] && class_of(&self->results[i]) == KAFKA_TOO_BIG) {
            size_t size = kafka_send_size(&self->send, delivery, i);
            least = size < least ? size : least;
            refuse(self, delivery, i, report);
        }
    }
    for (size_t i = 0; self->plain && self->one_topic && i < delivery->record_count; i++) {
        if (!self->skip[i] && !arrived(&self->results[i]) &&
            kafka_send_size(&self->send, delivery, i) >= least) {
            refuse(self, delivery, i, report);
        }
    }
}

/* Where events name their topics, one that takes nothing is no reason to keep others of the delivery waiting. How many
 * records are blocked now. */
static size_t block(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    size_t count = 0;
    for (size_t i = 0; !self->one_topic && delivery->routes && i < delivery->record_count; i++) {
        const struct kafka_result *result = &self->results[i];
        rd_kafka_resp_err_t code = (rd_kafka_resp_err_t)result->code;
        if (self->skip[i] || !result->known || !kafka_words_is_of_topic(code)) {
            continue;
        }
        const char *topic = kafka_send_topic(&self->send, delivery, i);
        kafka_link_tell_topic(&self->link, code, topic, &report->error);
        if (report->reject) {
            const struct output_rejection why = {.type = span_text(rd_kafka_err2name(code)),
                .reason = span_text(report->error.text),
                .index = span_text(topic)};
            report->reject(report->host, i, &why);
        }
        self->skip[i] = true;
        self->blocked[i] = true;
        self->stale = true;
        count++;
    }
    return count;
}

/* Open a producer that sends each message alone. Later producers send a quarter of what went together so far. */
static bool shrink(struct out_kafka *self, struct output_report *report)
{
    rd_kafka_resp_err_t code;
    self->batch_bytes /= 4;
    self->batch_bytes = self->batch_bytes < LEAST_BATCH_BYTES ? 0 : self->batch_bytes;
    return out_kafka_open(self, 0, &code, &report->error);
}

/* Report why messages failed: by the first one that fails until somebody mends the set-up, else by the first. */
static void tell_failure(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    size_t worst = delivery->record_count;
    for (size_t i = 0; i < delivery->record_count; i++) {
        bool failed = !self->skip[i] && !arrived(&self->results[i]);
        bool mends = failed && class_of(&self->results[i]) >= KAFKA_MEND;
        if (failed && (worst == delivery->record_count || mends)) {
            worst = i;
        }
        if (mends) {
            report->degraded = true;
            self->stale = true;
            break;
        }
    }
    if (worst < delivery->record_count && kafka_words_class(self->link.trouble) >= KAFKA_MEND) {
        report->degraded = true; /* this trouble made the messages fail */
        self->stale = true;
    }
    if (worst < delivery->record_count) {
        const struct kafka_result *result = &self->results[worst];
        kafka_link_tell_topic(&self->link,
            result->known ? (rd_kafka_resp_err_t)result->code : RD_KAFKA_RESP_ERR__PURGE_QUEUE,
            kafka_send_topic(&self->send, delivery, worst), &report->error);
    }
}

/* ---- at least once ------------------------------------------------------------------------------- */

static void take_delivered(struct out_kafka *self, const struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->record_count; i++) {
        self->skip[i] = self->skip[i] || arrived(&self->results[i]);
    }
}

static bool send_plain(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    for (int round = 0; round < 2; round++) {
        bool single = self->link_bytes == 0;
        if (!put_all(self, delivery, &report->error)) {
            return false;
        }
        kafka_link_wait(&self->link);
        take_delivered(self, delivery);
        if (!count_too_big(self, delivery)) {
            break;
        }
        if (single) {
            refuse_too_big(self, delivery, report);
            break;
        }
        for (size_t i = 0; i < delivery->record_count; i++) {
            report->maybe_duplicates += !self->skip[i] && self->results[i].unsure;
        }
        if (!shrink(self, report)) {
            self->link.broken = true;
            return false;
        }
    }
    return true;
}

/* ---- exactly once -------------------------------------------------------------------------------- */

static bool any_to_send(const struct out_kafka *self, const struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (!self->skip[i]) {
            return true;
        }
    }
    return false;
}

static bool all_arrived(const struct out_kafka *self, const struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (!self->skip[i] && !arrived(&self->results[i])) {
            return false;
        }
    }
    return true;
}

/* A transaction fails as a whole: no message of this round has arrived. */
static void take_back(struct out_kafka *self, const struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (!self->skip[i] && arrived(&self->results[i])) {
            self->results[i] = (struct kafka_result){.known = false};
        }
        self->results[i].unsure = false;
    }
}

/* Deliver in one transaction. False with the report set; the results say which messages were too big. */
static bool transact(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    rd_kafka_resp_err_t code;
    if (!kafka_link_begin(&self->link, &code, &report->error)) {
        report->degraded = kafka_words_class(code) >= KAFKA_MEND;
        return false;
    }
    bool put = put_all(self, delivery, &report->error) &&
               (kafka_ring_put(&self->ring, &self->link, delivery, self->skip) ||
                   error_set(&report->error, ERR_MEMORY, "out of memory for positions"));
    kafka_link_wait(&self->link);
    if (!self->link.rk) {
        tell_failure(self, delivery, report);
        return false;
    }
    code = put ? kafka_ring_code(&self->ring) : RD_KAFKA_RESP_ERR_NO_ERROR;
    if (!put || code || !all_arrived(self, delivery)) {
        tell_failure(self, delivery, report);
        if (put && code && kafka_words_class(code) >= KAFKA_MEND) {
            kafka_link_tell_topic(&self->link, code, self->ring.topic, &report->error);
            report->degraded = true;
        }
        kafka_link_abort(&self->link);
        return false;
    }
    if (!kafka_link_commit(&self->link, &code, &report->error)) {
        report->degraded = kafka_words_class(code) >= KAFKA_MEND;
        return false;
    }
    kafka_ring_turn(&self->ring);
    return true;
}

static void skip_delivered(struct out_kafka *self, const struct delivery *delivery)
{
    if (!delivery->repeated && !delivery->refused_before) {
        kafka_ring_forget(&self->ring);
    }
    for (size_t i = 0; i < delivery->record_count; i++) {
        self->skip[i] = kafka_ring_has(&self->ring, delivery, i);
    }
}

/* A round that fails for the size of a record, or for a topic, is tried again without that, until a transaction
 * commits. */
static bool send_once(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    skip_delivered(self, delivery);
    for (int round = 0; any_to_send(self, delivery); round++) {
        if (kafka_ring_is_due(&self->ring)) {
            if (!self->save(self->host, &report->error)) {
                return false;
            }
            kafka_ring_stored(&self->ring);
        }
        if (transact(self, delivery, report)) {
            memset(self->skip, true, delivery->record_count * sizeof(*self->skip));
            return true;
        }
        bool single = self->link_bytes == 0;
        size_t too_big = count_too_big(self, delivery);
        size_t blocked = block(self, delivery, report);
        if (too_big && single) {
            refuse_too_big(self, delivery, report);
        }
        take_back(self, delivery);
        if ((!too_big && !blocked) || self->link.broken || !self->link.rk || round == ROUNDS_MAX) {
            return false;
        }
        report->degraded = false;
        if (too_big && !single && !shrink(self, report)) {
            self->link.broken = true;
            return false;
        }
    }
    return true;
}

/* ---- the verdict --------------------------------------------------------------------------------- */

static enum output_verdict judge(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    size_t delivered = 0, refused = 0, blocked = 0, left = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        delivered += self->skip[i] && !self->refused[i] && !self->blocked[i];
        blocked += self->blocked[i];
        refused += self->refused[i];
        left += !self->skip[i];
        report->maybe_duplicates += !self->skip[i] && self->results[i].unsure;
    }
    if (left && !report->error.code) {
        error_set(&report->error, ERR_IO, "%s: no broker has answered for all events in time",
            self->link.name);
    }
    if (!left && !refused && !blocked) {
        report->error = (struct error){.code = ERR_NONE};
        report->degraded = false;
        return OUTPUT_DELIVERED;
    }
    if (delivered || refused || blocked) {
        for (size_t i = 0; i < delivery->record_count; i++) {
            report->records[i] = self->refused[i]   ? RECORD_REJECTED
                                 : self->blocked[i] ? RECORD_BLOCKED
                                 : self->skip[i]    ? RECORD_DELIVERED
                                                    : RECORD_RETRY;
        }
        return OUTPUT_MIXED;
    }
    return OUTPUT_RETRY;
}

enum output_verdict kafka_batch_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_kafka *self = self_;
    rd_kafka_resp_err_t code;
    size_t count = delivery->record_count;
    if (!count) {
        return OUTPUT_DELIVERED;
    }
    if (!grow(self, count)) {
        error_set(&report->error, ERR_MEMORY, "out of memory for messages");
        return OUTPUT_RETRY;
    }
    memset(self->skip, 0, count * sizeof(*self->skip));
    memset(self->refused, 0, count * sizeof(*self->refused));
    memset(self->blocked, 0, count * sizeof(*self->blocked));
    memset(self->results, 0, count * sizeof(*self->results));
    self->link.trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
    self->link.throttled_ms = 0;
    bool fits = self->link.rk && !self->link.broken && !self->stale &&
                self->link_bytes == self->batch_bytes;
    if (!fits && !out_kafka_connect(self, &code, &report->error)) {
        report->degraded = kafka_words_class(code) >= KAFKA_MEND;
        return OUTPUT_RETRY;
    }
    bool good = self->once ? send_once(self, delivery, report) : send_plain(self, delivery, report);
    if (good && !self->once) {
        block(self, delivery, report);
        tell_failure(self, delivery, report);
    }
    return judge(self, delivery, report);
}
