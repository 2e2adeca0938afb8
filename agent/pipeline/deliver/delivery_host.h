#ifndef ETWSHIP_PIPELINE_DELIVERY_HOST_H
#define ETWSHIP_PIPELINE_DELIVERY_HOST_H

#include "outputs/output.h"

/*
 * Delivers batches through one output: the only place that retries, backs off and counts what did
 * not arrive. deliver() returns when every record of the batch is settled or parked; a batch that
 * cannot be settled because the agent is stopping is counted as undelivered.
 *
 * One thread at a time, as a rule one for each host; its callbacks are called on that thread.
 */
struct delivery_host;

/* back_off.h says how the two bounds are used. */
struct delivery_retry {
    unsigned min_ms;
    unsigned max_ms;
    uint64_t max_age_ns; /* records that were tried for longer are given up; 0: never */
};

/* Why a record was not delivered. */
enum delivery_loss {
    DELIVERY_REJECTED,    /* the destination will never take it, and no dead letter keeps it */
    DELIVERY_TOO_OLD,     /* given up on after retry.max_age, and no dead letter keeps it */
    DELIVERY_UNDELIVERED, /* given up on: the agent stopped, or the output ended */
};

/* News for the log. Each kind is reported once until a batch is delivered completely,
 * DELIVERY_MENDED whenever it happens. */
enum delivery_news {
    DELIVERY_FAILS,      /* it is tried again, unless the output has ended */
    DELIVERY_REFUSED,    /* records that the destination will never take */
    DELIVERY_DEGRADED,   /* the output's set-up must be corrected: tried again slowly */
    DELIVERY_MENDED,     /* no longer degraded: it delivers again */
    DELIVERY_DUPLICATES, /* the destination had records already that were not sent before */
    DELIVERY_AGED,       /* records are given up after retry.max_age: reported each time */
};

/* At most so many refused records are handed to `keep` at a time. */
enum { DELIVERY_KEPT_AT_ONCE = 256 };

/* A record that the destination will never take. Views, valid during the call. */
struct delivery_refusal {
    size_t record;  /* of the delivery */
    uint32_t place; /* in the batch, as delivery.places says */
    struct span document;
    struct span route; /* where it was routed to; empty: the output has no routes */
    struct span id;    /* what it is called for ever (delivery_id.h); empty: nothing */
    struct output_rejection why;
};

struct delivery_host_settings {
    const struct output_ops *ops;
    const void *settings;         /* of the output; borrowed */
    const char *name;             /* of the output; borrowed */
    const struct output_env *env; /* except its name; NULL: none. Copied */
    struct delivery_retry retry;
    bool ends_on_failure; /* at the first one: for commands that a person waits for */

    /* Asked while waiting for the next try. */
    bool (*stopping)(void *self);
    /* Before each retry: wait for ${ms}; false if the agent is stopping. NULL: sleep, and ask
     * `stopping`. */
    bool (*wait)(void *self, unsigned ms);
    /* Before each try: wait until the destination may be asked at all, as other objects of the
     * output know, too; false if the agent is stopping. NULL: it always may. */
    bool (*clear)(void *self);
    /* The destination asks for no request for ${ms}, from any object of the output. May be NULL. */
    void (*keep_quiet)(void *self, unsigned ms);
    /* May be NULL. */
    void (*tell)(void *self, enum delivery_news news, const char *text);
    /*
     * Keep records that the destination refuses, durably: they are settled when this has returned
     * true, and are tried again after false with ${err} set. ERR_LIMIT: room must be made, so
     * they are tried again slowly, and the output counts as degraded. NULL: they are lost.
     */
    bool (*keep)(
        void *self, const struct delivery_refusal *refusals, size_t count, struct error *err);
    /*
     * Park record ${record} of the delivery until its destination accepts events again. The record
     * leaves the delivery unsettled. ${why}: the answer of the destination, valid during the call.
     * NULL: blocked records are sent again with the others. A record older than retry.max_age is
     * given up, if possible, instead of parked again.
     */
    void (*park)(void *self, size_t record, const struct output_rejection *why);
    /* Told of each record that is given up on: ${count} of the delivery, from ${first} on. NULL:
     * it is not wanted. */
    void (*lost)(void *self, size_t first, size_t count, enum delivery_loss why);
    /* Called with the unsettled records of a partly settled delivery: ${count} numbers, ascending.
     * NULL: not wanted. */
    void (*left)(void *self, const uint32_t *records, size_t count);
    void *self;
};

struct delivery_counts {
    uint64_t delivered;
    uint64_t dead_lettered; /* refused or too old, and kept */
    uint64_t kept_too_old;  /* of these */
    uint64_t rejected;      /* these three: enum delivery_loss */
    uint64_t too_old;
    uint64_t undelivered;
    uint64_t bytes; /* delivered */
    uint64_t retries;
    uint64_t unexpected_duplicates; /* of the delivered ones */
    uint64_t maybe_duplicates;      /* sent again, and may have arrived before */
    uint64_t maybe_lost;            /* counted as delivered, and may have been lost; at most */
};

/* NULL with ${err} set if the output cannot be made. */
struct delivery_host *delivery_host_create(
    const struct delivery_host_settings *settings, struct error *err);
void delivery_host_destroy(struct delivery_host *host); /* NULL is fine */

/* False if the output has ended and accepts nothing more. */
bool delivery_host_deliver(struct delivery_host *host, const struct delivery *delivery);

/* As delivery_host_deliver, for records that were first tried when plat_monotonic_ns() was
 * ${since_ns}, for retry.max_age. ${parked}: they were parked before. If the output is degraded, or
 * they are too old and cannot be kept now, they are parked again after one try, because records for
 * other routes may be accepted meanwhile. */
bool delivery_host_deliver_since(
    struct delivery_host *host, const struct delivery *delivery, uint64_t since_ns, bool parked);

/* Nothing is there to send: let the output do what it does then. Returns when it wants to be called
 * again, as output_ops.idle does. */
uint64_t delivery_host_idle(struct delivery_host *host);

/* Append the output's checkpoint to ${out}. False if it has none (then ${err} is untouched and its
 * code ERR_NONE, if it was), or cannot tell. */
bool delivery_host_checkpoint(struct delivery_host *host, struct buf *out, struct error *err);

struct delivery_counts delivery_host_counts(const struct delivery_host *host);

/* True if the output has ended: it accepts nothing more. */
bool delivery_host_ended(const struct delivery_host *host);

/* Has the reader of the output gone away (a closed pipe)? Then ending is no failure. */
bool delivery_host_closed(const struct delivery_host *host);

#endif
