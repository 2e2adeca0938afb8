#ifndef ETWSHIP_ETW_ETW_KERNEL_H
#define ETWSHIP_ETW_ETW_KERNEL_H

#include "etw/session/etw_control.h"

/*
 * Sessions with kernel events: groups as masks, stacks, the profile timer, the system providers of
 * Windows 11 (tracesetinformation, system-providers on learn.microsoft.com; PERFINFO_GROUPMASK and
 * TRACE_ENABLE_FLAG_EXTENSION in System Informer's ntwmi.h).
 */

#define ETW_KERNEL_LOGGER "NT Kernel Logger"

extern const struct guid etw_kernel_guid; /* SystemTraceControlGuid */

/* PERFINFO_GROUPMASK: word 0 are the flags of EVENT_TRACE_PROPERTIES.EnableFlags. */
enum { ETW_GROUP_WORDS = 8 };

struct etw_groups {
    uint32_t words[ETW_GROUP_WORDS];
};

/*
 * Add a PERF_* mask; its top three bits select the word. ERR_CONFIG for word 7, which changes how
 * the system behaves, and for an empty mask.
 */
bool etw_kernel_add(struct etw_groups *groups, uint32_t mask, struct error *err);

/* Events that get a stack: CLASSIC_EVENT_ID. */
enum { ETW_MAX_STACK_EVENTS = 256 };

struct etw_stack_event {
    struct guid class_guid;
    uint8_t type;
};

/*
 * Start a session with the events of ${groups}, and stacks of ${stacks}. The spec's name and GUID
 * must be those of the NT Kernel Logger, or its mode must have ETW_MODE_SYSTEM_LOGGER (own name and
 * GUID; Windows 8+). Word 0 is set at the start, the others on the running session, or, if refused,
 * by an extension block at a second start. After a failure no session remains.
 */
bool etw_kernel_start(const struct etw_session_spec *spec, const struct etw_groups *groups,
    const struct etw_stack_event *stacks, size_t stack_count, struct etw_session_state *ret_state,
    struct error *err);

/* The older way only: all groups are set at the start by an extension block. */
bool etw_kernel_start_extended(const struct etw_session_spec *spec, const struct etw_groups *groups,
    struct etw_session_state *ret_state, struct error *err);

/* Enable further groups of a running session. */
bool etw_kernel_set_groups(
    uint64_t session, const char *name, const struct etw_groups *groups, struct error *err);

/* Set the groups after an UPDATE of the session, which has set word 0. A Windows that cannot set
 * groups is no error if the other words are empty. */
bool etw_kernel_bring_back(
    uint64_t session, const char *name, const struct etw_groups *groups, struct error *err);

/* The enabled groups of a running session. */
bool etw_kernel_get_groups(
    uint64_t session, const char *name, struct etw_groups *ret_groups, struct error *err);

/* Replace the list of events with stacks; 0 empties it. ERR_LIMIT above ETW_MAX_STACK_EVENTS. */
bool etw_kernel_set_stacks(uint64_t session, const char *name, const struct etw_stack_event *stacks,
    size_t count, struct error *err);

/* Log processes, threads and images that exist now into the session once more. */
bool etw_kernel_rundown(uint64_t session, const char *name, struct error *err);

/*
 * The interval of the profile timer, for the whole machine; needs SeSystemProfilePrivilege
 * (etw_privilege_enable_profile first). ${ret_old_100ns} is the previous value, to restore at the
 * end: 1 ms, Windows' default, if unknown.
 */
bool etw_kernel_set_profile(uint32_t interval_100ns, uint32_t *ret_old_100ns, struct error *err);

/* Counters of the processor (PMC): a source of TraceProfileSourceListInfo. */
struct etw_profile_source {
    char name[64]; /* UTF-8 */
    uint32_t source;
    uint32_t min_interval;
    uint32_t max_interval;
};

enum { ETW_MAX_PROFILE_SOURCES = 256 };

/* The sources of this machine, at most ${capacity}; ${ret_count} gets their number. */
bool etw_kernel_profile_sources(
    struct etw_profile_source *ret_sources, size_t capacity, size_t *ret_count, struct error *err);

/* Add the values of ${sources} to each of ${events}; once per session. */
bool etw_kernel_set_counters(uint64_t session, const char *name, const uint32_t *sources,
    size_t source_count, const struct etw_stack_event *events, size_t event_count,
    struct error *err);

/* A system provider of Windows 11 (build 20348+): enabled like any other in a session with
 * ETW_MODE_SYSTEM_LOGGER. */
struct etw_system_provider {
    const char *name; /* SystemProcessProvider */
    struct guid guid;
    const char *keywords; /* names of the bits from 0x1 on, a space between */
};

/* By its position, in alphabetical order; NULL after the last. */
const struct etw_system_provider *etw_kernel_system_provider(size_t index);

/* By name without regard to case; `System` and `Provider` may be omitted; NULL: none. */
const struct etw_system_provider *etw_kernel_find_provider(struct span name);

/* By GUID; NULL: none. */
const struct etw_system_provider *etw_kernel_provider_of(const struct guid *guid);

/* The bit of a keyword; the prefix `SYSTEM_<provider>_KW_` is optional; 0: unknown. */
uint64_t etw_kernel_keyword(const struct etw_system_provider *provider, struct span name);

#endif
