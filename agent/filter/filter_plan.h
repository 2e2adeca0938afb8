#ifndef ETWSHIP_FILTER_FILTER_PLAN_H
#define ETWSHIP_FILTER_FILTER_PLAN_H

#include "filter/filter_truth.h"

/*
 * What remains to be evaluated of a filter for events of one type: the rules with results that
 * differ from event to event, after everything that depends on the type was evaluated once. Plans
 * are cached in a table of bounded size in the scratch. Not thread-safe.
 */
struct filter_plan {
    uint64_t *open; /* bitmap of rules to evaluate, in order, with filter->word_count words */
    uint64_t
        *anchored; /* those of them that are to be asked only if filter_index_find finds them … */
    uint64_t groups; /* the groups of anchored rules */
    uint32_t end;    /* the first rule that matches all events; rule_count: none */
    bool is_unknown; /* `end` is unknown until more of the event is known */
    /* number of top-level fields that open rules use; EVENT_PATH_ALL_FIELDS: all, or more than
     * fields */
    uint16_t fields;
};

/* The plan for the event of ${look}, as far as it may be examined. NULL: none can be kept; evaluate
 * every rule. Valid until the next call with this scratch. */
const struct filter_plan *filter_plan_get(
    const struct filter *filter, const struct filter_look *look);

/* Free the table of a scratch; NULL is fine. */
void filter_plans_destroy(struct filter_plans *plans);

#endif
