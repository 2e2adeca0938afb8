/*
 * Sends one delivery and returns one verdict.
 *
 * The delivery is sent in groups (struct kafka_groups). At least once: what a group has delivered
 * stays delivered, and what the brokers refused of it is sent again in smaller groups, before any
 * later record.
 *
 * Exactly once: a refusal fails the whole transaction. The next transaction is a trial from the
 * refused group on: it only finds out which groups the brokers accept, and is then aborted. So no
 * group is sent again for each refusal. When all groups are known, the last transaction contains
 * all of them.
 */
#include "outputs/kafka/out_kafka.h"

#include <stdio.h>

#include "base/grow.h"

enum {
    ROUNDS_MAX = 4096, /* safety limit: each round finds out something */
    PURGED_MAX = 8,
    FRAME_BYTES = 256, /* allowance for the key and the headers of a message */
    GROWTH_SHARE = 16,
    THROTTLED_MS = 1000,
    REASON_BYTES = 200,
};

static bool grow(struct out_kafka *self, size_t count)
{
    size_t capacity = self->capacity; /* of both arrays */
    return grow_to(&self->results, count, &capacity, sizeof(*self->results)) &&
           grow_to(&self->marks, count, &self->capacity, sizeof(*self->marks));
}

static size_t size_of(const struct delivery *delivery, size_t index)
{
    return delivery->record_ends[index] - (index ? delivery->record_ends[index - 1] : 0);
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

static void refuse(struct out_kafka *self, const struct delivery *delivery, size_t index,
    struct output_report *report)
{
    char reason[REASON_BYTES];
    self->marks[index].skip = true;
    self->marks[index].refused = true;
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

/* ---- groups ---------------------------------------------------------------------------------- */

static size_t counted_bytes(const struct delivery *delivery, size_t index)
{
    return size_of(delivery, index) + FRAME_BYTES;
}

static void begin_groups(struct kafka_groups *groups)
{
    groups->now = groups->usual;
    groups->alone = false;
    groups->smaller = false;
    groups->explained = false;
}

/* End of the group that begins at record ${from}. ${again}: use the groups that the brokers
 * accepted before. */
static size_t end_group(
    struct out_kafka *self, const struct delivery *delivery, size_t from, bool again)
{
    struct kafka_groups *groups = &self->groups;
    size_t count = delivery->record_count;
    size_t sum = 0;
    bool fits = delivery->bytes.size + count * FRAME_BYTES <= groups->now;
    groups->alone = false;
    if (!again && groups->suspect == SIZE_MAX && fits) {
        return count;
    }
    for (size_t i = from; i < count; i++) {
        size_t size = counted_bytes(delivery, i);
        bool suspect = size >= groups->suspect;
        if (!again && !self->marks[i].skip) {
            if (sum && (suspect || sum + size > groups->now)) {
                return i;
            }
            sum += size;
            groups->alone = suspect;
        }
        if (again ? self->marks[i].last : groups->alone) {
            return i + 1;
        }
    }
    return count;
}

/* The brokers have accepted the group up to record ${end}, exclusive. */
static void pass_group(struct out_kafka *self, const struct delivery *delivery, size_t end)
{
    struct kafka_groups *groups = &self->groups;
    self->marks[end - 1].last = true;
    if (groups->alone) {
        groups->suspect = counted_bytes(delivery, end - 1) + 1;
    }
    if (groups->explained) {
        groups->now = groups->now > groups->usual / 2 ? groups->usual : groups->now * 2;
    }
}

/* The delivery is finished, and nothing is left to send. */
static void end_groups(struct kafka_groups *groups)
{
    if (groups->smaller && !groups->explained) {
        groups->usual = groups->now;
    } else if (!groups->smaller && groups->usual < groups->most) {
        size_t more = groups->usual / GROWTH_SHARE + 1;
        groups->usual = groups->usual > groups->most - more ? groups->most : groups->usual + more;
    }
}

static bool is_too_big(const struct out_kafka *self, size_t index)
{
    return !self->marks[index].skip && class_of(&self->results[index]) == KAFKA_TOO_BIG;
}

/* True if no other message of its partition in the group was too large. */
static bool was_alone(const struct out_kafka *self, size_t from, size_t end, size_t index)
{
    for (size_t i = from; i < end; i++) {
        if (i != index && is_too_big(self, i) &&
            self->results[i].partition == self->results[index].partition) {
            return false;
        }
    }
    return true;
}

/* Refuse the records that were too large alone; if there are none, make the next groups smaller.
 * False: no record of the group was too large. */
static bool take_too_big(struct out_kafka *self, const struct delivery *delivery, size_t from,
    size_t end, struct output_report *report)
{
    struct kafka_groups *groups = &self->groups;
    size_t sum = 0;
    size_t found = 0;
    for (size_t i = from; i < end; i++) {
        if (!is_too_big(self, i)) {
            continue;
        }
        sum += counted_bytes(delivery, i);
        if (was_alone(self, from, end, i)) {
            size_t size = counted_bytes(delivery, i);
            groups->suspect = size < groups->suspect ? size : groups->suspect;
            refuse(self, delivery, i, report);
            found++;
        }
    }
    if (found) {
        groups->explained = true;
    } else if (sum) {
        groups->now = sum / 2;
        groups->explained = false;
    }
    groups->smaller = groups->smaller || sum;
    return sum > 0;
}

/* Hand over the records from ${from} to ${end}, exclusive, that are not skipped. */
static void put_group(
    struct out_kafka *self, const struct delivery *delivery, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        if (!self->marks[i].skip) {
            kafka_send_put(&self->send, &self->link, delivery, i, &self->results[i]);
        }
    }
}

static bool all_arrived(const struct out_kafka *self, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        if (!self->marks[i].skip && !arrived(&self->results[i])) {
            return false;
        }
    }
    return true;
}

