#ifndef ETWSHIP_ETW_ETW_WHO_H
#define ETWSHIP_ETW_ETW_WHO_H

#include "base/error.h"
#include "etw/etw_control.h"

/*
 * Who has registered a provider and which sessions listen to it (enumeratetraceguidsex on
 * learn.microsoft.com). Mostly for classic and WPP providers, which serve one session only.
 */
enum { ETW_MAX_HOLDS = 64 };

/* A session that listens to one instance of the provider. */
struct etw_hold_info {
    uint16_t logger_id;
    uint8_t level;
    uint32_t properties; /* ETW_ENABLE_* */
    uint64_t any;
    uint64_t all;
    uint32_t pid; /* of the instance; 0: a driver */
};

struct etw_who {
    bool known;      /* false: this system does not say; nothing else counts then */
    bool is_classic; /* an instance serves one session only */
    uint32_t instance_count;
    uint32_t registered_count; /* of these; another one is only enabled by sessions */
    size_t hold_count;         /* at most ETW_MAX_HOLDS are told */
    struct etw_hold_info holds[ETW_MAX_HOLDS];
};

/* False only if Windows' answer makes no sense or there is no memory. A provider that nobody has
 * registered has no instances. */
bool etw_who_ask(const struct guid *provider, struct etw_who *ret_who, struct error *err);

/* What one session has of a provider, over all of its instances: an instance is listed once for
 * each way in which the session came to it, so what several entries say is added up. */
struct etw_who_enabled {
    bool known;          /* false: this system does not say; nothing else counts then */
    uint32_t instances;  /* that are registered */
    uint32_t entries;    /* of the session's; 0: it listens to none of them */
    uint8_t level;       /* 255: every level */
    uint32_t properties; /* ETW_ENABLE_* */
    uint64_t any;        /* all bits: every keyword */
    uint64_t all;
};

/* Fails as etw_who_ask does. Filters are not among what Windows tells. */
bool etw_who_ask_session(const struct guid *provider, uint16_t logger_id,
    struct etw_who_enabled *ret_enabled, struct error *err);

/*
 * The session that would lose the provider if ${session} (0: a new one) enabled it: of a classic
 * provider that another one holds. NULL: nobody, or not among ${list}.
 */
const struct etw_session_state *etw_who_owner(
    const struct etw_who *who, const struct etw_session_list *list, uint64_t session);

/* The GUIDs that are registered now, TraceLogging providers too: the caller frees them. ERR_IO or
 * ERR_UNSUPPORTED where the system does not say. */
bool etw_who_registered(struct guid **ret_guids, size_t *ret_count, struct error *err);

#endif
