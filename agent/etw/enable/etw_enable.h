#ifndef ETWSHIP_ETW_ETW_ENABLE_H
#define ETWSHIP_ETW_ETW_ENABLE_H

#include "base/error.h"
#include "etw/etw_types.h"

/*
 * A session's request for a provider, and EnableTraceEx2 (enabletraceex2, enable_trace_parameters,
 * event_filter_descriptor on learn.microsoft.com). Each call replaces the session's previous
 * request for that provider, including filters.
 */

enum { ETW_MAX_FILTER_TEXTS = 256 };

/* Ids of events; none: no filter. */
struct etw_filter_ids {
    bool exclude; /* drop these; else: keep only these */
    uint16_t count;
    uint16_t ids[ETW_MAX_FILTER_IDS];
};

static inline bool etw_enable_has_id(const struct etw_filter_ids *ids, uint16_t id)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (ids->ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* Names, UTF-8 and borrowed; none: no filter. */
struct etw_filter_texts {
    bool exclude; /* of events; never of processes */
    uint16_t count;
    const char *texts[ETW_MAX_FILTER_TEXTS];
};

/* One test of a payload filter: ETW_PAYLOAD_*; two values are separated by a `,`. */
struct etw_payload_test {
    const char *field;
    uint16_t op;
    const char *value;
};

/* The payload filter of one event of a manifest. */
struct etw_payload_filter {
    struct event_descriptor event; /* as in the manifest */
    bool match_any;                /* true: one test suffices; false: all must hold */
    uint16_t count;                /* at most ETW_MAX_PREDICATES */
    const struct etw_payload_test *tests;
};

struct etw_request {
    struct guid provider; /* or a group, with ETW_ENABLE_PROVIDER_GROUP */
    uint8_t level;        /* 0 and 255: every level */
    uint64_t any;         /* 0: every keyword, like all bits; ${all} is ignored then */
    uint64_t all;
    uint64_t named;        /* keywords with side effects to include in "all": etw_keywords.h */
    uint32_t properties;   /* ETW_ENABLE_*; filters of stacks add ETW_ENABLE_STACK_TRACE */
    struct guid source_id; /* passed to the provider's callback; zero is fine */
    uint32_t timeout_ms;   /* wait for the providers' callbacks; 0: do not */

    /* Processes: running ones (pids), or also future ones (the others). ETW does not enable a
     * driver's registration for a session that names pids (event_filter_descriptor). */
    bool pids_are_spare; /* only rules name them: ask for all if a driver may log */
    uint16_t pid_count;
    uint32_t pids[ETW_MAX_FILTER_PIDS];
    struct etw_filter_texts executables; /* with extension, no path */
    struct etw_filter_texts packages;
    struct etw_filter_texts apps;             /* package-relative application ids */
    struct etw_filter_texts container;        /* one, as text: its format is undocumented */
    struct etw_filter_ids events;             /* not applied to TraceLogging events */
    struct etw_filter_texts names;            /* of TraceLogging events */
    const struct etw_payload_filter *payload; /* one per event; borrowed */
    size_t payload_count;
    bool payload_is_spare; /* if TDH cannot make a filter, accept all of these events */

    /* Events that get a stack; empty: all, if ETW_ENABLE_STACK_TRACE is set. */
    struct etw_filter_ids stack_events;
    struct etw_filter_texts stack_names;
    bool stack_by_level;
    bool stack_level_exclude;
    uint8_t stack_level;
    uint64_t stack_any;
    uint64_t stack_all;
};

/* The result. Kinds of filters are the bits of ETW_FILTER_* without the highest. */
#define ETW_FILTER_KIND(type) ((uint32_t)(type)&UINT32_C(0x7fffffff))

struct etw_outcome {
    uint32_t acting;             /* kinds of filters that ETW accepted */
    uint32_t refused;            /* kinds that this system refuses: left to the agent */
    uint32_t refused_properties; /* ETW_ENABLE_* that it does not support */
    bool timed_out;              /* enabled, but not every provider answered in time */
};

/* Name of a kind of filter for people: "processes", "event ids". Static. */
const char *etw_enable_kind_name(uint32_t kind);

/* The kinds of filters in the request. */
uint32_t etw_enable_kinds(const struct etw_request *request);

/*
 * True if the filter of that kind is within ETW's limits. ERR_LIMIT names the limit; leave such a
 * filter to the agent with etw_enable_drop. Pure.
 */
bool etw_enable_fits(const struct etw_request *request, uint32_t kind, struct error *err);

/* True if all kinds are within the limits and may be combined. Pure. */
bool etw_enable_check(const struct etw_request *request, struct error *err);

/* Remove the filters of ${kinds}. */
void etw_enable_drop(struct etw_request *request, uint32_t kinds);

/*
 * Merge two requests for a provider that is named twice in a session, so that it gets every event
 * of either. Highest level, any keyword of both, all keywords that both require; a filter only if
 * both have it. Filters beyond ETW's limits are dropped: more events, never fewer. ${into} borrows
 * from ${other}. Pure.
 */
void etw_enable_merge(struct etw_request *into, const struct etw_request *other);

/*
 * Enable the provider, or change the request. Filters and properties that this Windows does not
 * support are left out and reported. ${name} is the provider's, for errors. An unregistered
 * provider is no error: ETW enables it when it registers.
 */
bool etw_enable_provider(uint64_t session, const char *name, const struct etw_request *request,
    struct etw_outcome *ret_outcome, struct error *err);

/* Why Windows restricts the provider, by name (may be empty) or GUID, and a remedy: "why. what to
 * do". NULL: no special restriction. */
const char *etw_enable_protected(struct span name, const struct guid *provider);

/* Disable the provider; ${is_group}: the group of providers that has this GUID. */
bool etw_enable_stop(uint64_t session, const char *name, const struct guid *provider, bool is_group,
    struct error *err);

/* Ask the provider, or all of the group, to log its state. */
bool etw_enable_capture_state(uint64_t session, const char *name, const struct guid *provider,
    bool is_group, uint32_t timeout_ms, struct error *err);

/* Exclude providers of an enabled group from the session (class 10). At most ETW_MAX_DISALLOWED. */
enum { ETW_MAX_DISALLOWED = 128 };
bool etw_enable_disallow(
    uint64_t session, const struct guid *providers, size_t count, struct error *err);

#endif
