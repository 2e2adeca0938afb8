/*
 * A delivery goes out in as few requests as the destination takes. The loop in send() moves over the
 * records from front to end: each request takes a stretch, and what its answer means decides where
 * the next one begins and how far it goes:
 *
 *   answered           each record by its item; on behind the stretch. Where events go to several
 *                      indices, one that takes nothing now blocks its own events alone
 *   413                the stretch is too large: half of it, down to one record, which is refused.
 *                      What was taken and what was not gives a size that is kept (es_limit.h)
 *   400                something in the stretch is bad: half of it, until one record is alone
 *   anything else      what is left is for the host to try again
 *
 * Where the index has types for the fields of payloads, records that were refused by their items are sent
 * once more, with payloads that are not indexed (es_unindexed.h): that a definition was not at hand when the
 * index was made is no reason to give up an event.
 *
 * Where it is not known whether a request was obeyed (a lost reply, one that cannot be read, a 5xx),
 * its records count as sent before, in this delivery and, by the host, in later ones: then that they
 * are there already means that they arrived.
 *
 * A mapping or a template that is wrong refuses every event with a 400 of its own. A delivery that looks
 * like that is held (es_hold.h): it counts as a fault of set-up, nothing of it is given up, and each try
 * asks for one event alone until one is taken.
 *
 * Everything is kept in arrays of our own until the end, since the host's are only read with
 * OUTPUT_MIXED, and a reply counts only when its last byte is in.
 */
#include "outputs/elasticsearch/es_sender.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "outputs/delivery_id.h"
#include "outputs/elasticsearch/es_exchange.h"
#include "outputs/elasticsearch/es_hold.h"
#include "outputs/elasticsearch/es_limit.h"
#include "outputs/elasticsearch/es_unindexed.h"
#include "outputs/http/http_status.h"
#include "outputs/rejections.h"

enum {
    /* Requests of one record that were answered with 400, with nothing taken between them: then it
     * is no bad record but a fault of set-up (a parameter that this server does not know). */
    BAD_IN_A_ROW = 16,

    TEXTS_MAX_BYTES = 1 << 20,
    TOO_MUCH = 429,
};

/* What people are told of a delivery that was not taken as a whole. */
struct trouble {
    size_t count;       /* records */
    enum es_verdict of; /* the gravest kind; the first of it is told */
    struct error error;
};

struct es_sender {
    struct es_bulk_options options;
    const char *format;
    struct arena texts; /* of the options */
    struct es_exchange *exchange;
    struct es_bulk bulk;
    struct rejections notes;
    struct es_limit limit;
    unsigned bad_in_a_row;
    struct es_hold hold;

    enum record_status *statuses;
    enum es_verdict *verdicts; /* of the reply that is being read */
    size_t capacity;
    bool typed; /* these: see es_unindexed.h */
    struct es_unindexed unindexed;
    void (*warn)(void *host, const char *text); /* of the host; or NULL */
    void *host;
    const char *name; /* of the output */

    /* Of the delivery in hand. */
    const struct delivery *delivery;
    struct es_outcome outcome; /* of the last request */
    size_t too_much;           /* items of its reply that say so (429) */
    size_t first;              /* the stretch that is under way */
    size_t count;
    size_t end;           /* of what is left of the delivery */
    bool probes;          /* one event is asked for alone, as the delivery is held */
    bool last_was_read;   /* its last record was asked for alone, and answered for */
    size_t bad_end;       /* something from `first` to here is bad; 0: nothing known */
    size_t uncertain_end; /* records before it may have arrived in an earlier request */
    uint64_t unexpected_duplicates;
    uint64_t wait_ms; /* the longest that a reply to the delivery asked for */
    struct trouble trouble;
    struct trouble trouble_before; /* these two: what to go back to if a reply does not count */
    size_t notes_before;
};

/* ---- make and destroy ---------------------------------------------------------------------------- */

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
    es_limit_init(&self->limit);
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
        free(sender->statuses);
        free(sender->verdicts);
        free(sender);
    }
}

