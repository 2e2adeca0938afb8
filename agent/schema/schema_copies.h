#ifndef ETWSHIP_SCHEMA_SCHEMA_COPIES_H
#define ETWSHIP_SCHEMA_SCHEMA_COPIES_H

#include "base/arena.h"
#include "base/map.h"
#include "schema/corrections.h"
#include "schema/schema_source.h"

/*
 * A cache's copies of schemas: of those that it shares with others (schema_shared.h), as the serial in a
 * copy is the cache's own, and of those that are corrected (corrections.h). What a copy points to is the
 * source's, but for what was corrected. One thread at a time.
 */
struct schema_copies {
    const struct corrections *corrections; /* borrowed */
    struct arena arena;
    struct arena corrected; /* what corrections made */
    struct map map;         /* address of a schema -> its copy */
    bool is_full;           /* a schema could not be corrected */
};

/* At most ${max_bytes}, unless that is more than there are schemas for. */
void schema_copies_init(struct schema_copies *copies, size_t max_bytes);
void schema_copies_fini(struct schema_copies *copies);

/* The copy of ${schema}, corrected, whose serial is 0 until the caller sets it; the same one until the
 * copies are cleared. NULL: no room or no memory. */
const struct event_schema *schema_copies_get(
    struct schema_copies *copies, const struct event_schema *schema);

/* The corrected copy if a correction concerns ${schema}, else ${schema} itself. */
const struct event_schema *schema_copies_correct(
    struct schema_copies *copies, const struct event_schema *schema);

/* May the definitions of one more event type find no room? */
bool schema_copies_are_full(const struct schema_copies *copies);

/* Nothing may point to a copy any more. */
void schema_copies_clear(struct schema_copies *copies);

#endif
