#ifndef ETWSHIP_SCHEMA_SCHEMA_CACHE_H
#define ETWSHIP_SCHEMA_SCHEMA_CACHE_H

#include "schema/schema_source_set.h"

/*
 * The one place that knows which definitions apply to a record. It asks the sources once per event
 * type, in the order of schema_sources.def, and remembers the answer; an event of a known type
 * costs one hash and one comparison. One thread at a time.
 *
 * Misses are remembered for a minute of event time, and forgotten when a source learns something or
 * an answer comes that was late.
 * At most SCHEMA_CACHE_MAX_TYPES types are kept, and so many definitions of shared sources: a full
 * cache starts again from nothing, and asks once more for the types that still come.
 *
 * Any process may write events, under any GUID, so what they say is not believed beyond them: who
 * may say what of whom is decided by the sources (README.md, "What events can fill").
 */
struct schema_cache;

enum { SCHEMA_CACHE_MAX_TYPES = 65536 };

struct schema_cache_settings {
    struct schema_source_settings sources;
    const struct schema_shared
        *shared; /* borrowed, outlives the cache: sources that others use, too,
                                           and ${sources} is for the rest; NULL: there are none */
    enum schema_tdh tdh;
    /* Of memory, for what events say and what is found for them; 0: 256 MB. What does not fit gives way
     * or is refused (schema_cache_losses). Definitions of files and of the system are not part of it. */
    size_t max_bytes;
    bool no_builtin; /* leave the source `builtin` out; it does not have all events of a provider */
    const char *only_source; /* use this source alone, `tdh` too; NULL: all of them */
};

/* Definitions of one event type in the order in which they should be tried. */
struct schema_choice {
    const struct event_schema *list[SCHEMA_MAX_CANDIDATES];
    size_t count; /* 0: nothing is known */
    bool late;    /* more may be known soon: a source is still looking */
};

/* NULL with ${err} set if ${settings} name an unknown source or one cannot work. */
struct schema_cache *schema_cache_create(
    const struct schema_cache_settings *settings, struct error *err);
void schema_cache_destroy(struct schema_cache *cache); /* NULL is fine */

/* Let the sources learn from a record that carries metadata. */
void schema_cache_learn(struct schema_cache *cache, const struct event_record *record);

/*
 * The definitions for ${record}. What the trace carries itself stands alone; otherwise the caller
 * takes the first that consumes the payload exactly, else the first. Valid until the next call of
 * schema_cache_learn or schema_cache_find.
 */
const struct schema_choice *schema_cache_find(
    struct schema_cache *cache, const struct event_record *record);

/* What the sources that learn from events could not keep so far, all together. */
struct schema_losses schema_cache_losses(const struct schema_cache *cache);

/* The schemas of the events that were looked up, those that describe themselves included. */
void schema_cache_list_met(struct schema_cache *cache,
    void (*each)(void *self, const struct event_schema *schema), void *self);

/* Every schema that the sources know by now, corrected; see schema_source_ops.list. Valid until the
 * next call of schema_cache_find. */
void schema_cache_list(struct schema_cache *cache,
    void (*each)(void *self, const struct event_schema *schema), void *self);

/* Names of the sources, in order; NULL behind the last. */
const char *schema_cache_source_name(size_t index);

#endif