/* ---- what goes wrong ----------------------------------------------------------------------------- */

/* ${count} records are in trouble of the kind ${of}. Where to say what it is; NULL: there was a
 * graver one, or one of its kind. */
static struct error *trouble(struct es_sender *self, size_t count, enum es_verdict of)
{
    static const int gravity[] = {
        [ES_BLOCKED] = 1, [ES_REFUSED] = 2, [ES_RETRY] = 3, [ES_RETRY_SLOWLY] = 4};
    struct trouble *t = &self->trouble;
    bool graver = t->count == 0 || gravity[of] > gravity[t->of];
    t->count += count;
    if (!graver) {
        return NULL;
    }
    t->of = of;
    return &t->error;
}

static void note(struct es_sender *self, size_t record, const struct es_answer *answer)
{
    const struct output_rejection why = {.status = answer->status,
        .type = answer->type,
        .reason = answer->reason,
        .index = answer->index};
    rejections_add(&self->notes, record, &why);
}

static size_t stretch_bytes(const struct es_sender *self)
{
    return es_bulk_body(&self->bulk, self->first, self->count).size;
}

/* ---- one request --------------------------------------------------------------------------------- */

/* What the items of the reply before said does not count. */
static void start_reply(void *self_)
{
    struct es_sender *self = self_;
    self->trouble = self->trouble_before;
    rejections_forget(&self->notes, self->notes_before);
    self->too_much = 0;
    for (size_t i = 0; self->probes && i < self->delivery->record_count; i++) {
        self->statuses[i] = RECORD_RETRY; /* nothing else was answered yet */
    }
}

/* With one index for all there is nothing else that could go on. */
static enum es_verdict verdict_of_item(const struct es_sender *self, const struct es_answer *item)
{
    enum es_verdict verdict = es_verdict_item(item);
    bool waits = verdict == ES_RETRY || verdict == ES_RETRY_SLOWLY;
    return waits && self->delivery->routes && es_verdict_is_of_index(item) ? ES_BLOCKED : verdict;
}

/* An event that was asked for alone is blocked: what is said of it holds for all that go where it goes. */
static void note_route(struct es_sender *self, const struct es_answer *item)
{
    const uint32_t *routes = self->delivery->routes;
    for (size_t i = 0; i < self->delivery->record_count; i++) {
        if (i != self->first && routes[i] == routes[self->first]) {
            self->statuses[i] = RECORD_BLOCKED;
            note(self, i, item);
        }
    }
}

static void take_item(void *self_, size_t place, const struct es_answer *item)
{
    struct es_sender *self = self_;
    enum es_verdict verdict = verdict_of_item(self, item);
    self->verdicts[place] = verdict;
    self->too_much += item->status == TOO_MUCH && !es_verdict_is_of_index(item);
    if (verdict == ES_TAKEN || verdict == ES_DUPLICATE) {
        return;
    }
    if (verdict == ES_REFUSED || verdict == ES_BLOCKED) {
        note(self, self->first + place, item);
    }
    if (verdict == ES_BLOCKED && self->probes) {
        note_route(self, item);
    }
    struct error *err = trouble(self, 1, verdict);
    if (err) {
        es_reply_say(err, self->outcome.url, item, es_verdict_words(item));
    }
}

