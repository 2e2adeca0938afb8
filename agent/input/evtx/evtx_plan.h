#ifndef ETWSHIP_INPUT_EVTX_PLAN_H
#define ETWSHIP_INPUT_EVTX_PLAN_H

#include "input/evtx/evtx_event.h"

/*
 * Plans make the event of a record from the record's values alone. A plan is made from a first
 * record. It serves all records of its chunk that use the template with values of equal types. The
 * result is that of evtx_tree_read and evtx_event_fill, without their work.
 */
struct evtx_plan;

enum { EVTX_PLANS_SLOTS = 256, EVTX_PLANS_BYTES = 512 * 1024 };

/* The plans of one chunk. */
struct evtx_plans {
    struct evtx_plan *slots[EVTX_PLANS_SLOTS];
    size_t used; /* bytes of memory */
    bool is_instance;
    struct evtx_instance instance; /* read by evtx_plans_find */
    _Alignas(16) uint8_t memory[EVTX_PLANS_BYTES];
};

/* Forget all plans, before another chunk. */
void evtx_plans_clear(struct evtx_plans *plans);

/* The plan for the record whose binary XML begins at ${at} of ${chunk}, with the record's values in
 * ${room}. NULL: there is none. */
struct evtx_plan *evtx_plans_find(struct evtx_plans *plans, struct evtx_room *room,
    struct span chunk, uint32_t at, uint32_t size);

/*
 * Fill ${event} with the values in ${room}; ${work} as in evtx_tree_read. False: the plan does not
 * fit the values, or they cost too much work; ${event} is then unusable.
 */
bool evtx_plan_run(
    struct evtx_plan *plan, const struct evtx_room *room, uint32_t *work, struct evtx_event *event);

/* A plan whose template names the machine remembers the trace of its records; NULL: it has none. */
const struct trace_info *evtx_plan_trace(const struct evtx_plan *plan);
void evtx_plan_set_trace(struct evtx_plan *plan, const struct trace_info *trace);

/* Make the plan for the record that was passed to evtx_plans_find, then read into ${tree} and
 * ${event} without a problem, and cost ${work}. Does nothing if such records can have no plan, or
 * memory is used up. */
void evtx_plans_add(struct evtx_plans *plans, const struct evtx_room *room,
    const struct evtx_tree *tree, const struct evtx_event *event, uint32_t work);

#endif
