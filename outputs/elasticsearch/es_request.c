/*
 * Requests of a delivery. The loop in es_request_send goes over the records from first to last:
 * each request sends a range, and its answer determines the next range:
 *
 *   answered           each record by its item; then the next stretch. Where events go to several
 *                      indices, one that takes nothing now blocks its own events alone
 *   413                the stretch is too large: half of it, down to one record, which is refused.
 *                      What was taken and what was not gives a size that is kept (http_window.h)
 *   400                something in the stretch is bad: half of it, until one record is alone
 *   anything else      what is left is for the host to try again
 *
 * If it is unknown whether a request was executed (a lost or unreadable reply, a 5xx), its records
 * count as sent before, in this delivery and, by the host, in later ones: a conflict with an
 * existing document then means that they arrived.
 */
#include "outputs/delivery_id.h"
#include "outputs/elasticsearch/es_sender_own.h"
#include "outputs/http/http_status.h"

enum {
    /* This many requests of one record answered with 400, with nothing accepted between them, mean
     * a wrong set-up instead of bad records (a parameter that this server does not support). */
    BAD_IN_A_ROW = 16,

    TOO_MUCH = 429,
};

/* ---- what goes wrong ------------------------------------------------------------------------- */

struct error *es_request_trouble(struct es_sender *self, size_t count, enum es_verdict of)
{
    static const int severity[] = {
        [ES_BLOCKED] = 1, [ES_REFUSED] = 2, [ES_RETRY] = 3, [ES_RETRY_SLOWLY] = 4};
    struct trouble *t = &self->trouble;
    bool is_worse = t->count == 0 || severity[of] > severity[t->of];
    t->count += count;
    if (!is_worse) {
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

/* ---- one request ----------------------------------------------------------------------------- */

/* Drop the items of the previous reply. */
static void start_reply(void *self_)
{
    struct es_sender *self = self_;
    self->trouble = self->trouble_before;
    rejections_remove_after(&self->notes, self->notes_before);
    self->too_much = 0;
    for (size_t i = 0; self->probes && i < self->delivery->record_count; i++) {
        self->statuses[i] = RECORD_RETRY; /* no other record was answered yet */
    }
}

/* With several indices, an index that is busy blocks its own events only. */
static enum es_verdict verdict_of_item(const struct es_sender *self, const struct es_answer *item)
{
    enum es_verdict verdict = es_verdict_item(item);
    bool waits = verdict == ES_RETRY || verdict == ES_RETRY_SLOWLY;
    return waits && self->delivery->routes && es_verdict_is_of_index(item) ? ES_BLOCKED : verdict;
}

/* The probe was refused: its result applies to all records of its route. Records without a status
 * are sent again. */
static void note_route(struct es_sender *self, const struct es_answer *item, bool blocked)
{
    const uint32_t *routes = self->delivery->routes;
    for (size_t i = 0; routes && i < self->delivery->record_count; i++) {
        if (i != self->first && routes[i] == routes[self->first]) {
            self->statuses[i] = blocked ? RECORD_BLOCKED : self->statuses[i];
            note(self, i, item);
        }
    }
}

/* Servers answer in the order of the request, so places tell for which event. But if an item has an
 * id, it must be that of its event. */
static bool is_of_record(const struct es_sender *self, size_t record, struct span id)
{
    char sent[DELIVERY_ID_MAX];
    return !id.size || !self->options.ids || !self->delivery->ids ||
           span_equal(id, span_make(sent, delivery_id_write(self->delivery, record, sent)));
}

static bool take_item(void *self_, size_t place, const struct es_answer *item)
{
    struct es_sender *self = self_;
    if (!is_of_record(self, self->first + place, item->id)) {
        return false;
    }
    enum es_verdict verdict = verdict_of_item(self, item);
    self->verdicts[place] = verdict;
    self->too_much += item->status == TOO_MUCH && !es_verdict_is_of_index(item);
    if (verdict == ES_TAKEN || verdict == ES_DUPLICATE) {
        return true;
    }
    if (verdict == ES_REFUSED || verdict == ES_BLOCKED) {
        note(self, self->first + place, item);
        if (self->probes) {
            note_route(self, item, verdict == ES_BLOCKED);
        }
    }
    struct error *err = es_request_trouble(self, 1, verdict);
    if (err) {
        es_reply_say(err, self->outcome.url, item, es_verdict_words(item));
    }
    return true;
}

/* Send the range. */
static enum es_verdict ask(struct es_sender *self)
{
    const struct es_body body = es_bulk_body(&self->bulk, self->first, self->count);
    const struct es_stretch stretch = {.parts = body.parts,
        .part_count = body.part_count,
        .size = body.size,
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
        http_window_lost(&self->window, self->count, stretch.size);
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
        struct error *err = es_request_trouble(self, left, outcome->verdict);
        if (err) {
            *err = outcome->error;
        }
    }
    return outcome->verdict;
}

/* ---- what answers mean ----------------------------------------------------------------------- */

static void take_duplicate(struct es_sender *self, size_t record)
{
    const struct delivery *delivery = self->delivery;
    bool repeated = delivery->repeated || record < self->uncertain_end;
    if (!repeated && !(delivery->ids && delivery_id_is_replayed(delivery, record))) {
        self->unexpected_duplicates++;
    }
}

/* Every record of the range has its answer. */
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
        http_window_lost(&self->window, self->count, stretch_bytes(self));
    } else {
        http_window_taken(&self->window, stretch_bytes(self));
    }
    self->first += self->count;
    self->bad_end = self->bad_end > self->first ? self->bad_end : 0;
}

