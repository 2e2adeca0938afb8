#ifndef ETWSHIP_PIPELINE_PROVIDER_BUDGET_H
#define ETWSHIP_PIPELINE_PROVIDER_BUDGET_H

#include "base/error.h"
#include "event/model/event.h"
#include "pipeline/batch/time_range.h"
#include "pipeline/work/provider_ladder.h"

/*
 * The budgets of one session's providers, by GUID, each with its ladder (provider_ladder.h), and
 * what was left out since the last report. One thread. Nothing is allocated per event.
 *
 * Records that describe others are always kept: metadata, manifests, rundowns (opcodes 3 and 4),
 * names of files and keys, stack keys, the configuration of the system. Those of the kernel cost
 * nothing. Others, which any process can write, are charged: its provider's other events give way.
 *
 * An event has the bytes of its payload, its extended items and its stack.
 */
struct provider_budget;

struct provider_share {
    struct guid provider;
    const char *name; /* for people and gaps; borrowed */
    struct provider_limit limit;
};

struct provider_budget_settings {
    const struct provider_share
        *shares; /* of one provider more than one: the least of each limit */
    size_t share_count;
    struct provider_limit others; /* of every other provider, each for itself; {0}: none */
};

/* Is there any budget? */
static inline bool provider_budget_is_given(const struct provider_budget_settings *settings)
{
    return settings->share_count > 0 || settings->others.events || settings->others.bytes;
}

struct provider_budget *provider_budget_create(
    const struct provider_budget_settings *settings, uint64_t now_ns, struct error *err);
void provider_budget_destroy(struct provider_budget *budget); /* NULL is fine */

/* Is the event kept (PROVIDER_CUT_NONE)? Else it counts as left out. */
enum provider_cut provider_budget_ask(struct provider_budget *budget,
    const struct event_record *record, uint32_t frame_count, uint64_t now_ns);

/* About once a second: may providers step down? */
void provider_budget_tick(struct provider_budget *budget, uint64_t now_ns);

/* True if a provider is on another step than the one last reported. */
struct provider_change {
    const char *provider; /* lives as long as the budget */
    const struct provider_limit *limit;
    unsigned from;
    unsigned to;
};

/* The next change: start with *cursor = 0; false at the end. */
bool provider_budget_next_change(
    struct provider_budget *budget, size_t *cursor, struct provider_change *ret_change);

/* Was anything left out since the last time? */
bool provider_budget_has_gaps(const struct provider_budget *budget);

/* Get the events that were left out of one provider for one reason since the last report, as a gap
 * that refers to the budget; they count as reported. Start with *cursor = 0; false at the end. */
bool provider_budget_next_gap(struct provider_budget *budget, size_t *cursor, struct gap *ret_gap);

/* For gaps and counters: "budget_sampled". */
const char *provider_budget_reason(enum provider_cut cut);

#endif
