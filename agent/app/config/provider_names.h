#ifndef ETWSHIP_APP_PROVIDER_NAMES_H
#define ETWSHIP_APP_PROVIDER_NAMES_H

#include "input/live/provider_spec.h"
#include "schema/cache/schema_cache.h"

/*
 * What the available definitions say of a provider: its other name, the bits of its keywords, and
 * which of the wanted events exist. Spans live as long as the cache.
 */
struct provider_facts {
    const struct provider_spec *spec;
    bool found;         /* there is a definition of it */
    bool is_known;      /* name and GUID are known, from a definition or known_providers.h */
    struct guid guid;   /* unknown: the hash of the name, as of an EventSource */
    struct span name;   /* empty: unknown */
    size_t event_count; /* number of definitions of events */
    uint64_t any_bits;  /* bits of spec->any: numbers, and names that were found */
    uint64_t any_named; /* bits of names alone */
    uint64_t all_bits;
    uint64_t any_found; /* bit i: name i of spec->any was found; names beyond 64 are not searched */
    uint64_t all_found;
    uint64_t ids_found;   /* bit i: some event lies in range i of spec->include */
    uint64_t names_found; /* bit i: name i of spec->include */
    struct span meant;    /* not found: the known name that was probably meant; empty: none */
};

/* Fill all but `spec` of ${count} facts from all definitions of ${cache}.
 * False if there is no memory. */
bool provider_names_find(struct schema_cache *cache, struct provider_facts *facts, size_t count);

#endif
