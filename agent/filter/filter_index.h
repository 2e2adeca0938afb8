#ifndef ETWSHIP_FILTER_FILTER_INDEX_H
#define ETWSHIP_FILTER_FILTER_INDEX_H

#include "filter/filter_truth.h"

/*
 * If many rules compare one field with values, the value of the field in an event determines which
 * of them can be true. Each such rule has an anchor: tests of one field of which at least one must
 * be true if the rule is. The values of anchors are in tables by field (groups), so an event costs
 * one look-up per group, however many rules there are. Rules found are still evaluated.
 */
enum { FILTER_MAX_GROUPS = 64 };

/* Build the index of a filter with compiled rules. There is none if memory is short or nothing is
 * gained. */
void filter_index_make(struct filter *filter);

/* Group of a rule's anchor; FILTER_MAX_GROUPS: none. */
unsigned filter_index_group(const struct filter *filter, size_t rule);

/* The part of an event needed to look up anchors of the group. */
enum event_path_need filter_index_need(const struct filter *filter, unsigned group);

/* Set the bits of rules in ${groups} (a bit mask) with anchors that the event of ${look} may
 * satisfy. */
void filter_index_find(
    const struct filter *filter, const struct filter_look *look, uint64_t groups, uint64_t *found);

#endif
