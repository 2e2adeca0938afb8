#ifndef ETWSHIP_OUTPUTS_ES_HOLD_H
#define ETWSHIP_OUTPUTS_ES_HOLD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Are events bad, or is the destination set up wrongly? A mapping or an index template that conflicts
 * with the events refuses each one for itself, so no single refusal tells. But when several deliveries
 * in a row are refused whole and nothing is taken between them, the set-up is suspected, and the
 * deliveries are held: one event is asked for at a time, another one each time, until one is taken.
 */
struct es_hold {
    unsigned deliveries; /* refused whole, since something was taken */
    size_t records;      /* … and how many records they had */
    size_t probes;       /* events that were asked for alone */
    bool holds;
};

enum {
    ES_HOLD_DELIVERIES = 3, /* in a row: the third is held */
    ES_HOLD_RECORDS =
        16, /* which they must have together, so that a few bad events are no set-up */
};

/* Of a delivery of ${all} records ${taken} were taken and ${refused} refused. True: nothing of it is to
 * be given up, as the set-up is suspected. */
bool es_hold_judge(struct es_hold *hold, size_t taken, size_t refused, size_t all);

/* Which of ${count} records to ask for alone. */
size_t es_hold_probe(struct es_hold *hold, size_t count);

#endif