/* The range is one record, and its request is refused with ${status}. */
static void refuse_alone(struct es_sender *self, int status)
{
    struct es_answer answer = self->outcome.refusal;
    answer.status = status;
    if (answer.reason.size == 0) {
        answer.reason = span_text(http_status_words(status));
    }
    self->statuses[self->first] = RECORD_REJECTED;
    note(self, self->first, &answer);
    if (self->probes) {
        note_route(self, &answer, false);
    }
    struct error *err = es_request_trouble(self, 1, ES_REFUSED);
    if (err) {
        es_reply_say(err, self->outcome.url, &answer, NULL);
    }
    self->first++;
    self->bad_end = 0;
}

/* Many single refusals mean a wrong set-up: drop the rejections of this delivery. */
static void report_set_up_fault(struct es_sender *self)
{
    const struct es_answer answer = self->outcome.refusal;
    while (self->first > 0 && self->statuses[self->first - 1] == RECORD_REJECTED) {
        self->statuses[--self->first] = RECORD_RETRY;
    }
    struct error *err = es_request_trouble(self, self->end - self->first, ES_RETRY_SLOWLY);
    if (err) {
        es_reply_say(err, self->outcome.url, &answer,
            "the server rejects everything. correct the settings of this output");
    }
}

/* After that many bad records, test the last one of the delivery. True: it has an item, so the
 * set-up is right, and the search continues. False: wrong set-up, or unknown. */
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
        report_set_up_fault(self);
    }
    return self->last_was_read;
}

/* Send the next range. False: the host retries the rest. */
static bool send_stretch(struct es_sender *self)
{
    size_t left = self->end - self->first;
    size_t bad = self->bad_end ? self->bad_end - self->first : 0;
    size_t most = bad ? (bad + 1) / 2 : left;
    self->count = es_bulk_fit(&self->bulk, self->first, most, http_window_limit(&self->window));
    switch (ask(self)) {
    case ES_READ:
        take_answers(self);
        return true;
    case ES_SPLIT:
        if (!http_window_too_big(&self->window, self->count, stretch_bytes(self))) {
            refuse_alone(self, 413);
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

bool es_request_send(struct es_sender *self, size_t first, size_t end)
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

bool es_request_probe(struct es_sender *self, size_t place)
{
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
