#ifndef ETWSHIP_OUTPUTS_ES_HOLD_H
#define ETWSHIP_OUTPUTS_ES_HOLD_H

#include "base/span.h"

/*
 * Are events bad, or is the destination set up wrongly? A mapping or an index template that conflicts
 * with the events refuses each one for itself, so no single refusal tells. But when several deliveries
 * in a row are refused whole and nothing is taken between them, the set-up is suspected, and the
 * deliveries are held: one event is asked for at a time, another one each time, until one is taken.
 *
 * This is counted for the output as a whole and, where events go to several indices, for each index that
 * has refused something, so that a healthy index beside it changes nothing. Indices are compared
 * by name, not by hash: events make the names, and an attacker can find two names of one hash. One thread.
 */
enum {
    ES_HOLD_DELIVERIES = 3, /* in a row: the third is held */
    ES_HOLD_RECORDS =
        16, /* which they must have together, so that a few bad events are no set-up */
    ES_HOLD_MAX_ROUTES = 256, /* of those that refuse: beyond that the one is forgotten that was
                                 asked for longest ago */
};

struct es_hold_count {
    uint8_t *name; /* of the route */
    size_t name_size;
    uint64_t used;       /* es_hold.clock */
    unsigned deliveries; /* refused whole, since something was taken */
    size_t records;      /* … and how many records they had */
    size_t probes;       /* events that were asked for alone; of the whole */
    bool holds;
};

struct es_hold {
    struct es_hold_count whole;
    struct es_hold_count routes[ES_HOLD_MAX_ROUTES];
    size_t route_count;
    uint64_t clock;
};

/* Of ${all} records of a delivery ${taken} were taken and ${refused} refused. True: nothing of it is to
 * be given up, as the set-up is suspected. */
bool es_hold_judge(struct es_hold *hold, size_t taken, size_t refused, size_t all);

/* Judge those of its records that go to ${route}, as es_hold_judge judges a delivery. */
bool es_hold_judge_route(
    struct es_hold *hold, struct span route, size_t taken, size_t refused, size_t all);

/* Which of ${count} records to ask for alone, where all go to one place. */
size_t es_hold_probe(struct es_hold *hold, size_t count);

/* Another worker has seen that ${route} takes events: what was counted here is over. */
void es_hold_clear_route(struct es_hold *hold, struct span route);

/* Zeroed is empty. */
void es_hold_fini(struct es_hold *hold);

#endif
