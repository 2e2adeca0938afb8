#ifndef ETWSHIP_FILTER_FILTER_EDIT_H
#define ETWSHIP_FILTER_FILTER_EDIT_H

#include "event/event_editor.h"
#include "filter/filter.h"

/*
 * Rules that edit: what is done to an event that all lists keep. They see it as it came, whatever rules
 * stand before them. Those of one list are applied in its order, as far as the rule that decided.
 */

/* Has the filter any? */
bool filter_has_edits(const struct filter *filter);

/*
 * The next rule that edits ${event}, which is decoded and as it came, in front of the rule ${decided}
 * (filter_rule_count(): none decided). ${cursor} begins at 0. False: there is none.
 */
bool filter_edit_next(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t decided, size_t *cursor, size_t *ret_rule);

/* Apply what the rule does. */
void filter_edit_apply(const struct filter *filter, size_t rule, struct event_editor *editor,
    struct filter_scratch *scratch);

#endif
