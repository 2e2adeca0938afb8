/*
 * A wrong mapping or template refuses every event with a 400. A delivery that looks like this is
 * held (es_hold.h), and none of its records become dead letters. With one index it counts as a
 * fault of the set-up: the host retries it, and each try sends one event alone until one is
 * accepted. With several indices, the records of each refusing index are RECORD_HELD, others
 * continue; the host sends them again one index at a time, as a suspect delivery, of which one
 * event is sent first. By turns that is one of the oldest events and a later one.
 */
#include <string.h>

#include "outputs/elasticsearch/es_sender_own.h"

static const char whole_words[] = "nothing is accepted, and every event is rejected. correct the "
                                  "mapping, the index template or the ingest pipeline";

static const char route_words[] = "every event for it is rejected. correct the mapping, the index "
                                  "template or the ingest pipeline";

void es_suspect_begin(struct es_sender *self)
{
    const struct delivery *delivery = self->delivery;
    if (delivery->cleared && delivery->routes) {
        es_hold_clear_route(&self->hold, delivery->route_names[delivery->routes[0]]);
    }
}

bool es_suspect_is(const struct es_sender *self)
{
    return self->delivery->routes ? self->delivery->suspect : self->hold.whole.holds;
}

bool es_suspect_probe(struct es_sender *self, size_t *ret_place)
{
    const struct delivery *delivery = self->delivery;
    size_t all = delivery->record_count;
    *ret_place = delivery->routes ? delivery->probe % all : es_hold_probe(&self->hold, all);
    return es_request_probe(self, *ret_place);
}

/* Keep all records of the delivery: report the fault of the first refusal. */
static void hold_whole(struct es_sender *self)
{
    char first[sizeof(self->trouble.error.text)];
    size_t all = self->delivery->record_count;
    for (size_t i = 0; i < all; i++) {
        self->statuses[i] = RECORD_RETRY;
    }
    rejections_reset(&self->notes);
    memcpy(first, self->trouble.error.text, sizeof(first));
    self->trouble = (struct trouble){.count = all, .of = ES_RETRY_SLOWLY};
    error_set(&self->trouble.error, ERR_CONFIG, "%.*s: %s",
        (int)(sizeof(first) - sizeof(whole_words) - 2), first, whole_words);
}

static void count_routes(struct es_sender *self)
{
    const struct delivery *delivery = self->delivery;
    memset(self->routes, 0, delivery->route_count * sizeof(*self->routes));
    for (size_t i = 0; i < delivery->record_count; i++) {
        struct route_counts *counts = &self->routes[delivery->routes[i]];
        counts->all++;
        counts->taken += self->statuses[i] == RECORD_DELIVERED;
        counts->refused += self->statuses[i] == RECORD_REJECTED;
    }
}

/* A refused probe of a suspect delivery confirms at once that the index refuses every event. */
static bool judge_route(struct es_sender *self, size_t route, bool whole)
{
    const struct delivery *delivery = self->delivery;
    const struct route_counts *counts = &self->routes[route];
    bool holds = es_hold_judge_route(
        &self->hold, delivery->route_names[route], counts->taken, counts->refused, counts->all);
    return holds || (counts->refused && !counts->taken && (whole || delivery->suspect));
}

/* ${whole}: nothing was accepted anywhere, and this delivery is not small. */
static void hold_routes(struct es_sender *self, bool whole)
{
    const struct delivery *delivery = self->delivery;
    count_routes(self);
    for (size_t i = 0; i < delivery->route_count; i++) {
        self->routes[i].held = judge_route(self, i, whole);
    }
    for (size_t i = 0; i < delivery->record_count; i++) {
        bool asked_for = self->statuses[i] == RECORD_REJECTED;
        bool left = self->statuses[i] == RECORD_RETRY && delivery->suspect;
        if (self->routes[delivery->routes[i]].held && (asked_for || left)) {
            self->statuses[i] = RECORD_HELD;
        }
    }
}

void es_suspect_judge(struct es_sender *self, struct output_report *report)
{
    size_t taken = 0;
    size_t refused = 0;
    size_t all = self->delivery->record_count;
    for (size_t i = 0; i < all; i++) {
        taken += self->statuses[i] == RECORD_DELIVERED;
        refused += self->statuses[i] == RECORD_REJECTED;
    }
    /* Records refused before (dead letters) say nothing about the set-up when refused again. */
    if (self->delivery->refused_before) {
        return;
    }
    /* A suspect delivery has no information about other indices. */
    bool told = self->delivery->suspect && !taken;
    bool whole = !told && es_hold_judge(&self->hold, taken, refused, all);
    if (whole && !self->delivery->routes) {
        hold_whole(self);
    }
    if (self->delivery->routes && (refused || self->hold.route_count)) {
        hold_routes(self, whole && refused >= ES_HOLD_RECORDS);
        report->set_up = route_words;
    }
}
