#ifndef ETWSHIP_FILTER_FILTER_PLAN_H
#define ETWSHIP_FILTER_FILTER_PLAN_H

#include "filter/filter_truth.h"

/*
 * What is left to ask of a filter for events of one type: the rules whose answers differ from event
 * to event, after all that depends on the type alone was answered once. Plans are kept in a table
 * of bounded size in the scratch; one that is not there is made anew. One thread.
 */
struct filter_plan {
    uint64_t *open; /* a bit for each rule to be asked, in order; of filter->word_count words */
    uint64_t
        *anchored; /* those of them that are to be asked only if filter_index_find finds them … */
    uint64_t groups; /* … in these groups */
    uint32_t end;    /* the rule behind them, which fits all of them; rule_count: there is none */
    bool is_unknown; /* nothing can be said of `end` before more is known of an event */
    uint16_t fields; /* of the decoded event: how many top-level fields the open rules look at;
                        EVENT_PATH_ALL_FIELDS, or at more than fields */
};

/* The plan for the event of ${look}, as far as ${look} may look. NULL: none can be kept, every rule
 * is to be asked. Valid until the next call with the same scratch. */
const struct filter_plan *filter_plan_get(
    const struct filter *filter, const struct filter_look *look);

/* The table of a scratch; NULL is fine. */
void filter_plans_destroy(struct filter_plans *plans);

#endif
