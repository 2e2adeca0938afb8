#ifndef ETWSHIP_APP_SUMMARY_H
#define ETWSHIP_APP_SUMMARY_H

#include "base/buf.h"
#include "pipeline/record/event_observer.h"

/* The summary at the end of a run: events, bytes, providers, undecoded events, time. */
struct summary;

struct summary *summary_create(void); /* NULL: out of memory */
void summary_destroy(struct summary *summary);

/* Counts what it sees. */
struct event_observer summary_observer(struct summary *summary);

/* Counts of one provider so far. */
struct summary_provider {
    const struct guid *guid; /* NULL: all that found no row of their own */
    struct span name;        /* empty: unknown */
    uint64_t events;
    uint64_t undecoded; /* with those that were decoded in part */
};

/* Tell ${each} of every provider, in the order in which they came, also while events are counted on
 * another thread: each number is as it was a moment ago. */
void summary_look(const struct summary *summary,
    void (*each)(void *self, const struct summary_provider *provider), void *self);

/* Add the events of another one. */
void summary_merge(struct summary *summary, const struct summary *other);

/* Add what an output delivered, to what one of that name has. */
void summary_add_output(struct summary *summary, const char *name, uint64_t events, uint64_t bytes,
    uint64_t dead_letters);

/* Add what an output gave up after retry.max_age: ${kept} of its dead letters,
 * and what was ${lost}. */
void summary_add_too_old(struct summary *summary, const char *name, uint64_t kept, uint64_t lost);

/* Add records that an output sent again although they may have arrived. */
void summary_add_maybe_duplicates(struct summary *summary, const char *name, uint64_t records);

/* Add dead letters that were removed as there was no room for all. */
void summary_add_evicted(struct summary *summary, uint64_t letters);

/* The page for people, ended by a newline. */
void summary_write(const struct summary *summary, struct buf *out);

#endif