/* ---- what failed ----------------------------------------------------------------------------- */

/* If events name their topics, block the records of topics that accept nothing, so that the others
 * need not wait. Returns the number of blocked records. */
static size_t block(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    size_t count = 0;
    for (size_t i = 0; !self->one_topic && delivery->routes && i < delivery->record_count; i++) {
        const struct kafka_result *result = &self->results[i];
        rd_kafka_resp_err_t code = (rd_kafka_resp_err_t)result->code;
        if (self->marks[i].skip || !result->known || !kafka_words_is_of_topic(code)) {
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
        self->marks[i].skip = true;
        self->marks[i].blocked = true;
        self->stale = true;
        count++;
    }
    return count;
}

/* Report why messages failed: the first failure that lasts until the user corrects the set-up,
 * otherwise the first one. */
static void tell_failure(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    size_t worst = delivery->record_count;
    for (size_t i = 0; i < delivery->record_count; i++) {
        bool failed = !self->marks[i].skip && !arrived(&self->results[i]);
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
        report->degraded = true; /* this error made the messages fail */
        self->stale = true;
    }
    if (worst < delivery->record_count) {
        const struct kafka_result *result = &self->results[worst];
        kafka_link_tell_topic(&self->link,
            result->known ? (rd_kafka_resp_err_t)result->code : RD_KAFKA_RESP_ERR__PURGE_QUEUE,
            kafka_send_topic(&self->send, delivery, worst), &report->error);
    }
}

/* ---- at least once --------------------------------------------------------------------------- */

/* Send groups from the first unsettled record on, until all are settled or one fails. */
static bool send_plain(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    size_t count = delivery->record_count;
    size_t from = 0;
    if (!kafka_send_begin(&self->send, delivery)) {
        return error_set(&report->error, ERR_MEMORY, "out of memory for messages");
    }
    while (from < count && self->link.rk && !self->link.broken) {
        size_t end = end_group(self, delivery, from, false);
        put_group(self, delivery, from, end);
        kafka_link_wait(&self->link);
        bool too_big = take_too_big(self, delivery, from, end, report);
        bool others = false;
        for (size_t i = from; i < end; i++) {
            others = others ||
                     (!self->marks[i].skip && !arrived(&self->results[i]) && !is_too_big(self, i));
            self->marks[i].skip = self->marks[i].skip || arrived(&self->results[i]);
        }
        if (others) {
            break;
        }
        if (!too_big) {
            pass_group(self, delivery, end);
            from = end;
        }
    }
    if (from == count) {
        end_groups(&self->groups);
    }
    return true;
}

/* ---- exactly once ---------------------------------------------------------------------------- */

static bool any_to_send(const struct out_kafka *self, const struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (!self->marks[i].skip) {
            return true;
        }
    }
    return false;
}

