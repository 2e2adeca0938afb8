#ifndef ETWSHIP_OUTPUTS_ES_HOLD_H
#define ETWSHIP_OUTPUTS_ES_HOLD_H

#include "base/span.h"

/*
 * Distinguishes bad events from a wrong set-up of the destination. A mapping or an index template
 * that conflicts with the events refuses each one separately, so a single refusal is ambiguous. But
 * if several deliveries in a row are refused completely, with nothing accepted between them, the
 * set-up is suspected and deliveries are held: one event is sent at a time, another one each time,
 * until one is accepted.
 *
 * This is counted for the whole output and, with several indices, for each index with refusals,
 * independently of healthy indices. Indices are compared by name, not by hash: events determine the
 * names, and an attacker can find two names with one hash. One thread.
 */
enum {
    ES_HOLD_DELIVERIES = 3, /* this many in a row: the third is held */
    ES_HOLD_RECORDS =
        16, /* records that they must have together, so that a few bad events do not suffice */
    ES_HOLD_MAX_ROUTES = 256, /* maximum number of refusing indices; beyond it the one probed
                                 longest ago is dropped */
};

struct es_hold_count {
    char *name; /* of the route */
    size_t name_size;
    uint64_t used;       /* es_hold.clock */
    unsigned deliveries; /* deliveries refused completely since the last accepted record */
    size_t records;      /* … and their records */
    size_t probes;       /* single events sent as probes; for the whole output */
    bool holds;
};

struct es_hold {
    struct es_hold_count whole;
    struct es_hold_count routes[ES_HOLD_MAX_ROUTES];
    size_t route_count;
    uint64_t clock;
};

/* Judge a delivery of ${all} records with ${taken} accepted and ${refused} refused. True: the
 * set-up is suspected, so nothing of it becomes a dead letter. */
bool es_hold_judge(struct es_hold *hold, size_t taken, size_t refused, size_t all);

/* Judge its records for ${route}, as es_hold_judge judges a delivery. */
bool es_hold_judge_route(
    struct es_hold *hold, struct span route, size_t taken, size_t refused, size_t all);

/* The record of ${count} to send alone, if all have one route. */
size_t es_hold_probe(struct es_hold *hold, size_t count);

/* Another worker has delivered to ${route}: reset its counters. */
void es_hold_clear_route(struct es_hold *hold, struct span route);

/* Zeroed memory is empty. */
void es_hold_fini(struct es_hold *hold);

#endif