/* Ask for the stretch. */
static enum es_verdict ask(struct es_sender *self)
{
    const struct es_stretch stretch = {.body = es_bulk_body(&self->bulk, self->first, self->count),
        .count = self->count,
        .start = start_reply,
        .item = take_item,
        .self = self};
    struct es_outcome *outcome = &self->outcome;
    self->trouble_before = self->trouble;
    self->notes_before = rejections_mark(&self->notes);
    es_exchange_ask(self->exchange, &stretch, outcome);
    self->wait_ms = outcome->wait_ms > self->wait_ms ? outcome->wait_ms : self->wait_ms;
    for (unsigned i = 0; i < outcome->too_large_hints; i++) {
        es_limit_lost(&self->limit, stretch.body.size);
    }
    if (outcome->uncertain) {
        size_t end = self->first + self->count;
        self->uncertain_end = end > self->uncertain_end ? end : self->uncertain_end;
    }
    if (outcome->verdict != ES_READ) {
        start_reply(self);
    }
    if (outcome->verdict == ES_RETRY || outcome->verdict == ES_RETRY_SLOWLY) {
        size_t left = self->delivery->record_count - self->first;
        struct error *err = trouble(self, left, outcome->verdict);
        if (err) {
            *err = outcome->error;
        }
    }
    return outcome->verdict;
}

/* ---- what answers mean --------------------------------------------------------------------------- */

static void take_duplicate(struct es_sender *self, size_t record)
{
    const struct delivery *delivery = self->delivery;
    bool repeated = delivery->repeated || record < self->uncertain_end;
    if (!repeated && !(delivery->ids && delivery_id_is_replayed(delivery, record))) {
        self->unexpected_duplicates++;
    }
}

/* Every record of the stretch has its answer. */
static void take_answers(struct es_sender *self)
{
    static const enum record_status statuses[] = {[ES_RETRY] = RECORD_RETRY,
        [ES_RETRY_SLOWLY] = RECORD_RETRY,
        [ES_TAKEN] = RECORD_DELIVERED,
        [ES_DUPLICATE] = RECORD_DELIVERED,
        [ES_REFUSED] = RECORD_REJECTED,
        [ES_BLOCKED] = RECORD_BLOCKED};
    for (size_t i = 0; i < self->count; i++) {
        self->statuses[self->first + i] = statuses[self->verdicts[i]];
        if (self->verdicts[i] == ES_DUPLICATE) {
            take_duplicate(self, self->first + i);
        } else if (self->verdicts[i] == ES_REFUSED) {
            es_unindexed_add(&self->unindexed, self->first + i);
        }
    }
    self->bad_in_a_row = 0;
    if (self->too_much == self->count) {
        es_limit_lost(&self->limit, stretch_bytes(self));
    } else {
        es_limit_taken(&self->limit, stretch_bytes(self));
    }
    self->first += self->count;
    self->bad_end = self->bad_end > self->first ? self->bad_end : 0;
}

/* The stretch is one record, and a request of nothing else is refused with ${status}. */
static void refuse_alone(struct es_sender *self, int status)
{
    struct es_answer answer = self->outcome.refusal;
    answer.status = status;
    if (answer.reason.size == 0) {
        answer.reason = span_text(http_status_words(status));
    }
    self->statuses[self->first] = RECORD_REJECTED;
    note(self, self->first, &answer);
    struct error *err = trouble(self, 1, ES_REFUSED);
    if (err) {
        es_reply_say(err, self->outcome.url, &answer, NULL);
    }
    self->first++;
    self->bad_end = 0;
}

/* One bad record after the other is no bad record: take back what that cost in this delivery. */
static void blame_set_up(struct es_sender *self)
{
    const struct es_answer answer = self->outcome.refusal;
    while (self->first > 0 && self->statuses[self->first - 1] == RECORD_REJECTED) {
        self->statuses[--self->first] = RECORD_RETRY;
    }
    struct error *err = trouble(self, self->end - self->first, ES_RETRY_SLOWLY);
    if (err) {
        es_reply_say(err, self->outcome.url, &answer,
            "it refuses everything. correct what the settings of this output ask for");
    }
}

/* After so many bad records: is the last one of the delivery answered for? Then it is not the set-up,
 * and the search goes on. False: it is, or nobody knows. */
static bool last_is_read(struct es_sender *self)
{
    const size_t first = self->first;
    const size_t bad_end = self->bad_end;
    self->first = self->end - 1;
    self->count = 1;
    self->last_was_read = ask(self) == ES_READ;
    if (self->last_was_read) {
        take_answers(self);
        self->end--;
    }
    self->first = first;
    self->bad_end = bad_end > self->end ? self->end : bad_end;
    if (!self->last_was_read) {
        blame_set_up(self);
    }
    return self->last_was_read;
}