/* A transaction fails as a whole: none of its messages has arrived. */
static void take_back(struct out_kafka *self, const struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (!self->marks[i].skip && arrived(&self->results[i])) {
            self->results[i] = (struct kafka_result){.known = false};
        }
        self->results[i].unsure = false;
    }
}

/* State of the transactions of a delivery. */
struct attempt {
    size_t from;    /* the groups before this record were accepted in a trial, and are left out */
    size_t end;     /* end of the group that failed and begins at `from`; 0: none failed */
    bool again;     /* all groups were accepted in a trial */
    bool committed; /* the whole delivery is delivered */
};

/* Report why a group failed, and abort the transaction. ${put}: the group included the
 * positions. */
static void fail_group(
    struct out_kafka *self, const struct delivery *delivery, bool put, struct output_report *report)
{
    rd_kafka_resp_err_t code = put ? kafka_ring_code(&self->ring) : RD_KAFKA_RESP_ERR_NO_ERROR;
    tell_failure(self, delivery, report);
    if (code && kafka_words_class(code) >= KAFKA_MEND) {
        kafka_link_tell_topic(&self->link, code, self->ring.topic, &report->error);
        report->degraded = true;
    }
    if (self->link.rk) {
        kafka_link_abort(&self->link);
    }
}

/* Send the groups from attempt->from on. False: one failed, and the report is set. */
static bool send_groups(struct out_kafka *self, const struct delivery *delivery,
    struct attempt *attempt, struct output_report *report)
{
    bool whole = attempt->from == 0;
    while (attempt->from < delivery->record_count) {
        size_t end = end_group(self, delivery, attempt->from, attempt->again);
        bool last = whole && end == delivery->record_count;
        put_group(self, delivery, attempt->from, end);
        bool put = !last || kafka_ring_put(&self->ring, &self->link, delivery, self->marks);
        kafka_link_wait(&self->link);
        bool good = put && (!last || !kafka_ring_code(&self->ring)) &&
                    all_arrived(self, attempt->from, end);
        if (!self->link.rk || !good) {
            attempt->end = end;
            fail_group(self, delivery, last && put, report);
            if (!put) {
                error_set(&report->error, ERR_MEMORY, "out of memory for positions");
            }
            return false;
        }
        pass_group(self, delivery, end);
        attempt->from = end;
    }
    return true;
}

/* Run one transaction. False: it failed, and the report is set. */
static bool transact(struct out_kafka *self, const struct delivery *delivery,
    struct attempt *attempt, struct output_report *report)
{
    rd_kafka_resp_err_t code;
    bool whole = attempt->from == 0;
    attempt->end = 0;
    if (!kafka_send_begin(&self->send, delivery)) {
        return error_set(&report->error, ERR_MEMORY, "out of memory for messages");
    }
    if (!kafka_link_begin(&self->link, &code, &report->error)) {
        report->degraded = kafka_words_class(code) >= KAFKA_MEND;
        return false;
    }
    if (!send_groups(self, delivery, attempt, report)) {
        return false;
    }
    if (!whole) {
        kafka_link_abort(&self->link);
        *attempt = (struct attempt){.again = true};
        return true;
    }
    if (!kafka_link_commit(&self->link, &code, &report->error)) {
        report->degraded = kafka_words_class(code) >= KAFKA_MEND;
        return false;
    }
    kafka_ring_turn(&self->ring);
    attempt->committed = true;
    return true;
}

static void skip_delivered(struct out_kafka *self, const struct delivery *delivery)
{
    if (!delivery->repeated && !delivery->refused_before) {
        kafka_ring_forget(&self->ring);
    }
    for (size_t i = 0; i < delivery->record_count; i++) {
        self->marks[i].skip = kafka_ring_has(&self->ring, delivery, i);
    }
}

