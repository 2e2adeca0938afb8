#ifndef ETWSHIP_INPUT_EVTX_PLAN_H
#define ETWSHIP_INPUT_EVTX_PLAN_H

#include "input/evtx/evtx_event.h"

/*
 * Plans: how to make the event of a record from its values alone. A plan is made from a first record, and serves
 * those of its chunk that use the same template with values of the same types. It gives what evtx_tree_read and
 * evtx_event_fill would give, without their work.
 */
struct evtx_plan;

enum { EVTX_PLANS_SLOTS = 256, EVTX_PLANS_BYTES = 512 * 1024 };

/* The plans of one chunk. */
struct evtx_plans {
    struct evtx_plan *slots[EVTX_PLANS_SLOTS];
    size_t used; /* bytes of memory */
    bool is_instance;
    struct evtx_instance instance; /* that evtx_plans_find read */
    _Alignas(16) uint8_t memory[EVTX_PLANS_BYTES];
};

/* Forget all plans: another chunk follows. */
void evtx_plans_clear(struct evtx_plans *plans);

/* The plan for the record whose binary XML begins at ${at} of ${chunk}. NULL: there is none. ${room} has the values
 * of the record then. */
struct evtx_plan *evtx_plans_find(struct evtx_plans *plans, struct evtx_room *room,
    struct span chunk, uint32_t at, uint32_t size);

/*
 * Fill ${event} with the values in ${room}; ${work} as for evtx_tree_read. False: the plan does not
 * fit the values, or they are too much work; ${event} is unusable then.
 */
bool evtx_plan_run(
    struct evtx_plan *plan, const struct evtx_room *room, uint32_t *work, struct evtx_event *event);

/* The traces of records with a machine of their own: where a plan knows the machine, it remembers the trace. NULL: it
 * does not. */
const struct trace_info *evtx_plan_trace(const struct evtx_plan *plan);
void evtx_plan_set_trace(struct evtx_plan *plan, const struct trace_info *trace);

/* Make the plan for the record that evtx_plans_find was asked for, which was then read into ${tree} and ${event}
 * without a problem and took ${work}. Nothing happens if records of its kind can have none, or memory is used up. */
void evtx_plans_add(struct evtx_plans *plans, const struct evtx_room *room,
    const struct evtx_tree *tree, const struct evtx_event *event, uint32_t work);

#endif
