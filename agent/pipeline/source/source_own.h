#ifndef ETWSHIP_PIPELINE_SOURCE_OWN_H
#define ETWSHIP_PIPELINE_SOURCE_OWN_H

#include "pipeline/record/stack_join.h"
#include "pipeline/slab/gap_list.h"
#include "pipeline/source/source.h"
#include "pipeline/work/provider_budget.h"

/*
 * One thread, no lock: slabs are handed over through the queue. `slab` is being filled. While a
 * live source drops, `slab` is the full one that found no room; it keeps its place before the gap.
 *
 * A record is counted as received when it is known what becomes of it: at its emission by the join,
 * or as joined, left out or metadata. Those counts travel in the slab and reach the ledger with
 * what the workers add, so the ledger balances at every moment.
 */
enum { SOURCE_CLOCK_EVERY = 32 /* records between two looks at the clock */ };

/* The life of a source; source.c changes it in one function. */
enum source_state {
    SOURCE_READS,
    SOURCE_DROPS,   /* a live one, until there is room again and no gap is open */
    SOURCE_STOPPED, /* for good: it takes nothing more */
};

struct source {
    struct source_settings settings;
    struct stack_join *stacks;
    struct stack_join_counts told; /* to the ledger */
    struct source_counts counts;
    uint64_t events; /* numbered, without gaps */
    uint64_t newest; /* FILETIME */
    enum source_state state;

    struct slab *slab;
    uint64_t slab_opened_ns;
    struct slab *metadata;
    struct session_counts slab_counts; /* since the last slab */
    uint64_t left_out;                 /* slab.left_out, the same */
    uint64_t since_slab;               /* events left out, by any stage */
    unsigned until_clock;

    struct gap_list gaps;
    atomic_size_t reports_in_flight; /* of a guard */

    bool told_ahead;         /* of processes, since the last record */
    bool knows_processes;    /* all that the trace tells of, as they were told ahead and had room */
    uint64_t quiet_since_ns; /* no record since then; 0: there was one since the last pause */

    struct provider_budget *budget; /* NULL: none */
    uint64_t budget_now_ns;
    uint64_t budget_ticked_ns;
    uint64_t budget_told_ns; /* when gaps were shipped last */
    unsigned until_budget_clock;
};

/* ---- source.c: handing over ------------------------------------------------------------------ */

/* Queue the slab that is being filled. False if it stays: no room until ${deadline_ns}. */
bool source_hand_over(struct source *source, uint64_t deadline_ns);

/* Give the slab its counts, once. */
void source_complete(struct source *source, struct slab *slab);

/* Counts alone travel in an empty slab. */
void source_hand_over_counts(struct source *source);

/* Push the metadata, and wait as for an event; while events are dropped, push it only when there is
 * room for those. */
void source_offer_metadata(struct source *source);

/* It reads and drops in turns until it stops permanently. */
void source_change(struct source *source, enum source_state to);

/* The queue takes nothing more: what a slab holds is counted as dropped. */
void source_abandon(struct source *source, struct slab *slab);

/* ---- source_left_out.c: events that the gates drop by their headers -------------------------- */

/* stack_join_left_out_fn: the turn of an event that was dropped before it was copied. */
bool source_left_out_one(void *self, uint64_t time, uint64_t tag);

/* input_sink.leaves_out and left_out. */
bool source_left_out_ask(void *self, const struct event_record *record, uint64_t *ret_tag);
bool source_left_out_many(void *self, uint64_t tag, uint64_t count, uint64_t newest);

/* ---- source_gaps.c --------------------------------------------------------------------------- */

/* A record was lost that found no room. */
void source_gaps_add_loss(
    struct source *source, const char *reason, const struct event_record *record);

/* Ship the open gaps; ${force}: also where many are under way. */
void source_gaps_close(struct source *source, bool force);

/* input_sink.guard: ship what a guard did, and count it. */
void source_gaps_report(void *self, const struct guard_report *report);

/* While the source drops: gaps do not stay open for ever because there is no room. */
void source_gaps_close_old(struct source *source);

/* ---- source_files.c -------------------------------------------------------------------------- */

void source_files_sink(struct source *source, struct input_sink *ret_sink);

/* ---- source_budget.c ------------------------------------------------------------------------- */

/* Is the event within its provider's budget? Else it is counted. */
bool source_budget_keeps(
    struct source *source, const struct event_record *record, uint32_t frame_count);

/* Time has gone on: tell changes of steps, and ship what was left out as gaps. ${force}: all of it,
 * as the source ends. */
void source_budget_look(struct source *source, bool force);

#endif
