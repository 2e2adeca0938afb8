#ifndef ETWSHIP_APP_AGENT_HISTORY_H
#define ETWSHIP_APP_AGENT_HISTORY_H

#include "base/buf.h"
#include "status/metric_set.h"

/*
 * For charts: how many events each session received, and each output had acknowledged, in the last
 * 15 minutes. A reload keeps it. One thread at a time.
 */
enum {
    AGENT_HISTORY_MARKS = 90,
    AGENT_HISTORY_EVERY_MS = 10000,
    AGENT_HISTORY_MAX_SERIES = 128, /* later ones are not kept */
};

struct agent_history;

struct agent_history *agent_history_create(void);          /* NULL: out of memory */
void agent_history_destroy(struct agent_history *history); /* NULL is fine */

/* Set a mark from the counters as they are now. Call it every AGENT_HISTORY_EVERY_MS. */
void agent_history_mark(struct agent_history *history, const struct metric_set *set);

/* {"every_s":10,"sessions":{"NAME":[events between two marks, the oldest first]},"outputs":{…}} */
void agent_history_json(const struct agent_history *history, struct buf *out);

#endif
