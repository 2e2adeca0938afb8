#ifndef ETWSHIP_PIPELINE_DELIVERY_HOST_H
#define ETWSHIP_PIPELINE_DELIVERY_HOST_H

#include "outputs/output.h"

/*
 * Delivers batches through one output: the only place that retries, backs off and counts what did
 * not arrive. deliver() returns when every record of the batch is settled; a batch that cannot be
 * settled because the agent is stopping is counted as undelivered.
 */
struct delivery_host;

struct delivery_host_settings {
    const struct output_ops *ops;
    const void *settings; /* of the output; borrowed */
    const char *name;     /* of the output; borrowed */
    bool give_up; /* the first failure ends the output: for commands that a person waits for */

    /* Asked while waiting for the next try. */
    bool (*stopping)(void *self);
    /* Told, once per series of failures, why delivery has to wait. */
    void (*warn)(void *self, const char *output, const char *text);
    void *self;
};

struct delivery_counts {
    uint64_t delivered;
    uint64_t rejected;    /* refused by the destination for good */
    uint64_t undelivered; /* given up on: the agent stopped, or the output ended */
    uint64_t bytes;       /* delivered */
    uint64_t retries;
};

/* NULL with ${err} set if the output cannot be made. */
struct delivery_host *delivery_host_create(
    const struct delivery_host_settings *settings, struct error *err);
void delivery_host_destroy(struct delivery_host *host); /* NULL is fine */

/* False if the output has ended and will take nothing more. */
bool delivery_host_deliver(struct delivery_host *host, const struct delivery *delivery);

struct delivery_counts delivery_host_counts(const struct delivery_host *host);

/* Has the reader of the output gone away (a closed pipe)? Then ending is no failure. */
bool delivery_host_closed(const struct delivery_host *host);

#endif
