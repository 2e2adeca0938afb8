#ifndef ETWSHIP_SCHEMA_SCHEMA_SOURCE_SET_H
#define ETWSHIP_SCHEMA_SCHEMA_SOURCE_SET_H

#include "schema/cache/schema_shared.h"

/*
 * The sources of one cache: which of schema_sources.def are in use, in which order, and which are
 * shared. Not thread-safe.
 */
enum { SCHEMA_SOURCES_MAX = 16 };

/* Priority of manifests registered on this machine (source `tdh`). They describe what this machine
 * writes. For traces of another machine, other sources come first. */
enum schema_tdh {
    SCHEMA_TDH_OFF,
    SCHEMA_TDH_LAST,  /* after the user's files */
    SCHEMA_TDH_FIRST, /* before them; what events and traces carry always comes first */
};

/* Subset of schema_cache_settings. */
struct schema_source_set_settings {
    struct schema_source_settings sources;
    const struct schema_shared *shared;
    enum schema_tdh tdh;
    bool no_builtin;
    const char *only_source;
};

struct schema_source_set {
    size_t count;                        /* of the table */
    void *instances[SCHEMA_SOURCES_MAX]; /* NULL: not in use */
    bool shared[SCHEMA_SOURCES_MAX];     /* the instance belongs to schema_shared */
    size_t order[SCHEMA_SOURCES_MAX];    /* order of look-up */
    void *by_process;                    /* instance of `eventsource`; NULL: not in use */
    void *builtin;                       /* instance of `builtin`; NULL: not in use */
};

/* False with ${err} set if ${settings} names an unknown source or a source cannot work. Call
 * schema_source_set_fini in either case. ${set} must be zeroed. */
bool schema_source_set_init(struct schema_source_set *set,
    const struct schema_source_set_settings *settings, struct error *err);
void schema_source_set_fini(struct schema_source_set *set);

/* True if some source reads files with the ending of ${path}. */
bool schema_source_set_reads(const char *path);

/* Names of the sources in table order; NULL after the last. */
const char *schema_source_set_name(size_t index);

/* These combine all sources; see schema_source_ops. */
bool schema_source_set_learn(struct schema_source_set *set, const struct event_record *record);
uint64_t schema_source_set_news(const struct schema_source_set *set);
struct schema_losses schema_source_set_losses(const struct schema_source_set *set);
void schema_source_set_list(struct schema_source_set *set, const struct schema_source_ops *without,
    void (*each)(void *self, const struct event_schema *schema), void *self);

/* A provider name that outlives its definitions; empty if unknown. */
struct span schema_source_set_provider_name(
    const struct schema_source_set *set, const struct guid *provider);

/* Texts that values of the events of ${own}'s provider refer to by number; NULL: none are known. */
const struct schema_parameters *schema_source_set_parameters(
    const struct schema_source_set *set, const struct event_schema *own);

/* True if the record's process (${own}), or any process, sent its own definition of the record's
 * provider. */
bool schema_source_set_by_process(
    const struct schema_source_set *set, const struct event_record *record, bool own);

/* True if the source at ${place} of the order reads what the trace carries. These come first, and a
 * definition from one of them is used exclusively. */
bool schema_source_set_is_of_trace(const struct schema_source_set *set, size_t place);

/* Add what the source at ${place} of the order knows. True if its schemas are shared. Manifests of
 * EventSources add nothing to events that `builtin` knows. */
bool schema_source_set_ask(const struct schema_source_set *set, size_t place,
    const struct event_record *record, struct schema_candidates *found);

#endif
