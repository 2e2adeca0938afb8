#ifndef ETWSHIP_FILTER_FILTER_EDIT_H
#define ETWSHIP_FILTER_FILTER_EDIT_H

#include "event/edit/event_editor.h"
#include "filter/filter.h"

/*
 * Rules that edit events kept by all lists. Their expressions see the original event, whatever
 * earlier rules do. The rules of a list apply in order, up to the rule that decided.
 */

/* True if the filter has editing rules. */
bool filter_has_edits(const struct filter *filter);

/*
 * Find the next rule that edits the decoded, original ${event} and comes before the rule ${decided}
 * (filter_rule_count(): none decided). ${cursor} starts at 0. False if there is none.
 */
bool filter_edit_next(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t decided, size_t *cursor, size_t *ret_rule);

/* Apply the edits of the rule. */
void filter_edit_apply(const struct filter *filter, size_t rule, struct event_editor *editor,
    struct filter_scratch *scratch);

#endif
