#ifndef ETWSHIP_FILTER_FILTER_TRUTH_H
#define ETWSHIP_FILTER_FILTER_TRUTH_H

#include "event/record_process.h"
#include "filter/filter_program.h"

/*
 * Is the expression of one rule true for an event, with what is known of it by now? For filter_run.c
 * and filter_plan.c, on the thread of the scratch.
 */
enum filter_truth { FILTER_IS_FALSE, FILTER_IS_TRUE, FILTER_IS_UNKNOWN };

struct filter_look {
    struct filter_scratch *scratch;
    const struct event *event;
    uint8_t known; /* enum event_path_need: what of it may be looked at */
    bool
        of_type; /* and of that only what is EVENT_PATH_OF_TYPE, as it is for the type that is asked */
    bool met_more; /* of_type: a test could be answered by looking at the rest of it */
    const struct filter_op *op;
    const struct filter_op *gave_up; /* a test of the rule that is asked, which met its limits */
};

/* A value of ${scope} is looked at: note whether it may become another. */
static inline void filter_look_note(const struct filter_look *look, enum event_path_scope scope)
{
    look->scratch->placed |= scope == EVENT_PATH_OF_PLACE ||
                             (scope == EVENT_PATH_OF_PROCESS &&
                                 record_process_may_change(look->event->record));
}

/* UNKNOWN: the answer depends on what may not be looked at, or on a regular expression that has met its
 * limits. The latter alone if the event is known. */
enum filter_truth filter_truth_of(struct filter_look *look, const struct filter_code *code);

#endif
