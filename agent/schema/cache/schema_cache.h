#ifndef ETWSHIP_SCHEMA_SCHEMA_CACHE_H
#define ETWSHIP_SCHEMA_SCHEMA_CACHE_H

#include "schema/cache/schema_source_set.h"

/*
 * Decides which definitions apply to a record. It asks the sources once per event type, in the
 * order of schema_sources.def, and caches the answer; an event of a known type costs one hash and
 * one comparison. Not thread-safe.
 *
 * Misses are cached for a minute of event time; they are dropped earlier when a source learns
 * something or a late answer arrives. The cache holds at most SCHEMA_CACHE_MAX_TYPES types, and as
 * many definitions of shared sources. A full cache is cleared; types still in use are then looked
 * up once more.
 *
 * Any process may write events under any GUID, so events are trusted only about themselves. The
 * sources decide which process may define which events (README.md, "What events can fill").
 */
struct schema_cache;

enum { SCHEMA_CACHE_MAX_TYPES = 65536 };

struct schema_cache_settings {
    struct schema_source_settings sources;
    const struct schema_shared
        /* borrowed, outlives the cache: sources shared with other caches; ${sources} configures the
         * others; NULL: none */
        *shared;
    enum schema_tdh tdh;
    /* Memory limit for what events define and for cached answers; 0: 256 MB. Beyond it, definitions
     * are evicted or refused (schema_cache_losses). Definitions from files and the system do not
     * count. */
    size_t max_bytes;
    bool no_builtin; /* leave out the source `builtin`, which lacks some events of its providers */
    const char *only_source; /* use only this source, even `tdh`; NULL: all */
};

/* Definitions of one event type in the order in which to try them. */
struct schema_choice {
    size_t count; /* 0: the type is unknown */
    bool late;    /* a source is still searching; more may be known soon */
    const struct event_schema *list[SCHEMA_MAX_CANDIDATES];
};

/* NULL with ${err} set if ${settings} names an unknown source or a source cannot work. */
struct schema_cache *schema_cache_create(
    const struct schema_cache_settings *settings, struct error *err);
void schema_cache_destroy(struct schema_cache *cache); /* NULL is fine */

/* Let the sources learn from a record that carries metadata. */
void schema_cache_learn(struct schema_cache *cache, const struct event_record *record);

/*
 * Find the definitions for ${record}. If the trace itself carries one, it is the only one.
 * Otherwise the caller uses the first that consumes the payload exactly, else the first. Valid
 * until the next call of schema_cache_learn or schema_cache_find.
 */
const struct schema_choice *schema_cache_find(
    struct schema_cache *cache, const struct event_record *record);

/* A provider of event logs whose records have no message, as neither they nor a definition has one;
 * each is returned once. Valid as long as the cache. False: there is no further one now. */
bool schema_cache_next_silent(struct schema_cache *cache, struct span *ret_provider);

/* Total of what the learning sources could not keep so far. */
struct schema_losses schema_cache_losses(const struct schema_cache *cache);

/* List the schemas of all events looked up so far, including self-describing ones. */
void schema_cache_list_met(struct schema_cache *cache,
    void (*each)(void *self, const struct event_schema *schema), void *self);

/* List every schema that the sources know now, corrected; see schema_source_ops.list. Valid until
 * the next call of schema_cache_find. */
void schema_cache_list(struct schema_cache *cache,
    void (*each)(void *self, const struct event_schema *schema), void *self);

/* Texts that values of the events of ${schema}'s provider refer to by number; NULL: none are
 * known. */
const struct schema_parameters *schema_cache_parameters(
    const struct schema_cache *cache, const struct event_schema *schema);

#endif
