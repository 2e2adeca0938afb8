#ifndef ETWSHIP_BASE_NEAREST_H
#define ETWSHIP_BASE_NEAREST_H

#include "base/span.h"

/*
 * Which valid name did a misspelt one mean? ASCII case does not count, and the start of a name
 * counts as nearly that name.
 *
 *   struct nearest nearest = {.text = text};
 *   nearest_consider(&nearest, name) for each valid name;
 *   nearest_meant(&nearest)
 */
struct nearest {
    struct span text;
    struct span best; /* NULL data: none considered yet */
    size_t edits;
};

/* ${name} outlives ${nearest}. */
void nearest_consider(struct nearest *nearest, struct span name);

/* The best name if it is near enough to be meant, else the empty span. */
struct span nearest_meant(const struct nearest *nearest);

#endif
