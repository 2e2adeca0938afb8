#ifndef ETWSHIP_ETW_ETW_REGISTRATIONS_H
#define ETWSHIP_ETW_ETW_REGISTRATIONS_H

#include "base/error.h"
#include "etw/session/etw_control.h"

/*
 * Registrations: those of a provider, and the sessions that have enabled it (enumeratetraceguidsex
 * on learn.microsoft.com). Mostly for classic and WPP providers, which serve one session only.
 */
enum { ETW_MAX_HOLDS = 64 };

/* A session that has enabled one instance of the provider. */
struct etw_hold_info {
    uint16_t logger_id;
    uint8_t level;
    uint32_t properties; /* ETW_ENABLE_* */
    uint64_t any;
    uint64_t all;
    uint32_t pid; /* process of the instance; 0: a driver */
};

struct etw_registrations {
    bool known;      /* false: unknown on this system; ignore the other members */
    bool is_classic; /* an instance serves one session only */
    uint32_t instance_count;
    uint32_t registered_count; /* registered ones; others are only enabled by sessions */
    uint32_t process_count;    /* instances of processes; others may be drivers' */
    size_t hold_count;         /* at most ETW_MAX_HOLDS are listed */
    struct etw_hold_info holds[ETW_MAX_HOLDS];
};

/* False only if Windows' answer is malformed or out of memory. An unregistered provider has no
 * instances. */
bool etw_registrations_query(
    const struct guid *provider, struct etw_registrations *ret_found, struct error *err);

/* True if it is registered, and only by processes: no driver logs its events. */
bool etw_registrations_are_of_processes(const struct guid *provider);

/* True if a driver has registered it. */
bool etw_registrations_have_driver(const struct guid *provider);

/* One session's enablement of a provider over all of its instances. An instance may be listed
 * several times, once per way of enabling; the entries are merged. */
struct etw_provider_enabled {
    bool known;          /* false: unknown on this system; ignore the other members */
    uint32_t instances;  /* registered instances */
    uint32_t entries;    /* enabled by the session; 0: none */
    uint8_t level;       /* 255: every level */
    uint32_t properties; /* ETW_ENABLE_* */
    uint64_t any;        /* all bits: every keyword */
    uint64_t all;
};

/* Fails as etw_registrations_query does. Windows does not report filters. */
bool etw_registrations_query_session(const struct guid *provider, uint16_t logger_id,
    struct etw_provider_enabled *ret_enabled, struct error *err);

/*
 * The session that would lose the classic provider if ${session} (0: a new one) enabled it. NULL:
 * none, or not in ${list}.
 */
const struct etw_session_state *etw_registrations_owner(
    const struct etw_registrations *found, const struct etw_session_list *list, uint64_t session);

/* All registered GUIDs, including TraceLogging providers: the caller frees them. ERR_IO or
 * ERR_UNSUPPORTED if unknown. */
bool etw_registrations_list(struct guid **ret_guids, size_t *ret_count, struct error *err);

#endif