/* Send the next stretch. False: what is left is for the host to try again. */
static bool send_stretch(struct es_sender *self)
{
    size_t left = self->end - self->first;
    size_t bad = self->bad_end ? self->bad_end - self->first : 0;
    size_t most = bad ? (bad + 1) / 2 : left;
    self->count = es_bulk_fit(&self->bulk, self->first, most, es_limit_bytes(&self->limit));
    switch (ask(self)) {
    case ES_READ:
        take_answers(self);
        return true;
    case ES_SPLIT:
        if (self->count == 1) {
            refuse_alone(self, 413);
        } else {
            es_limit_refused(&self->limit, stretch_bytes(self));
        }
        return true;
    case ES_BISECT:
        if (self->bad_in_a_row >= BAD_IN_A_ROW && !self->last_was_read) {
            return last_is_read(self);
        }
        if (self->count == 1) {
            self->bad_in_a_row++;
            refuse_alone(self, 400);
        } else {
            self->bad_end = self->first + self->count;
        }
        return true;
    default:
        return false;
    }
}

/* ---- payloads that do not fit ---------------------------------------------------------------------- */

static void warn_of_misfits(struct es_sender *self)
{
    char text[1024];
    struct error why = self->trouble.error;
    bool is_known = self->trouble.of == ES_REFUSED;
    es_exchange_hide(self->exchange, why.text);
    snprintf(text, sizeof(text),
        "payloads of events do not fit the types of the index: they stand in "
        "%s" ES_UNINDEXED_SUFFIX ", and are not found%s%s. run: etwship setup %s",
        self->unindexed.is_ecs ? "winlog.event_data" : "data", is_known ? ": " : "",
        is_known ? why.text : "", self->name);
    self->warn(self->host, text);
}

/* Send refused records once more, with payloads that are not indexed. */
static void send_unindexed(struct es_sender *self)
{
    struct es_outcome outcome;
    size_t sent = es_unindexed_send(&self->unindexed, self->exchange, &self->bulk,
        es_limit_bytes(&self->limit), self->statuses, &outcome);
    struct error *err = outcome.verdict == ES_READ ? NULL : trouble(self, 1, outcome.verdict);
    if (err) {
        *err = outcome.error;
    }
    self->wait_ms = outcome.wait_ms > self->wait_ms ? outcome.wait_ms : self->wait_ms;
    if (sent && self->warn) {
        warn_of_misfits(self);
    }
}

/* ---- deliveries ---------------------------------------------------------------------------------- */

