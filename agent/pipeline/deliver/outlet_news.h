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
 * What the lanes of an output have to say, as one voice: in words for people, and in the ledger. An
 * output is degraded while one of its lanes is, and both ends of that are told once and in order.
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

    struct plat_mutex mutex; /* held while people are told; for what follows */
    size_t degraded_lanes;
    size_t parked_routes; /* these make it degraded, too */
    bool full;            /* so much is parked that the output waits */
};

/* The members above the mutex are set. */
void outlet_news_init(struct outlet_news *news);
void outlet_news_fini(struct outlet_news *news);

/* What a lane's host has to say. ${ended}: nothing is tried again. Any lane. */
void outlet_news_tell(
    struct outlet_news *news, enum delivery_news what, const char *text, bool ended);

/* What became of a route, for which events are held. Any lane. */
void outlet_news_parked(
    struct outlet_news *news, enum parking_news what, const char *route, const char *text);

/* So much is held that the oldest ${count} events of that were given up. Any lane. */
void outlet_news_gave_way(struct outlet_news *news, size_t count);

/* So much is held that the output takes no more, or it goes on. Any lane. */
void outlet_news_full(struct outlet_news *news, bool full);

/* Keep refused records of ${batch}, which is of ${epoch}, as dead letters. Where there is no room for more,
 * recorded events wait (ERR_LIMIT), while live ones take the place of the oldest. Any lane. */
bool outlet_news_keep(const struct outlet_news *news, uint64_t epoch, const struct batch *batch,
    const struct delivery_refusal *refusals, size_t count, struct error *err);

#endif
