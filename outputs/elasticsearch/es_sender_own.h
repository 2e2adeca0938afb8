#ifndef ETWSHIP_OUTPUTS_ES_SENDER_OWN_H
#define ETWSHIP_OUTPUTS_ES_SENDER_OWN_H

#include "base/arena.h"
#include "outputs/elasticsearch/es_exchange.h"
#include "outputs/elasticsearch/es_hold.h"
#include "outputs/elasticsearch/es_sender.h"
#include "outputs/elasticsearch/es_unindexed.h"
#include "outputs/http/http_window.h"
#include "outputs/rejections.h"

/* Internals of a sender; not for users of es_sender.h. es_sender.c has deliveries, es_request.c
 * their requests, es_suspect.c the handling of a wrong set-up. */

/* Report about a delivery that was not accepted completely. */
struct trouble {
    size_t count;       /* records */
    enum es_verdict of; /* the gravest kind; its first case is reported */
    struct error error;
};

/* Results of a delivery's records of one route. */
struct route_counts {
    size_t all;
    size_t taken;
    size_t refused;
    bool held;
};

struct es_sender {
    struct es_bulk_options options;
    const char *format;
    struct arena texts; /* of the options */
    struct es_exchange *exchange;
    struct es_bulk bulk;
    struct rejections notes;
    struct http_window window; /* of bodies */
    unsigned bad_in_a_row;
    struct es_hold hold;

    enum record_status *statuses;
    enum es_verdict *verdicts; /* of the current reply */
    size_t capacity;
    struct route_counts *routes; /* by route of the delivery */
    size_t route_capacity;
    bool typed; /* these: see es_unindexed.h */
    struct es_unindexed unindexed;
    void (*warn)(void *host, const char *text); /* of the host; or NULL */
    void *host;
    const char *name; /* of the output */

    /* Of the current delivery. */
    const struct delivery *delivery;
    struct es_outcome outcome; /* of the last request */
    size_t too_much;           /* items of its reply with that status (429) */
    size_t first;              /* the current range */
    size_t count;
    size_t end;           /* of the rest of the delivery */
    bool probes;          /* one event is sent alone, as the delivery is held */
    bool last_was_read;   /* its last record was sent alone, and has an item */
    size_t bad_end;       /* a record from `first` to here is bad; 0: unknown */
    size_t uncertain_end; /* records before it may have arrived in an earlier request */
    uint64_t unexpected_duplicates;
    uint64_t wait_ms; /* the longest wait requested by a reply to the delivery */
    struct trouble trouble;
    struct trouble trouble_before; /* these two: values to restore if a reply does not count */
    size_t notes_before;
};

/* ---- es_request.c ---------------------------------------------------------------------------- */

/* Send the records from ${first} to ${end}. False: the host retries the rest. */
bool es_request_send(struct es_sender *self, size_t first, size_t end);

/* Send record ${place} alone. True: accepted. */
bool es_request_probe(struct es_sender *self, size_t place);

/* ${count} records have trouble of the kind ${of}. Returns where to describe it; NULL: an equal or
 * graver kind is described already. */
struct error *es_request_trouble(struct es_sender *self, size_t count, enum es_verdict of);

/* ---- es_suspect.c ---------------------------------------------------------------------------- */

/* Begin a delivery. */
void es_suspect_begin(struct es_sender *self);

/* True if the delivery must be probed by one event first. */
bool es_suspect_is(const struct es_sender *self);

/* Probe it. True: accepted, so the others are sent, too. ${ret_place}: the probe. */
bool es_suspect_probe(struct es_sender *self, size_t *ret_place);

/* End a delivery: if the set-up is suspected, no refused record becomes a dead letter. */
void es_suspect_judge(struct es_sender *self, struct output_report *report);

#endif
