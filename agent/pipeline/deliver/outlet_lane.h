#ifndef ETWSHIP_PIPELINE_OUTLET_LANE_H
#define ETWSHIP_PIPELINE_OUTLET_LANE_H

#include <stdatomic.h>

#include "pipeline/batch/ack_mark.h"
#include "pipeline/batch/batch_part.h"
#include "pipeline/deliver/outlet.h"
#include "pipeline/deliver/outlet_news.h"
#include "pipeline/deliver/parking.h"
#include "platform/plat_thread.h"

/*
 * The insides of an outlet; not for users of outlet.h. A lane is a thread with an output object and
 * the host that retries for it. Lanes of one outlet share a cursor: each batch goes to one lane.
 */
enum { OUTLET_MAX_LANES = 64 };

struct outlet_lane {
    struct outlet *outlet;
    struct delivery_host *host;
    struct plat_thread *thread;
    bool done;
    bool waits;       /* as too much is parked */
    bool retried_now; /* it has tried again since the agent stops */
    uint32_t *ends;   /* for a part of a batch */
    size_t end_capacity;
    struct delivery_counts told; /* to the ledger */

    /* The current batch, and its records that the host has. */
    const struct spool_item *item;
    const struct batch *batch; /* of it */
    size_t first;
    struct batch_part part; /* unsettled records of a batch that an earlier run began */
    uint32_t *left;         /* what a host has left, as records of the batch */
    size_t left_capacity;
    const uint32_t *records; /* that the host has; NULL: those from `first` on */
    uint32_t *list;          /* for them */
    size_t list_capacity;
    bool tried;        /* the lane had it before, and it was parked in between */
    bool suspect;      /* it was parked because its route refuses every event for itself */
    size_t probe;      /* of a suspect batch: the record that the destination is asked for first */
    bool cleared;      /* its route refused every event, and has taken one since */
    uint64_t since_ns; /* when it was tried first */
    bool over;         /* there is no memory for it, and the outlet gives up */
    uint8_t *marks;    /* by record: 1: it is parked */
    size_t marks_capacity;
    size_t marks_count;    /* 0: none of the batch can be parked */
    size_t parked;         /* records that the last step parked */
    uint32_t closed_route; /* the route that was reported last as accepting nothing */
    bool *shut;            /* by route of the batch: it was parked before the batch was taken */
    size_t shut_capacity;
    bool any_shut; /* one of them was */
    size_t later;  /* segments of the batch from this one on: the host does not have them yet */
    bool noted;    /* the spool knows the unsettled records of the batch */
    uint64_t lost[OUTPUT_DROP_COUNT]; /* of the batch */
    uint64_t undelivered;             /* records neither delivered nor given up permanently */
    uint64_t delivered_before;        /* of it: an earlier run delivered them */

    uint64_t checkpoint_ns; /* when the last one was taken */
};

/* Whether the output itself has come to its end, as one of its objects says. */
enum outlet_end {
    OUTLET_OPEN,
    OUTLET_ENDED,  /* it takes nothing more */
    OUTLET_CLOSED, /* it accepts nothing more because its reader closed it */
};

struct outlet {
    struct outlet_settings settings;
    struct outlet_lane lanes[OUTLET_MAX_LANES];
    size_t lane_count;

    struct plat_mutex mutex;
    struct plat_cond changed;        /* `state`, `end`, a lane is done, or the mark has moved */
    _Atomic enum outlet_state state; /* outlet_move */
    uint64_t cancelled_ns;
    _Atomic enum outlet_end end; /* outlet_lane_end */

    /* Until then the destination wants to be asked nothing. */
    atomic_uint_fast64_t quiet_until_ns;
    struct outlet_news news;

    struct parking parking;
    bool parks;    /* the output has routes, and may hold what one of them does not take */
    bool restless; /* as reported to the spool */

    struct ack_mark mark;
    uint64_t *stored;      /* by session: the mark as of the checkpoint */
    struct buf checkpoint; /* belongs to `stored` */
    uint64_t change;
};

/* Makes the output object. False with ${err} set: there is none, and fini is not needed. */
bool outlet_lane_init(struct outlet_lane *lane, struct outlet *outlet, struct error *err);
void outlet_lane_fini(struct outlet_lane *lane);

/* For outlet_batch.c and outlet_parked.c, on the lane's thread. Has it to give up what it has in
 * hand? ${self}: the lane. */
bool outlet_lane_is_cancelled(const void *self);
/* Wait for ${ms}; false: there is nothing to wait for, as the outlet gives up or leaves. */
bool outlet_lane_pause(struct outlet_lane *lane, unsigned ms);
/* ${self}: the lane. */
void outlet_lane_warn(void *self, const char *text);

/* End the output object; joined. */
void outlet_lane_close(struct outlet_lane *lane);

/* The object of the lane has ended, and so has the outlet.
 * The first lane tells the owner. Without the mutex. */
void outlet_lane_end(struct outlet_lane *lane);

/* Wake the lanes that wait for a batch if they are to take none any more.
 * Any thread, without the mutex. */
void outlet_lane_turn_away(struct outlet *outlet);

/* Start the thread; it sets `done`, under the mutex, as the last thing it does. */
bool outlet_lane_start(struct outlet_lane *lane, struct error *err);

#endif
