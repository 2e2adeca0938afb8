#ifndef ETWSHIP_OUTPUTS_ES_SENDER_OWN_H
#define ETWSHIP_OUTPUTS_ES_SENDER_OWN_H

#include "base/arena.h"
#include "outputs/elasticsearch/es_exchange.h"
#include "outputs/elasticsearch/es_hold.h"
#include "outputs/elasticsearch/es_limit.h"
#include "outputs/elasticsearch/es_sender.h"
#include "outputs/elasticsearch/es_unindexed.h"
#include "outputs/rejections.h"

/* The insides of a sender; not for users of es_sender.h. es_sender.c has the deliveries, es_request.c the
 * requests that they are made of, es_suspect.c what is done where a set-up is to blame. */

/* What people are told of a delivery that was not taken as a whole. */
struct trouble {
    size_t count;       /* records */
    enum es_verdict of; /* the gravest kind; the first of it is told */
    struct error error;
};

/* What became of the records of a delivery that go to one place. */
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
    struct es_limit limit;
    unsigned bad_in_a_row;
    struct es_hold hold;

    enum record_status *statuses;
    enum es_verdict *verdicts; /* of the reply that is being read */
    size_t capacity;
    struct route_counts *routes; /* by route of the delivery */
    size_t route_capacity;
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

/* ---- es_request.c ---------------------------------------------------------------------------------- */

/* Send the records from ${first} to ${end}. False: what is left is for the host to try again. */
bool es_request_send(struct es_sender *self, size_t first, size_t end);

/* Ask for record ${place} alone. True: it was taken. */
bool es_request_probe(struct es_sender *self, size_t place);

/* ${count} records are in trouble of the kind ${of}. Where to say what it is; NULL: there was a
 * graver one, or one of its kind. */
struct error *es_request_trouble(struct es_sender *self, size_t count, enum es_verdict of);

/* ---- es_suspect.c ---------------------------------------------------------------------------------- */

/* A delivery is about to be sent. */
void es_suspect_begin(struct es_sender *self);

/* Is the delivery to be asked for by one event first? */
bool es_suspect_is(const struct es_sender *self);

/* Ask so. True: it was taken, so the others go, too. ${ret_place}: which one it was. */
bool es_suspect_probe(struct es_sender *self, size_t *ret_place);

/* The delivery was sent: of what is refused nothing is given up where the set-up is suspected. */
void es_suspect_judge(struct es_sender *self, struct output_report *report);

#endif