static bool grow(struct es_sender *self, size_t count)
{
    if (count <= self->capacity) {
        return true;
    }
    enum record_status *statuses = realloc(self->statuses, count * sizeof(*statuses));
    self->statuses = statuses ? statuses : self->statuses;
    enum es_verdict *verdicts = realloc(self->verdicts, count * sizeof(*verdicts));
    self->verdicts = verdicts ? verdicts : self->verdicts;
    self->capacity = statuses && verdicts ? count : self->capacity;
    return statuses && verdicts;
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

static const char held_words[] =
    "nothing is taken, and every event is refused. correct the mapping, the "
    "index template or the ingest pipeline";

/* Nothing of the delivery is given up: the fault is that of the first refusal. */
static void hold(struct es_sender *self)
{
    char said[sizeof(self->trouble.error.text)];
    size_t all = self->delivery->record_count;
    for (size_t i = 0; i < all; i++) {
        self->statuses[i] = RECORD_RETRY;
    }
    rejections_reset(&self->notes);
    memcpy(said, self->trouble.error.text, sizeof(said));
    self->trouble = (struct trouble){.count = all, .of = ES_RETRY_SLOWLY};
    error_set(&self->trouble.error, ERR_CONFIG, "%.*s: %s",
        (int)(sizeof(said) - sizeof(held_words) - 2), said, held_words);
}

/* Ask for one event alone. True: it was taken, so the others go, too. */
static bool probe(struct es_sender *self, size_t *ret_place)
{
    size_t place = es_hold_probe(&self->hold, self->delivery->record_count);
    *ret_place = place;
    self->first = place;
    self->count = 1;
    self->probes = true;
    switch (ask(self)) {
    case ES_READ:
        take_answers(self);
        break;
    case ES_SPLIT:
        refuse_alone(self, 413);
        break;
    case ES_BISECT:
        refuse_alone(self, 400);
        break;
    default:
        break;
    }
    self->probes = false;
    return self->statuses[place] == RECORD_DELIVERED;
}

static void count_statuses(const struct es_sender *self, size_t counts[])
{
    for (size_t i = 0; i < self->delivery->record_count; i++) {
        counts[self->statuses[i]]++;
    }
}

static enum output_verdict verdict_of(const struct es_sender *self, size_t *ret_left)
{
    size_t counts[RECORD_BLOCKED + 1] = {0};
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
    size_t all = self->delivery->record_count;
    size_t counts[RECORD_BLOCKED + 1] = {0};
    count_statuses(self, counts);
    /* What was refused before, one by one, says nothing of the set-up when it is refused again. */
    if (!self->delivery->refused_before &&
        es_hold_judge(&self->hold, counts[RECORD_DELIVERED], counts[RECORD_REJECTED], all)) {
        hold(self);
    }
    enum output_verdict verdict = verdict_of(self, &left);
    report->unexpected_duplicates = self->unexpected_duplicates;
    if (verdict == OUTPUT_DELIVERED) {
        return verdict;
    }
    if (left) {
        report->wait_ms = self->wait_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)self->wait_ms;
        /* What is left behind a probe that was blocked is held as before. */
        bool held = self->hold.holds && self->trouble.of == ES_BLOCKED;
        report->degraded = self->trouble.count && (self->trouble.of == ES_RETRY_SLOWLY || held);
    }
    report->error = self->trouble.error;
    es_exchange_hide(self->exchange, report->error.text);
    if (self->trouble.count == 0) {
        error_set(&report->error, ERR_STOPPED, "stopped before everything was sent");
    }
    if (verdict == OUTPUT_MIXED) {
        memcpy(report->records, self->statuses, all * sizeof(*report->records));
    }
    rejections_tell(&self->notes, self->statuses, report);
    return verdict;
}

/* Send the records from ${first} to ${end}. False: what is left is for the host to try again. */
static bool send_range(struct es_sender *self, size_t first, size_t end)
{
    self->first = first;
    self->end = end;
    self->bad_end = 0;
    self->last_was_read = false;
    while (self->first < self->end) {
        if (!send_stretch(self) || es_exchange_must_stop(self->exchange)) {
            return false;
        }
    }
    return true;
}

enum output_verdict es_sender_send(
    struct es_sender *sender, const struct delivery *delivery, struct output_report *report)
{
    if (delivery->record_count == 0) {
        return OUTPUT_DELIVERED;
    }
    if (!grow(sender, delivery->record_count) ||
        !es_unindexed_begin(&sender->unindexed, delivery->record_count)) {
        error_set(&report->error, ERR_MEMORY, "out of memory");
        return OUTPUT_RETRY;
    }
    begin(sender, delivery);
    if (!es_bulk_build(&sender->bulk, &sender->options, sender->format, delivery, &report->error)) {
        report->degraded = report->error.code == ERR_CONFIG;
        return OUTPUT_RETRY;
    }
    size_t asked = delivery->record_count; /* what was probed; none */
    bool goes_on = !sender->hold.holds || probe(sender, &asked);
    if (goes_on && send_range(sender, 0, asked)) {
        send_range(sender, asked + 1, delivery->record_count);
    }
    if (sender->typed) {
        send_unindexed(sender);
    }
    return finish(sender, report);
}
