#ifndef ETWSHIP_STORE_STAGE_H
#define ETWSHIP_STORE_STAGE_H

#include "base/error.h"
#include "base/span.h"

/*
 * Changes that wait for a commit, in the order in which they came; a later one for the same key
 * takes the earlier one's place (stage_entry.h). Everything is copied. Bounded. One thread at a
 * time.
 */
struct stage_entry;
struct stage;

struct stage *stage_create(size_t max_bytes); /* NULL: out of memory */
void stage_destroy(struct stage *stage);

size_t stage_bytes(const struct stage *stage); /* of memory */

/* A sequence and a live time never go back, unless it may fall: the higher one stays.
 * False, and nothing changed: ERR_MEMORY; ERR_LIMIT: more than the maximum waits. */
bool stage_put(struct stage *stage, const struct stage_entry *entry, struct error *err);

/* Is the batch removed? */
bool stage_is_removed(const struct stage *stage, uint64_t batch);

/* What is left of the batch for an output; NULL: nothing is staged. Valid until the stage
 * changes. */
const struct span *stage_left(const struct stage *stage, uint64_t output, uint64_t batch);

/* Entry ${index}, in order; NULL: there are not as many. */
const struct stage_entry *stage_at(const struct stage *stage, size_t index);

/* Forget all but those that ${keep} wants; NULL: all. */
void stage_clear(struct stage *stage, bool (*keep)(const struct stage_entry *entry));

#endif
