#ifndef ETWSHIP_PIPELINE_TAP_H
#define ETWSHIP_PIPELINE_TAP_H

#include "base/buf.h"
#include "filter/filter.h"

/*
 * Taps: copies of some of the events that pass, for a client that watches. Workers never wait for a
 * tap: events beyond the rate, or without room, are left out and counted. Without open taps, a slab
 * costs one read of a number.
 *
 * A hub outlives the pipelines that use it; a tap belongs to one of them and ends with it.
 */
struct tap_hub;
struct tap;

enum {
    TAP_MAX = 4,
    TAP_MAX_RATE = 10000,
    TAP_ROOM_BYTES = 128 * 1024,
    /* So many events a second are asked whether the filter wants them:
     * at high rates this costs more than all else. */
    TAP_LOOKS = 20000,
};

struct tap_settings {
    size_t session;        /* whose events; SIZE_MAX: those of a stream */
    size_t stream;         /* the same */
    struct filter *filter; /* what of it; the tap's, also if it is not opened. NULL: all */
    unsigned rate;         /* events a second, 1 to TAP_MAX_RATE */
    size_t worker_count;   /* of the pipeline */
    size_t session_count;  /* with the agent itself */
};

struct tap_hub *tap_hub_create(struct error *err);
void tap_hub_destroy(struct tap_hub *hub); /* no tap is open any more. NULL is fine */

/* The pipeline ends: its workers have ended, or do not use taps any more. */
void tap_hub_end(struct tap_hub *hub); /* NULL is fine */

/* ---- who looks on: one thread for each tap --------------------------------------------------- */

/* NULL with ${err} set: ERR_LIMIT, too many look on. */
struct tap *tap_open(struct tap_hub *hub, const struct tap_settings *settings, struct error *err);
void tap_close(struct tap *tap);

/* Append what has come, whole lines, and let as much come as the rate allows in ${passed_ns}.
 * False: the pipeline has ended. */
bool tap_take(struct tap *tap, uint64_t passed_ns, struct buf *out);

/* Events that were left out since this was asked last. */
uint64_t tap_omitted(struct tap *tap);

/* ---- workers --------------------------------------------------------------------------------- */

/* The taps that are open, for one slab. */
struct tap_view {
    struct tap *taps[TAP_MAX];
    size_t sessions[TAP_MAX]; /* of each: tap_settings.session */
    size_t streams[TAP_MAX];
    uint64_t omitted[TAP_MAX]; /* by this worker, until it leaves */
    size_t count;
};

void tap_acquire(struct tap_hub *hub, struct tap_view *ret_view); /* ${hub} NULL: none */
void tap_release(struct tap_hub *hub, struct tap_view *view);

/* For every event: as short as can be. */
static inline bool tap_is_of_session(const struct tap_view *view, size_t index, size_t session)
{
    return view->sessions[index] == session;
}

static inline bool tap_is_of_stream(const struct tap_view *view, size_t index, size_t stream)
{
    return view->sessions[index] == SIZE_MAX && view->streams[index] == stream;
}

/* Which worker asks, and for an event of which session. */
struct tap_asker {
    size_t worker;
    size_t session;
    const struct codepage *ansi;            /* of the session; NULL: 1252 */
    const struct event_path_context *paths; /* what the event is looked at with */
};

/* True if tap ${index} of ${view} accepts another event; else the event is counted as left out.
 * Costs one read of a number that seldom changes. */
bool tap_may_want(struct tap_view *view, size_t index);

/* Is ${event} to be given? After tap_may_want. */
bool tap_wants(
    struct tap_view *view, size_t index, const struct tap_asker *asker, const struct event *event);

/* One record of text, after tap_wants. */
void tap_give(struct tap_view *view, size_t index, struct span text);

/* Count an event that was wanted, but is not given. */
void tap_omit(struct tap_view *view, size_t index);

#endif
