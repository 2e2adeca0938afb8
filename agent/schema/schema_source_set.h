#ifndef ETWSHIP_SCHEMA_SCHEMA_SOURCE_SET_H
#define ETWSHIP_SCHEMA_SCHEMA_SOURCE_SET_H

#include "schema/schema_shared.h"

/*
 * The sources of one cache: which of schema_sources.def are in use, in which order, and who made them.
 * One thread at a time.
 */
enum {
    SCHEMA_SOURCE_COUNT = 0
#define SCHEMA_SOURCE(id) +1
#include "schema/schema_sources.def"
#undef SCHEMA_SOURCE
};

/* What this machine's registered manifests count (source `tdh`). They say what this machine would
 * write: for events of another one, others must be asked first. */
enum schema_tdh {
    SCHEMA_TDH_OFF,
    SCHEMA_TDH_LAST,  /* behind the files of the user */
    SCHEMA_TDH_FIRST, /* before them; behind what events and traces carry, as always */
};

/* As schema_cache_settings has them. */
struct schema_source_set_settings {
    struct schema_source_settings sources;
    const struct schema_shared *shared;
    enum schema_tdh tdh;
    bool no_builtin;
    const char *only_source;
};

struct schema_source_set {
    void *instances[SCHEMA_SOURCE_COUNT]; /* NULL: the source is not in use */
    bool shared[SCHEMA_SOURCE_COUNT];     /* the instance is that of schema_shared */
    size_t order[SCHEMA_SOURCE_COUNT];    /* in which they are asked */
    void *by_process;                     /* the one of `eventsource`; NULL: not in use */
};

/* False with ${err} set if ${settings} name an unknown source or one cannot work; fini is needed in any
 * case. ${set} is zeroed before. */
bool schema_source_set_init(struct schema_source_set *set,
    const struct schema_source_set_settings *settings, struct error *err);
void schema_source_set_fini(struct schema_source_set *set);

/* Names of the sources, in the order of the table; NULL behind the last. */
const char *schema_source_set_name(size_t index);

/* See schema_source_ops: of all sources together. */
bool schema_source_set_learn(struct schema_source_set *set, const struct event_record *record);
uint64_t schema_source_set_news(const struct schema_source_set *set);
struct schema_losses schema_source_set_losses(const struct schema_source_set *set);
void schema_source_set_list(struct schema_source_set *set, const struct schema_source_ops *without,
    void (*each)(void *self, const struct event_schema *schema), void *self);

/* A name that outlives the definitions of its provider; empty: none is known. */
struct span schema_source_set_provider_name(
    const struct schema_source_set *set, const struct guid *provider);

/* Has the record's process (${own}), or any, sent a definition of its own of the record's provider? */
bool schema_source_set_by_process(
    const struct schema_source_set *set, const struct event_record *record, bool own);

/* Does the source at ${place} of the order read what the trace itself carries? They stand first, and a
 * definition from there wins alone. */
bool schema_source_set_is_of_trace(const struct schema_source_set *set, size_t place);

/* Add what the source at ${place} of the order knows. True if others share its schemas. */
bool schema_source_set_ask(const struct schema_source_set *set, size_t place,
    const struct event_record *record, struct schema_candidates *found);

#endif
