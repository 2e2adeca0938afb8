#ifndef ETWSHIP_FILTER_FILTER_TRUTH_H
#define ETWSHIP_FILTER_FILTER_TRUTH_H

#include "event/model/record_process.h"
#include "filter/filter_program.h"

/*
 * Evaluates the expression of one rule for an event that may be partly known. Used by filter_run.c
 * and filter_plan.c, on the thread of the scratch.
 */
enum filter_truth { FILTER_IS_FALSE, FILTER_IS_TRUE, FILTER_IS_UNKNOWN };

struct filter_look {
    struct filter_scratch *scratch;
    const struct event *event;
    uint8_t known; /* enum event_path_need: the part of the event that may be examined */
    bool of_type;  /* and of that only EVENT_PATH_OF_TYPE, when evaluating for a type */
    bool met_more; /* of_type: a test needs the rest of the event */
    const struct filter_op *op;
    const struct filter_op *gave_up; /* a test of the current rule that exceeded its limits */
};

/* A value of ${scope} is used: note whether it may change later. */
static inline void filter_look_note(const struct filter_look *look, enum event_path_scope scope)
{
    look->scratch->placed |= scope == EVENT_PATH_OF_PLACE ||
                             (scope == EVENT_PATH_OF_PROCESS &&
                                 record_process_may_change(look->event->record));
}

/* UNKNOWN: the result depends on a part that may not be examined, or on a regular expression that
 * exceeded its limits; only the latter if the event is complete. */
enum filter_truth filter_truth_of(struct filter_look *look, const struct filter_code *code);

#endif
