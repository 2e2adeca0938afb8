#ifndef ETWSHIP_PIPELINE_LEDGER_H
#define ETWSHIP_PIPELINE_LEDGER_H

#include "base/error.h"
#include "base/histogram.h"
#include "base/span.h"
#include "pipeline/record/event_decode.h"

/*
 * The ledger of the agent: what came in, and what became of it. Entries are made per slab and per
 * batch under one lock, so that at every moment
 *
 *   per session: received = metadata + joined + filtered + accepted + dropped, all reasons
 *   per output:  offered  = filtered + rolled_up + acked + dead_lettered + dropped, all reasons +
 *                         pending
 *
 * Events of the agent itself (gaps, status) are counted apart. All functions: any thread.
 */
struct ledger;

/* Why a session's record did not become an accepted event. */
enum session_drop {
    SESSION_DROP_STACK_WALK,      /* left out on request: stack_walk: drop */
    SESSION_DROP_BUDGET_SAMPLED,  /* a provider of a live session is over its budget: … */
    SESSION_DROP_BUDGET_VERBOSE,  /* … one event in so many is kept, no verbose ones, … */
    SESSION_DROP_BUDGET_PROVIDER, /* … almost none */
    SESSION_DROP_FULL,            /* a live session, and the queue was full */
    SESSION_DROP_STOPPED,         /* the agent stopped before it was decoded */
    SESSION_DROP_SPOOL_FULL,      /* a live session, and the spool was full … */
    SESSION_DROP_SPOOL_DISK,      /* … or its disk */
    SESSION_DROP_COUNT,
};

struct session_counts {
    uint64_t received; /* records */
    uint64_t metadata; /* records that only carry metadata, and were not asked for */
    uint64_t joined;   /* StackWalk records that became part of an event */
    uint64_t filtered; /* events that the filters of agent and session dropped */
    uint64_t accepted; /* events offered to the streams */
    uint64_t dropped[SESSION_DROP_COUNT];
    uint64_t unlearned; /* metadata that was not learned: there was no room for it to wait */
    /* Of definitions that events carry, by all workers: schema_losses. */
    uint64_t definitions_evicted;
    uint64_t definitions_refused;
    uint64_t definitions_conflicts;
    uint64_t unmatched; /* of the events: StackWalk records for want of a partner */
    uint64_t gaps;
    uint64_t gaps_agent;       /* of these: the agent did not read the session for a while, … */
    uint64_t gaps_eventlog;    /* … or a channel of the Event Log lost records */
    uint64_t etw_events_lost;  /* by ETW, as gaps of stage "etw" tell: events, … */
    uint64_t etw_buffers_lost; /* … and buffers with an unknown number of them */
    uint64_t guard[GUARD_ACTIONS];    /* reports of its guard */
    uint64_t guard_ns[GUARD_ACTIONS]; /* plat_monotonic_ns of the last of each; 0: there was none */
    uint64_t loss_ns;   /* the same of a loss: a drop that was not asked for, or of Windows */
    uint64_t unread_ns; /* the same of gaps_agent */
    struct decode_counts decode; /* of the accepted events */
};

/* Why an output never got, or never took, an event. */
enum output_drop {
    OUTPUT_DROP_REJECTED,   /* the destination will never take it */
    OUTPUT_DROP_TOO_OLD,    /* retry.max_age */
    OUTPUT_DROP_ENDED,      /* the output cannot continue */
    OUTPUT_DROP_STOPPED,    /* undelivered at the deadline of the stop */
    OUTPUT_DROP_SPOOL_FULL, /* these are lost in a spool on a disk: the oldest make room in it … */
    OUTPUT_DROP_SPOOL_DISK,    /* … or on the disk … */
    OUTPUT_DROP_SPOOL_TOO_OLD, /* … or waited longer than spool.max_age … */
    OUTPUT_DROP_SPOOL_DAMAGED, /* … or cannot be read any more */
    OUTPUT_DROP_COUNT,
    /* Of gaps alone: it was a dead letter, and counts as one, but made room for another one. */
    OUTPUT_LETTER_EVICTED = OUTPUT_DROP_COUNT,
};

enum { LEDGER_PARKED_MAX_BYTES = 800, LEDGER_TROUBLE_MAX_BYTES = 500 };

