#ifndef ETWSHIP_PIPELINE_STACK_JOIN_H
#define ETWSHIP_PIPELINE_STACK_JOIN_H

#include "base/error.h"
#include "event/model/record.h"
#include "input/input.h"

/*
 * Kernel call stacks arrive as StackWalk records of their own after the event that they belong
 * to. The join holds events back until their stacks must have come, and hands them on in the order
 * in which they came, stack attached.
 *
 * A stack belongs to the event with its time stamp, thread and process (an event without thread
 * or process matches by time and processor). Held are at most 1 s of event time, 65,536 events and
 * 8 MB, whichever comes first. The key forms refer to stacks that other records define, before or
 * after: definitions are learned beforehand from the metadata pass, or as they come (stack_keys.h).
 * Sources: StackWalk classes of the kernel MOF; PERFINFO_STACKWALK_* in ntwmi.h.
 */
struct stack_join;

/* Called for each record, in order; frames are of the joined stack, none: count 0; ${tag} is what
 * it was pushed with. False stops. */
typedef bool stack_join_emit_fn(void *self, const struct event_record *record,
    const uint64_t *frames, uint32_t count, uint64_t tag);

/* Called in place of that for a record that was pushed by stack_join_leave_out. False stops. */
typedef bool stack_join_left_out_fn(void *self, uint64_t time, uint64_t tag);

struct stack_join_counts {
    uint64_t joined;    /* StackWalk records that became part of an event */
    uint64_t unmatched; /* StackWalk records handed on as events in STACK_WALK_JOIN */
    uint64_t dropped;   /* StackWalk records left out by STACK_WALK_DROP */
};

/* ${left_out} may be NULL where nothing is left out. */
struct stack_join *stack_join_create(enum stack_walk_mode mode, stack_join_emit_fn *emit,
    stack_join_left_out_fn *left_out, void *self, struct error *err);
void stack_join_destroy(struct stack_join *join); /* NULL is fine */

/* A definition of a stack key (StackWalk types 34, 35, 36) ahead of its time;
 * others are ignored. */
void stack_join_learn(struct stack_join *join, const struct event_record *record);

/* No record of ${trace} comes any more: remove the definitions of its stack keys. */
void stack_join_remove_trace(struct stack_join *join, const struct trace_info *trace);

/* The next record, with whatever the caller wants to know when its turn comes.
 * False if emit stopped. */
bool stack_join_push(struct stack_join *join, const struct event_record *record, uint64_t tag);

/*
 * The next record, which no output wants: all is as if it was pushed, down to the moment of its
 * turn and the stacks that belong to it, but that it is not copied and its turn is left_out's,
 * which gets its time and ${tag}. No StackWalk record. False if a callback stopped.
 */
bool stack_join_leave_out(struct stack_join *join, const struct event_record *record, uint64_t tag);

/* Is it a StackWalk record, which the join itself wants to see? */
bool stack_join_wants(const struct event_record *record);

/* Hand on everything held. False if emit stopped. */
bool stack_join_flush(struct stack_join *join);

struct stack_join_counts stack_join_counts(const struct stack_join *join);

#endif
