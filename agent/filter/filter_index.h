#ifndef ETWSHIP_FILTER_FILTER_INDEX_H
#define ETWSHIP_FILTER_FILTER_INDEX_H

#include "filter/filter_truth.h"

/*
 * Where many rules ask the same field for values, the field's value says which of them can be true
 * at all. Each such rule has an anchor: tests of one field of which one must be true if the rule is.
 * The values that anchors ask for lie in tables by field (a group), so an event costs one look-up
 * for each, however many rules there are. What is found is still asked: an anchor decides nothing.
 */
enum { FILTER_MAX_GROUPS = 64 };

/* Make the index of a filter whose rules are compiled. It has none where memory runs out, or nothing
 * is gained. */
void filter_index_make(struct filter *filter);

/* The group of a rule's anchor; FILTER_MAX_GROUPS: it has none. */
unsigned filter_index_group(const struct filter *filter, size_t rule);

/* What must be known of an event to look for anchors of the group. */
enum event_path_need filter_index_need(const struct filter *filter, unsigned group);

/* Set the bits of the rules of ${groups}, a bit each, whose anchors the event of ${look} may meet. */
void filter_index_find(
    const struct filter *filter, const struct filter_look *look, uint64_t groups, uint64_t *found);

#endif
