#ifndef ETWSHIP_ETW_ETW_KEYWORDS_H
#define ETWSHIP_ETW_ETW_KEYWORDS_H

#include "etw/enable/etw_enable.h"

/*
 * Keywords with side effects: a provider that is enabled with one of them does more than writing
 * events, at each call of EnableTraceEx2: at starts, reloads and repairs. So "all keywords"
 * excludes them, and a configuration must name them. The table is etw_keywords.tsv.
 */
struct etw_keyword {
    const char *provider; /* its name */
    uint64_t mask;        /* one bit */
    const char *name;
    const char *effect; /* "each process does this" */
    struct guid guid;   /* of the provider */
};

/* By its position; NULL after the last. */
const struct etw_keyword *etw_keywords_get(size_t index);

/* True if it belongs to that provider, whose GUID may also be derived from its name
 * (guid_from_name). */
bool etw_keywords_is_of(const struct etw_keyword *keyword, const struct guid *provider);

/* All such keywords of a provider; 0: none. */
uint64_t etw_keywords_with_effects(const struct guid *provider);

/* True if ${any} means all keywords. */
bool etw_keywords_are_all(uint64_t any);

/* The request's keywords as passed to EnableTraceEx2, a filter or an autologger. */
uint64_t etw_keywords_any(const struct etw_request *request);
uint64_t etw_keywords_all(const struct etw_request *request);

#endif