struct output_counts {
    uint64_t offered;  /* accepted events of its sessions */
    uint64_t filtered; /* by its own filters */
    uint64_t
        rolled_up; /* counted in the record of another one; that is pending from the first on */
    uint64_t acked;
    uint64_t dead_lettered;
    uint64_t kept_too_old; /* of these: given up after retry.max_age */
    uint64_t dropped[OUTPUT_DROP_COUNT];
    uint64_t pending;
    uint64_t parked;        /* of the pending: held, as their routes accept nothing; approximate */
    uint64_t parked_routes; /* these routes */
    char parked_first[LEDGER_PARKED_MAX_BYTES]; /* "ROUTE: why", of one of them */
    uint64_t bytes;                             /* acked */
    uint64_t batches;
    uint64_t retries;
    uint64_t unexpected_duplicates; /* of the acked: already there, though never sent */
    uint64_t maybe_duplicates;      /* sent again, and may have arrived before */
    const char *guarantee;          /* output_env.guarantee; NULL: none */
    bool degraded;                  /* its set-up must be corrected; it tries again slowly */
    char trouble[LEDGER_TROUBLE_MAX_BYTES]; /* why it does not deliver now; "": it does */
    uint64_t progress_ns;     /* of the last settlement, or since when something is pending */
    uint64_t loss_ns;         /* of the last drop; 0: there was none */
    uint64_t refused_ns;      /* of the last dead letter; 0: the same */
    struct histogram latency; /* of acked live events: from their time stamp to the ack */
    /* Events of the agent itself. */
    uint64_t own_offered;
    uint64_t own_acked;
    uint64_t own_dropped;
    uint64_t own_pending;
};

/* For `dropped` in status events: "queue", "full". */
const char *ledger_session_drop_stage(enum session_drop reason);
const char *ledger_session_drop_reason(enum session_drop reason);
const char *ledger_output_drop_stage(enum output_drop reason);
const char *ledger_output_drop_reason(enum output_drop reason);
const char *ledger_output_drop_name(enum output_drop reason); /* one for each of the two together */

struct ledger *ledger_create(size_t session_count, size_t output_count, struct error *err);
void ledger_destroy(struct ledger *ledger); /* NULL is fine */

/* Add ${counts} to the session's. Their times are not looked at. */
void ledger_add_session(struct ledger *ledger, size_t session, const struct session_counts *counts);

/* ${events} of a stream were offered to an output, of which ${filtered} its filters took; the rest
 * is pending. ${own}: events of the agent itself. */
void ledger_offer(
    struct ledger *ledger, size_t output, uint64_t events, uint64_t filtered, bool own);

/* ${events} of those that are pending are counted in the record of another one. */
void ledger_roll_up(struct ledger *ledger, size_t output, uint64_t events);

/* How pending events were settled. */
struct ledger_settlement {
    uint64_t acked;
    uint64_t bytes; /* of the acked ones */
    uint64_t dead_lettered;
    uint64_t kept_too_old; /* of these */
    uint64_t dropped[OUTPUT_DROP_COUNT];
    uint64_t unexpected_duplicates;
    uint64_t maybe_duplicates;
};
void ledger_settle(
    struct ledger *ledger, size_t output, const struct ledger_settlement *settlement, bool own);

/* An output is going to try a batch again. */
void ledger_retry(struct ledger *ledger, size_t output);

/* So many ${events} of an output are held for so many ${routes}; ${first} as
 * output_counts.parked_first. */
void ledger_set_parked(
    struct ledger *ledger, size_t output, uint64_t events, uint64_t routes, const char *first);

/* The delivery guarantee of the output now; a static text. */
void ledger_set_guarantee(struct ledger *ledger, size_t output, const char *guarantee);

void ledger_set_degraded(struct ledger *ledger, size_t output, bool degraded);

/* Why the output does not deliver; "": it does again, as it also does with the next ack. */
void ledger_set_trouble(struct ledger *ledger, size_t output, const char *why);

/* ${events} of live sessions were acked ${ms} after the time that they carry. */
void ledger_add_latency(struct ledger *ledger, size_t output, uint64_t ms, uint64_t events);

/* Wait until no output has an event pending (those of the agent itself apart), at the latest until
 * plat_monotonic_ns() reaches the deadline of ledger_set_deadline. */
void ledger_wait_settled(struct ledger *ledger);
void ledger_set_deadline(struct ledger *ledger, uint64_t deadline_ns);

/* The output has ended, and a spool keeps its pending events for the next run: ledger_wait_settled
 * does not wait for it. */
void ledger_end_output(struct ledger *ledger, size_t output);

/* One consistent look: arrays of session_count and output_count entries; either may be NULL. */
void ledger_look(
    struct ledger *ledger, struct session_counts *ret_sessions, struct output_counts *ret_outputs);

/* Do the equations above hold? For tests, and for the agent's own watch over itself. */
bool ledger_session_balances(const struct session_counts *counts);
bool ledger_output_balances(const struct output_counts *counts);

/* By how many events they do not: 0. */
uint64_t ledger_session_error(const struct session_counts *counts);
uint64_t ledger_output_error(const struct output_counts *counts);

#endif
