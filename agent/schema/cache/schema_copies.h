#ifndef ETWSHIP_SCHEMA_SCHEMA_COPIES_H
#define ETWSHIP_SCHEMA_SCHEMA_COPIES_H

#include "base/arena.h"
#include "base/map.h"
#include "schema/source/corrections.h"
#include "schema/source/schema_source.h"

/*
 * A cache's copies of schemas: of shared schemas (schema_shared.h), because a serial belongs to one
 * cache, and of corrected schemas (corrections.h). A copy points into memory of its source, except
 * for what was corrected. Not thread-safe.
 */
struct schema_copies {
    const struct corrections *corrections; /* borrowed */
    struct arena arena;
    struct arena corrected; /* memory of corrected parts */
    struct map map;         /* address of a schema -> its copy */
    bool is_full;           /* a schema could not be corrected */
};

/* Limit the copies to ${max_bytes}, or to what the maximum number of schemas needs if that is
 * less. */
void schema_copies_init(struct schema_copies *copies, size_t max_bytes);
void schema_copies_fini(struct schema_copies *copies);

/* The corrected copy of ${schema}; stays the same until the copies are cleared. Its serial is 0
 * until the caller sets it. NULL if the limit is reached or memory is short. */
const struct event_schema *schema_copies_get(
    struct schema_copies *copies, const struct event_schema *schema);

/* The corrected copy if a correction applies to ${schema}, else ${schema} itself. */
const struct event_schema *schema_copies_correct(
    struct schema_copies *copies, const struct event_schema *schema);

/* True if the definitions of one more event type may not fit. */
bool schema_copies_are_full(const struct schema_copies *copies);

/* Drop all copies. The caller must not use them afterwards. */
void schema_copies_clear(struct schema_copies *copies);

#endif
