#ifndef ETWSHIP_BASE_NEAREST_H
#define ETWSHIP_BASE_NEAREST_H

#include "base/span.h"

/*
 * Finds the valid name most similar to a misspelt one. ASCII case is ignored, and a prefix of a
 * name counts as very similar.
 *
 *   struct nearest nearest = {.text = text};
 *   nearest_consider(&nearest, name) for each valid name;
 *   nearest_meant(&nearest)
 */
struct nearest {
    struct span text;
    struct span best; /* NULL data: none yet */
    size_t edits;
};

/* ${name} must outlive ${nearest}. */
void nearest_consider(struct nearest *nearest, struct span name);

/* The best name if it is similar enough, else empty. */
struct span nearest_meant(const struct nearest *nearest);

#endif
