#ifndef ETWSHIP_PIPELINE_OUTLET_NEWS_H
#define ETWSHIP_PIPELINE_OUTLET_NEWS_H

#include "pipeline/batch/batch.h"
#include "pipeline/deliver/dead_letters.h"
#include "pipeline/deliver/delivery_host.h"
#include "pipeline/deliver/parking.h"
#include "pipeline/record/ledger.h"
#include "pipeline/slab/losses.h"
#include "platform/plat_thread.h"

/*
 * Reports of all lanes of an output, merged into one: as log lines, and in the ledger. An output is
 * degraded while one of its lanes is. Beginning and end are each reported once, in order.
 */
struct outlet_news {
    const char *output; /* its name; borrowed */
    size_t index;       /* in the ledger */
    struct ledger *ledger;
    struct dead_letters *dead_letters; /* NULL: what is refused is lost */
    const struct losses *losses;       /* knows which sessions are recorded; NULL: none is */
    size_t session_count;              /* the agent's own is the last one */
    void (*warn)(void *self, const char *output, const char *kind, const char *text);
    void *self;

    struct plat_mutex mutex; /* held while a line is logged; protects what follows */
    size_t degraded_lanes;
    size_t parked_routes; /* these make it degraded, too */
    bool full;            /* so much is parked that the output waits */
};

/* The members above the mutex are set. */
void outlet_news_init(struct outlet_news *news);
void outlet_news_fini(struct outlet_news *news);

/* Report news of a lane's host. ${ended}: nothing is tried again. Any lane. */
void outlet_news_tell(
    struct outlet_news *news, enum delivery_news what, const char *text, bool ended);

/* Report the state of a route for which events are held. Any lane. */
void outlet_news_parked(
    struct outlet_news *news, enum parking_news what, const char *route, const char *text);

/* So much is held that the oldest ${count} events of that were given up. Any lane. */
void outlet_news_gave_way(struct outlet_news *news, size_t count);

/* Report that the output holds as many records as it may and pauses, or that it resumes. Any
 * lane. */
void outlet_news_full(struct outlet_news *news, bool full);

/* Keep rejected records of ${batch}, from ${epoch}, as dead letters. Without room, recorded events
 * wait (ERR_LIMIT), while live ones replace the oldest. Any lane. */
bool outlet_news_keep(const struct outlet_news *news, uint64_t epoch, const struct batch *batch,
    const struct delivery_refusal *refusals, size_t count, struct error *err);

#endif
