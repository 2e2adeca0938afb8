#ifndef ETWSHIP_PIPELINE_PARKING_OWN_H
#define ETWSHIP_PIPELINE_PARKING_OWN_H

#include "pipeline/deliver/parking.h"

/* The insides of a parking: parking.c has its batches and claims, parking_route.c its routes.
 * All with the mutex held. */

struct parked_route {
    struct parked_route *next;
    uint64_t hash;
    struct parked_group *head;
    struct parked_group *tail;
    size_t group_count; /* between the two */
    struct back_off back_off;
    uint64_t due_ns;
    uint64_t kept_ns; /* what was claimed last came back then, and is not settled; 0: it is */
    size_t pins;      /* groups that are made, and not put to it yet */
    bool busy;        /* a group of it is claimed */
    bool open;        /* the destination took what was claimed last */
    bool retried_now; /* it had its last try before the agent stops */
    bool told;
    bool refuses; /* every event for itself, until it takes one */
    size_t turns; /* claims of it while it refuses */
    bool cleared; /* it refused, and has taken one: the next claim says so */
    char text[PARKING_TEXT_MAX_BYTES];
    char shown[PARKING_NAME_MAX_BYTES]; /* its destination, as people know it */
    size_t name_size;
    uint8_t name[];
};

/* NULL: out of memory. */
struct parked_route *parking_route_get(struct parking *parking, struct span name);

/* Set when to try again, after a try that took ${spent_ns}. */
void parking_route_wait(struct parked_route *route, uint64_t spent_ns);

/* A report about a route that was not made yet. */
void parking_route_tell(struct parking *parking, struct parked_route *route);

/* Forget the route if nothing waits for it, ${why} that is so. */
void parking_route_remove(
    struct parking *parking, struct parked_route *route, enum parking_news why);

#endif