/* librdkafka drops the messages in its queue when a transaction is aborted, and sometimes also the
 * first messages of the next one. True if the group failed only because of that. */
static bool was_purged(const struct out_kafka *self, size_t from, size_t end)
{
    bool any = false;
    for (size_t i = from; i < end; i++) {
        const struct kafka_result *result = &self->results[i];
        bool purged = result->known && result->code == RD_KAFKA_RESP_ERR__PURGE_QUEUE;
        if (!self->marks[i].skip && !purged && !arrived(result)) {
            return false;
        }
        any = any || (!self->marks[i].skip && purged);
    }
    return any;
}

/* Run transactions until one commits. A failure because of the size of a group, or of a topic, does
 * not end this. */
static bool send_once(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    struct attempt attempt = {.from = 0};
    int purged = 0; /* consecutive rounds */
    skip_delivered(self, delivery);
    for (int round = 0; any_to_send(self, delivery); round++) {
        if (kafka_ring_is_due(&self->ring)) {
            if (!self->save(self->host, &report->error)) {
                return false;
            }
            kafka_ring_stored(&self->ring);
        }
        bool good = transact(self, delivery, &attempt, report);
        if (attempt.committed) {
            for (size_t i = 0; i < delivery->record_count; i++) {
                self->marks[i].skip = true;
            }
            end_groups(&self->groups);
            return true;
        }
        bool too_big = attempt.end &&
                       take_too_big(self, delivery, attempt.from, attempt.end, report);
        bool blocked = attempt.end && block(self, delivery, report) > 0;
        bool lost = attempt.end && was_purged(self, attempt.from, attempt.end);
        take_back(self, delivery);
        purged = lost ? purged + 1 : 0;
        attempt.again = attempt.again && (lost || !attempt.end);
        bool goes_on = attempt.end ? too_big || blocked || (lost && purged < PURGED_MAX) : good;
        if (!goes_on || self->link.broken || !self->link.rk || round == ROUNDS_MAX) {
            return false;
        }
        report->degraded = false;
    }
    return true;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static enum output_verdict judge(
    struct out_kafka *self, const struct delivery *delivery, struct output_report *report)
{
    size_t delivered = 0, refused = 0, blocked = 0, left = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        delivered += self->marks[i].skip && !self->marks[i].refused && !self->marks[i].blocked;
        blocked += self->marks[i].blocked;
        refused += self->marks[i].refused;
        left += !self->marks[i].skip;
        report->maybe_duplicates += !self->marks[i].skip && self->results[i].unsure;
    }
    if (left && self->link.throttled_ms >= THROTTLED_MS) {
        report->degraded = true;
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
            report->records[i] = self->marks[i].refused   ? RECORD_REJECTED
                                 : self->marks[i].blocked ? RECORD_BLOCKED
                                 : self->marks[i].skip    ? RECORD_DELIVERED
                                                          : RECORD_RETRY;
        }
        return OUTPUT_MIXED;
    }
    return OUTPUT_RETRY;
}

/* Events that a quota delays are no failure, but the user should know. */
static void tell_throttled(const struct out_kafka *self)
{
    char text[REASON_BYTES];
    if (self->link.throttled_ms >= THROTTLED_MS && self->warn) {
        snprintf(text, sizeof(text),
            "the brokers throttle the agent, by up to %u ms. raise the quota of the agent's user",
            self->link.throttled_ms);
        self->warn(self->host, text);
    }
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
    memset(self->marks, 0, count * sizeof(*self->marks));
    memset(self->results, 0, count * sizeof(*self->results));
    self->link.trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
    self->link.throttled_ms = 0;
    bool works = self->link.rk && !self->link.broken && !self->stale;
    if (!works && !out_kafka_connect(self, &code, &report->error)) {
        report->degraded = kafka_words_class(code) >= KAFKA_MEND;
        return OUTPUT_RETRY;
    }
    begin_groups(&self->groups);
    bool good = self->once ? send_once(self, delivery, report) : send_plain(self, delivery, report);
    if (good && !self->once) {
        block(self, delivery, report);
        tell_failure(self, delivery, report);
    }
    tell_throttled(self);
    return judge(self, delivery, report);
}
