#ifndef ETWSHIP_PIPELINE_LOSSES_H
#define ETWSHIP_PIPELINE_LOSSES_H

#include "pipeline/batch/batch.h"
#include "pipeline/slab/slab_queue.h"

/*
 * Losses after the sources, before they are shipped as gaps: events that an output did not deliver,
 * or that the agent left undecoded when it stopped. One gap is open per session, output and reason,
 * with its place reserved from the beginning. Losses are added to it until it is shipped as an
 * event of its session, to every output that takes the session. All functions: any thread.
 */
struct losses;

struct losses_settings {
    size_t session_count;
    const char *const *sessions; /* names; borrowed, as the list */
    /* By session: undelivered events are read again after a restart,
     * so they are not lost. Copied. */
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

/* Losses of one run in this process for those of the next. Zeroed is empty.
 * One thread at a time. */
struct losses_left {
    struct loss_left **items;
    size_t count;
};

/* Nothing is shipped from here on but by losses_close: outputs are about to end,
 * and may take no gap any more. */
void losses_hold(struct losses *losses);
bool losses_are_held(const struct losses *losses);

/* Add what is open to ${left}, and nothing is open any more. False: no memory, and some is. */
bool losses_hand_over(struct losses *losses, struct losses_left *left);

/* Move the losses of ${left} here, by name. Its run, sessions and outputs need not exist here.
 * Losses for which there is no memory stay in ${left}. */
void losses_take(struct losses *losses, struct losses_left *left);

void losses_left_fini(struct losses_left *left);

/* Before the ledger knows of it, so that what is settled there has been added here. */
void losses_add(struct losses *losses, const struct loss *loss);

/* As losses_add, for ${count} records of ${batch}, which is none of the agent's own, from ${first}
 * on: each is lost to the session that it is of. */
void losses_add_records(struct losses *losses, const struct batch *batch, size_t first,
    size_t count, size_t output, enum output_drop reason);

/* Count lost events that waited for an output that this run does not have: reported as a gap of the
 * agent, with the output's name. Only with a store. */
void losses_add_stranger(struct losses *losses, struct span output, enum output_drop reason,
    uint64_t count, struct time_range times);

/* Ship the gaps that are due: the first at once, further ones when the one before is on its way to
 * the outputs and gap_age has passed. */
void losses_ship(struct losses *losses);

/* A thread that does so whenever one gets due. False with ${err} set: there is none.
 * losses_stop waits for its end; fine where there is none. */
bool losses_start(struct losses *losses, struct error *err);
void losses_stop(struct losses *losses);

struct store;

/*
 * The store keeps open gaps until the batches that report them are committed in the same
 * transaction, so a crash loses no count (it may report one twice). losses_load: open the gaps that
 * the last run left, before anything is shipped. Gaps of sessions that no longer exist are reported
 * as the agent's, with the name of their output, whether it exists or not. losses_begin is called
 * when a commit begins, losses_stage when everything that was sealed before that is staged (or not
 * ${all} of it).
 */
bool losses_load(struct losses *losses, struct store *store, struct error *err);
void losses_begin(struct losses *losses);
bool losses_stage(struct losses *losses, struct store *store, bool all, struct error *err);

/* No output will lose more: ship what is open, due or not. Waits for memory. */
void losses_close(struct losses *losses);

#endif
