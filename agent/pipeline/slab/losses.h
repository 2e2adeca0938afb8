#ifndef ETWSHIP_PIPELINE_LOSSES_H
#define ETWSHIP_PIPELINE_LOSSES_H

#include "pipeline/batch/batch.h"
#include "pipeline/slab/slab_queue.h"

/*
 * What was lost after the sources, on its way to becoming gaps: events that an output did not
 * deliver, or that the stop of the agent left undecoded. One gap is open per session, output and
 * reason, with its place from the beginning; losses are added to it until it goes out, as an event
 * of its session, to every output that takes the session. All functions: any thread.
 */
struct losses;

struct losses_settings {
    size_t session_count;
    const char *const *sessions; /* names; borrowed, as the list */
    /* By session: what is left undelivered of it comes again after a restart, so it is no loss.
     * Copied. */
    const bool *comes_again;
    bool ends_with_us; /* but no agent follows this one, unless losses_expect_successor says so */
    const char *const *outputs; /* names; the list is copied, they are borrowed */
    size_t output_count;
    struct slab_queue *queue; /* where gaps go; borrowed */
    uint64_t gap_age_ns;      /* between two gaps of one session, output and reason */
};

struct loss {
    size_t session;
    size_t output; /* SIZE_MAX: none has had it, as it was not decoded */
    enum output_drop
        reason;      /* without an output: OUTPUT_DROP_STOPPED, OUTPUT_DROP_SPOOL_FULL or _DISK */
    bool held;       /* by limits of filters; then there is no reason */
    bool maybe_lost; /* it may have arrived, as a connection broke; then there is no reason */
    uint64_t count;  /* events */
    struct time_range times;
};

struct losses *losses_create(const struct losses_settings *settings, struct error *err);
void losses_destroy(struct losses *losses); /* its gaps have left the queue; NULL is fine */

/* Does the next run deliver what a stop leaves undelivered of the session? */
bool losses_comes_again(const struct losses *losses, size_t session);

/* Another agent follows this one, and knows where it was. Any thread. */
void losses_expect_successor(struct losses *losses);

/* Losses of one run in this process for those of the next. Zeroed is empty. One thread at a time. */
struct losses_left {
    struct loss_left **items;
    size_t count;
};

/* Nothing is shipped from here on but by losses_close: outputs are about to end, and may take no gap any more. */
void losses_hold(struct losses *losses);
bool losses_are_held(const struct losses *losses);

/* Add what is open to ${left}, and nothing is open any more. False: no memory, and some is. */
bool losses_hand_over(struct losses *losses, struct losses_left *left);

/* The losses of ${left} are open here, by their names, and that is empty: its run, or a session or output of it,
 * need not be here. What there is no memory for stays. */
void losses_take(struct losses *losses, struct losses_left *left);

void losses_left_fini(struct losses_left *left);

/* Before the ledger knows of it, so that what is settled there has been added here. */
void losses_add(struct losses *losses, const struct loss *loss);

/* As losses_add, for ${count} records of ${batch}, which is none of the agent's own, from ${first} on: each
 * is lost to the session that it is of. */
void losses_add_records(struct losses *losses, const struct batch *batch, size_t first,
    size_t count, size_t output, enum output_drop reason);

/* An output that this run does not have lost events that waited for it: told as the agent's, with its
 * name. Only where there is a store. */
void losses_add_stranger(struct losses *losses, struct span output, enum output_drop reason,
    uint64_t count, struct time_range times);

/* Ship the gaps that are due: the first at once, further ones when the one before is on its way to
 * the outputs and gap_age has passed. */
void losses_ship(struct losses *losses);

/* A thread that does so whenever one gets due. False with ${err} set: there is none. losses_stop waits for
 * its end; fine where there is none. */
bool losses_start(struct losses *losses, struct error *err);
void losses_stop(struct losses *losses);

struct store;

/*
 * Open gaps live in a store until the batches that tell of them do: then they come true together, and a
 * crash loses no count (it may tell one twice). losses_load: what the last run has left is open; what a
 * session has lost that is not there now is told as the agent's, and with the name of its output, be that
 * there or not; before anything is shipped. losses_begin is called when a commit begins, losses_stage when
 * everything that was sealed before that is staged (or not ${all} of it).
 */
bool losses_load(struct losses *losses, struct store *store, struct error *err);
void losses_begin(struct losses *losses);
bool losses_stage(struct losses *losses, struct store *store, bool all, struct error *err);

/* No output will lose more: ship what is open, due or not. Waits for memory. */
void losses_close(struct losses *losses);

#endif
