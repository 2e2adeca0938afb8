#ifndef ETWSHIP_PIPELINE_ROLLUP_H
#define ETWSHIP_PIPELINE_ROLLUP_H

#include "event/model/event_rollup.h"
#include "pipeline/slab/roll_list.h"

/*
 * The open windows of one stream of one session: for each key the first event, written, and how
 * many there were since. The sealer feeds it, slab by slab in the order of their tickets, so that
 * what comes out does not depend on workers; it is the sealer's, under its mutex.
 *
 * An event that is counted here is neither shipped nor settled: as long as its window is open, the
 * session's position stays before it (rollup_hold). So what a crash takes away is read again, where
 * a session is, and else lies in the time of the gap that tells of the crash.
 */
struct rollup;

/* Limits of open windows. Without room, a window is shipped with the events of its slab alone. */
enum { ROLLUP_MAX_WINDOWS = 4096, ROLLUP_MAX_BYTES = 4 * 1024 * 1024 };

/* ${replayable}: the session is read at any speed, so its windows are over by the time of events
 * alone, unless nothing comes for as long as a window is. NULL: out of memory. */
struct rollup *rollup_create(size_t route_count, bool replayable);
void rollup_destroy(struct rollup *rollup); /* with what is open; NULL is fine */

/* Note that the session had an event at plat_monotonic_ns() ${now_ns}. */
void rollup_feed(struct rollup *rollup, uint64_t now_ns);

/*
 * Add item ${index} of ${list}, after everything that was added before, as of the last rollup_feed.
 * ${ret_absorbed}: how many of its events have no record of their own any more. False: there is no
 * room, nothing was added.
 */
bool rollup_add(
    struct rollup *rollup, const struct roll_list *list, size_t index, uint64_t *ret_absorbed);

/* The number of the first event that is in an open window; UINT64_MAX: there is none.
 * Never goes back. */
uint64_t rollup_hold(const struct rollup *rollup);

/* A count that is over. */
struct rollup_record {
    struct roll roll;
    struct piece
        text; /* one record: the first event, without the count; with its routes and position as
                          far as the stream has them */
};

/*
 * The oldest window that is over: it ends at or before event time ${time} (UINT64_MAX: each does),
 * or it is open for longer than it is long at ${now_ns}. NULL: none is. The caller's, until
 * rollup_record_destroy.
 */
struct rollup_record *rollup_take(struct rollup *rollup, uint64_t time, uint64_t now_ns);
void rollup_record_destroy(struct rollup_record *record);

/* No window is over by the clock before; UINT64_MAX: none is open. */
uint64_t rollup_due(const struct rollup *rollup);

#endif
