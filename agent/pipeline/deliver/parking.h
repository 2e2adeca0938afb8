#ifndef ETWSHIP_PIPELINE_PARKING_H
#define ETWSHIP_PIPELINE_PARKING_H

#include <stdatomic.h>

#include "pipeline/batch/back_off.h"
#include "pipeline/deliver/delivery_host.h"
#include "pipeline/spool/spool.h"
#include "platform/plat_thread.h"

/*
 * Holds records whose route accepts nothing now, while the output continues with all others. A
 * route with such records is parked: later records for it are held too, in the order of the
 * batches, so none overtakes another. The batches stay in the spool, not acked. A claim returns the
 * oldest batch of a route that is due for a try, with its records for that route and for other due
 * routes whose oldest records it has. Accepted records open the route step by step. A route that
 * refuses every event (RECORD_HELD) is claimed alone, because the output sends one of its events
 * first. Every other claim of such a route is of an event that came later, and of that event alone,
 * as the oldest events may be bad themselves. If it is taken, the destination works: the oldest
 * events are tried next, in their order.
 *
 * Any thread; functions for a claimed batch: only the thread that claimed it. Bounded by
 * parking_is_full, which a lane asks before it takes a batch. Embedded.
 */
enum {
    PARKING_MAX_BATCHES = 4096,
    PARKING_MAX_RECORDS = 2 * 1024 * 1024, /* four bytes each */
    PARKING_MAX_ROUTES = 1024,
    PARKING_TEXT_MAX_BYTES = 400,
    PARKING_NAME_MAX_BYTES = 256,
};

enum parking_news {
    PARKING_PARKED,  /* it accepts nothing: the answer of the destination */
    PARKING_REFUSES, /* it is parked, and refuses every event for itself from now on */
    PARKING_OPENED,  /* it takes events again */
    PARKING_EMPTY,   /* nothing is held for it any more, as that was given up */
};

struct parked_route;

/* Records of one batch for one route. */
struct parked_group {
    struct parked_group *next; /* of the route, by batch */
    struct parked_group *previous;
    struct parked_group *sibling; /* of the batch */
    struct parked_route *route;
    struct parked_batch *batch;
    bool claimed; /* not among those of the route */
    size_t probe; /* if the route refuses: which record to ask for next, modulo their number */
    size_t count;
    uint32_t records[]; /* of the batch, ascending */
};

struct parked_batch {
    struct parked_batch *next; /* of all */
    struct parked_batch *previous;
    struct spool_item item;
    uint64_t number;
    uint64_t since_ns; /* when it was tried first; plat_monotonic_ns */
    bool own;          /* events of the agent itself */
    bool live;         /* its events cannot be read again, not one of them */
    bool busy;         /* a lane has claimed it */

    /* Of a claimed one. */
    bool probes;  /* one of its routes has not been opened */
    bool suspect; /* its route refuses every event for itself, so it is claimed alone */
    bool later;   /* a suspect one: claimed for one record, before older batches of its route */
    size_t probe; /* the claimed record that is asked for first, modulo their number */
    bool cleared; /* its route refused, and has taken an event since */
    uint64_t claimed_ns;
    bool undelivered; /* of the claimer: some of it is to be delivered by the next run */
    struct parked_group *groups;
};

struct parking_facts {
    uint64_t events; /* without those of the agent itself */
    uint64_t routes;
    char first[PARKING_NAME_MAX_BYTES + PARKING_TEXT_MAX_BYTES +
               2]; /* "ROUTE: what was said", of one of them; empty: there is none */
};

struct parking {
    struct plat_mutex mutex;
    struct delivery_retry retry;
    uint64_t max_bytes;
    size_t max_probes; /* at a time: claims of routes that have not been opened */
    size_t probe_count;
    uint64_t seed;
    struct parked_route *routes;
    struct parked_batch *batches;
    size_t route_count;
    size_t batch_count;
    uint64_t record_count;
    uint64_t event_count; /* of the records: not the agent's own */
    uint64_t bytes;       /* of the spool */
    atomic_bool any;      /* is a route parked? */

    /* Report the state of a route, by the name of its destination for people. With the mutex held.
     * May be NULL. */
    void (*tell)(void *self, enum parking_news news, const char *route, const char *text);
    void *self;
};

/* ${max_bytes}: of the spool that batches may keep. ${max_probes}: so many tries at a time may be
 * of what was not opened yet, as a destination may take its time to say no. */
void parking_init(struct parking *parking, const struct delivery_retry *retry, uint64_t max_bytes,
    size_t max_probes);
/* Batches that are left are freed, not acked. */
void parking_fini(struct parking *parking);

static inline bool parking_any(const struct parking *parking)
{
    return atomic_load(&parking->any);
}

/* No more batches had better be taken from the spool. */
bool parking_is_full(struct parking *parking);

/* Which of ${count} routes are parked: ${ret_parked} by their indexes. False: none of them is. */
bool parking_look(
    struct parking *parking, const struct span *names, size_t count, bool *ret_parked);

/* ${name} accepts nothing because of ${why}: park it from now on. Without memory, parking_put does
 * that. */
void parking_close_route(
    struct parking *parking, struct span name, const struct output_rejection *why);

/* The records of ${item}'s batch for which ${marks} is not 0, ready to be parked.
 * NULL: out of memory. */
struct parked_batch *parking_make(struct parking *parking, const struct spool_item *item,
    const uint8_t *marks, uint64_t since_ns);

/* Park what parking_make has made: now others may claim it. */
void parking_put(struct parking *parking, struct parked_batch *batch);

/* When a claim is worth the try: plat_monotonic_ns;
 * UINT64_MAX: nothing is parked, or all is claimed. */
uint64_t parking_due(struct parking *parking);

/*
 * A batch whose groups that are `claimed` are to be tried; it goes back with parking_return or
 * parking_end. ${retry_now}: once, whatever is due, as the agent stops. NULL: there is none now.
 */
struct parked_batch *parking_claim(struct parking *parking, bool retry_now);

/* Set ${marks} of the records in groups that are, or are not, ${claimed} to ${value}.
 * Returns how many. */
size_t parking_mark(const struct parked_batch *batch, bool claimed, uint8_t *marks, uint8_t value);

/* Records of the batch that are parked. */
size_t parking_count(const struct parked_batch *batch);

/* End a claim: records with a mark other than 0 are parked again, the others are settled. NULL: all
 * are parked again. ${answered}: the destination accepted some. True: nothing of the batch is left,
 * and the caller frees it. */
bool parking_return(
    struct parking *parking, struct parked_batch *batch, const uint8_t *marks, bool answered);

/* All of a claimed batch is over, whatever is left of it; it is the caller's to free. */
void parking_end(struct parking *parking, struct parked_batch *batch);

/* These three claim a batch that is not claimed, to be ended. NULL: there is none.
 * This one takes any. */
struct parked_batch *parking_drop(struct parking *parking);
/* The oldest of the live ones, if there is room when all of these are dropped. */
struct parked_batch *parking_drop_oldest(struct parking *parking);
/* The one of this number. */
struct parked_batch *parking_drop_number(struct parking *parking, uint64_t number);

/* Remove routes that were closed, and for which nothing was put. */
void parking_tidy(struct parking *parking);

void parked_batch_free(struct parked_batch *batch);

void parking_look_at(struct parking *parking, struct parking_facts *ret_facts);

#endif
