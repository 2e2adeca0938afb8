#ifndef ETWSHIP_ETW_ETW_ENABLE_H
#define ETWSHIP_ETW_ETW_ENABLE_H

#include "base/error.h"
#include "etw/etw_types.h"

/*
 * What a session wants of a provider, and EnableTraceEx2 with it (enabletraceex2,
 * enable_trace_parameters, event_filter_descriptor on learn.microsoft.com). Each call replaces all
 * that the session wanted of that provider before, filters too.
 */

enum { ETW_MAX_FILTER_TEXTS = 256 };

/* Ids of events; none: no filter. */
struct etw_filter_ids {
    bool exclude; /* drop these; else: only these */
    uint16_t count;
    uint16_t ids[ETW_MAX_FILTER_IDS];
};

/* Names, UTF-8 and borrowed; none: no filter. */
struct etw_filter_texts {
    bool exclude; /* of events; never of processes */
    uint16_t count;
    const char *texts[ETW_MAX_FILTER_TEXTS];
};

/* One test of a payload filter: ETW_PAYLOAD_*; two values stand with a `,` between. */
struct etw_payload_test {
    const char *field;
    uint16_t op;
    const char *value;
};

/* What one event of a manifest must hold to be written. */
struct etw_payload_filter {
    struct etw_event_descriptor event; /* as the manifest has it */
    bool match_any;                    /* one of the tests is enough; else: all */
    uint16_t count;                    /* at most ETW_MAX_PREDICATES */
    const struct etw_payload_test *tests;
};

struct etw_request {
    struct guid provider; /* or a group, with ETW_ENABLE_PROVIDER_GROUP */
    uint8_t level;        /* 0 and 255: every level */
    uint64_t any;         /* 0: every keyword, as all bits are; ${all} does not count then */
    uint64_t all;
    uint64_t named;        /* of all keywords, these too: see etw_keywords.h */
    uint32_t properties;   /* ETW_ENABLE_*; filters of stacks add ETW_ENABLE_STACK_TRACE */
    struct guid source_id; /* what the provider's callback is told; zero is fine */
    uint32_t timeout_ms;   /* wait for the providers' callbacks; 0: do not */

    /* Which processes: those that run now (pids), or that ever run (the others). */
    uint16_t pid_count;
    uint32_t pids[ETW_MAX_FILTER_PIDS];
    struct etw_filter_texts executables; /* with extension, no path */
    struct etw_filter_texts packages;
    struct etw_filter_texts apps;             /* package-relative application ids */
    struct etw_filter_texts container;        /* one, as text: its form is not documented */
    struct etw_filter_ids events;             /* not applied to TraceLogging events */
    struct etw_filter_texts names;            /* of TraceLogging events */
    const struct etw_payload_filter *payload; /* one per event; borrowed */
    size_t payload_count;
    bool payload_is_spare; /* where TDH makes no filter of it, all of these events may come */

    /* Which events get a stack; nothing: all, if ETW_ENABLE_STACK_TRACE is set. */
    struct etw_filter_ids stack_events;
    struct etw_filter_texts stack_names;
    bool stack_by_level;
    bool stack_level_exclude;
    uint8_t stack_level;
    uint64_t stack_any;
    uint64_t stack_all;
};

/* What became of it. Kinds of filters are the bits of ETW_FILTER_* without the highest. */
#define ETW_FILTER_KIND(type) ((uint32_t)(type)&UINT32_C(0x7fffffff))

struct etw_outcome {
    uint32_t acting;             /* kinds of filters that ETW took */
    uint32_t refused;            /* those that this system refuses: left to the agent */
    uint32_t refused_properties; /* ETW_ENABLE_* that it does not know */
    bool timed_out;              /* enabled, but not every provider answered in time */
};

/* "processes", "event ids", …: a kind of filter in words. Static. */
const char *etw_enable_kind_name(uint32_t kind);

/* The kinds of filters that the request has. */
uint32_t etw_enable_kinds(const struct etw_request *request);

/*
 * Is the filter of that one kind within ETW's limits? ERR_LIMIT names the limit; such a filter is
 * for the agent: clear it with etw_enable_drop. Pure.
 */
bool etw_enable_fits(const struct etw_request *request, uint32_t kind, struct error *err);

/* All kinds together, and what does not go together. Pure. */
bool etw_enable_check(const struct etw_request *request, struct error *err);

/* Take the filters of ${kinds} out. */
void etw_enable_drop(struct etw_request *request, uint32_t kinds);

/*
 * Both requests in one, for a provider that is named twice in a session: every event that one of
 * them would get. Highest level, any keyword of both, all keywords that both demand; a filter only
 * if both have it. What does not fit ETW's limits any more is dropped: more events, never fewer.
 * What ${into} borrows from ${other} must live as long. Pure.
 */
void etw_enable_merge(struct etw_request *into, const struct etw_request *other);

/*
 * Enable, or change what is wanted. Filters and properties that this Windows does not know are left
 * out and reported: nothing is dropped silently. ${name} is the provider's, for errors. A provider
 * that nobody has registered yet is no error: it is enabled when it comes.
 */
bool etw_enable_provider(uint64_t session, const char *name, const struct etw_request *request,
    struct etw_outcome *ret_outcome, struct error *err);

/* Why Windows gives the provider, by name (may be empty) or GUID, to few, and what to do: "why. what
 * to do". NULL: it gives it to everybody with the right to enable providers. */
const char *etw_enable_protected(struct span name, const struct guid *provider);

/* No more of it. */
bool etw_enable_stop(
    uint64_t session, const char *name, const struct guid *provider, struct error *err);

/* Ask it to log its state. */
bool etw_enable_capture_state(uint64_t session, const char *name, const struct guid *provider,
    uint32_t timeout_ms, struct error *err);

/* Providers that the session does not want although their group is enabled (class 10). At most
 * ETW_MAX_DISALLOWED. */
enum { ETW_MAX_DISALLOWED = 128 };
bool etw_enable_disallow(
    uint64_t session, const struct guid *providers, size_t count, struct error *err);

#endif
