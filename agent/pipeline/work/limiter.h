#ifndef ETWSHIP_PIPELINE_LIMITER_H
#define ETWSHIP_PIPELINE_LIMITER_H

#include "filter/filter.h"
#include "pipeline/batch/time_range.h"

/*
 * Buckets of tokens for the limits of one list of rules. Each session has its own, and in it each
 * limit: one, or one for each combination of values, as far as there is room; those beyond share
 * one. Time is that of the events, so a trace that is read again gives the same events, at whatever
 * speed.
 *
 * Any worker: the buckets of a session lie under several locks, by their key. Slabs that are worked
 * on side by side ask in any order: an event that is older than what its bucket has seen takes a
 * token as of then. Nothing is allocated per event.
 */
struct limiter;

/* Memory of the bucket table of a list in a session, if limits use fields. */
enum { LIMITER_BYTES = 128 * 1024 };

/* NULL: out of memory. ${filter} outlives it. */
struct limiter *limiter_create(
    const struct filter *filter, size_t session_count, struct error *err);
void limiter_destroy(struct limiter *limiter); /* NULL is fine */

/* Is there a token for an event of ${time} (FILETIME) in bucket ${key} of limit ${rule}? Else the
 * event counts as held back. */
bool limiter_take(
    struct limiter *limiter, size_t session, size_t rule, uint64_t key, uint64_t time);

/* How many events of the session were held back since the last time, and when they were. */
uint64_t limiter_held(struct limiter *limiter, size_t session, struct time_range *ret_times);

#endif
