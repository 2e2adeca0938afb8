#ifndef ETWSHIP_PIPELINE_GATE_H
#define ETWSHIP_PIPELINE_GATE_H

#include <stdatomic.h>

#include "filter/filter_edit.h"
#include "pipeline/slab/roll_list.h"
#include "pipeline/work/limiter.h"
#include "schema/cache/schema_cache.h"

/*
 * One list of filter rules at work: of the agent, a session or an output. Shared by all workers;
 * each has counters of its own and adds them to the total now and then.
 */
struct gate {
    const struct filter *filter;
    atomic_uint_fast64_t *hits;    /* by rule, then what no rule decided; NULL: not counted */
    atomic_uint_fast64_t *dropped; /* the part of them that was dropped; there if `hits` is */
    struct limiter *limiter;       /* there if a rule is a limit */
    bool rolls_up;                 /* a rule is a rollup */
};

/* A worker's side of a gate. */
struct gate_view {
    const struct gate *gate;
    uint64_t *hits;              /* since gate_flush; NULL: not counted */
    uint64_t *dropped;           /* the same; after them */
    enum filter_verdict verdict; /* on the event that is looked at */
    size_t rule;                 /* that decided, once it is not open */
    bool limited;                /* it is to KEEP, if gate_charge finds a token … */
    bool rolled;                 /* it is to be counted with others … */
    uint64_t key;                /* … in this bucket of the rule, or of these values */
    struct span unsure; /* name of its rule that could not be judged, for the caller to set */
};

bool gate_view_init(struct gate_view *view, const struct gate *gate, struct error *err);
void gate_view_fini(struct gate_view *view); /* zeroed is fine */

/* The next event comes: nothing is known about it. */
static inline void gate_begin(struct gate_view *views, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        views[i].verdict = FILTER_UNDECIDED;
        views[i].limited = false;
        views[i].rolled = false;
        views[i].unsure = span_make(NULL, 0);
    }
}

/*
 * Ask the gate while its verdict is open, with what is known by now: the record (${choice} NULL),
 * the definitions that may decode it, or the decoded event (${decoded}).
 */
enum filter_verdict gate_ask(struct gate_view *view, struct filter_scratch *scratch,
    const struct event *event, const struct schema_choice *choice, bool decoded);

/* Ask several, of which every one must keep the event: the first DROP, else UNDECIDED if one is. */
enum filter_verdict gate_ask_all(struct gate_view *views, size_t count,
    struct filter_scratch *scratch, const struct event *event, const struct schema_choice *choice,
    bool decoded);

/* The number of top-level fields of event->schema that open gates still test: see filter_fields.
 * Views without a gate do not count. */
uint16_t gate_fields(const struct gate_view *views, size_t count, struct filter_scratch *scratch,
    const struct event *event);

/* All that comes before a limit keeps the event: take a token, once for an event. False: there is
 * none, and the verdict is DROP. */
bool gate_charge(struct gate_view *view, size_t session, const struct event_record *record);

/* Apply what the gate's rules that edit do to ${event}, which is decoded, as it came, and kept. */
void gate_edit(struct gate_view *view, struct filter_scratch *scratch, const struct event *event,
    struct event_editor *editor);
/* Is the event, of FILETIME ${time}, that ${session} (${count} views) and ${stream} keep, to be
 * counted with others instead of written? By the first of their rules that rolls it up. */
bool gate_rolls(const struct gate_view *session, size_t count, const struct gate_view *stream,
    uint64_t time, struct roll_key *ret_key);

/* Add the counts of this worker to those of all. */
void gate_flush(struct gate_view *view);

#endif
