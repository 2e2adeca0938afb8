#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_TDH_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_TDH_H

#include "base/error.h"
#include "etw/etw_api.h"
#include "support/etw_sim/etw_sim_calls.h"

/*
 * What the simulated machine knows of events: the answers of TDH, made from the project's own
 * schema sources (manifests, packs, the built-in kernel classes, TraceLogging metadata of the event
 * itself, and what traces carry). Like the world (etw_sim.h) there is one at a time, which the
 * functions answer from; without one they know nothing. The functions may be called from any
 * thread.
 *
 * As on Windows: sizes are asked for with a buffer that is too small, which answers 122 and says
 * how many bytes it takes; an unknown event, map or provider is 1168; the same question gets the
 * same bytes. What is not there: README.md.
 */
struct sim_tdh;

struct sim_tdh_settings {
    const char *const *paths; /* manifests (.man, .xml), packs, or folders of them: installed */
    size_t path_count;
    const char *const *traces; /* .etl files whose metadata is learned */
    size_t trace_count;
    void (*warn)(void *warn_self, const char *text); /* files that cannot be used; may be NULL */
    void *warn_self;
};

/* NULL with ${err} set without memory, or if a trace cannot be read. ${settings} may be NULL. */
struct sim_tdh *sim_tdh_create(const struct sim_tdh_settings *settings, struct error *err);
void sim_tdh_destroy(struct sim_tdh *tdh); /* NULL is fine; ends its use */

/* The functions answer from ${tdh} from now on; NULL: they know nothing. */
void sim_tdh_use(struct sim_tdh *tdh);

/* Put TDH's functions into ${api}. */
void sim_tdh_fill(struct etw_api *api);

/* A provider that is installed, without any event. False without memory. */
bool sim_tdh_add_provider(struct sim_tdh *tdh, const struct guid *guid, struct span name);

/* The GUID of an installed provider; false if there is none of this name (in any case). */
bool sim_tdh_find_guid(struct sim_tdh *tdh, struct span name, struct guid *ret_guid);

/* A manifest more, as TdhLoadManifest; ${ret_code}: 0 or why not. */
uint32_t sim_tdh_load(struct sim_tdh *tdh, const char *path);
uint32_t sim_tdh_unload(struct sim_tdh *tdh, const char *path);

/* PROPERTY_DATA_DESCRIPTOR. */
struct etw_property_path {
    uint64_t name;        /* pointer to UTF-16 */
    uint32_t array_index; /* ETW_PROPERTY_ALL: the whole */
    uint32_t reserved;
};

#define ETW_PROPERTY_ALL UINT32_MAX

/* The functions beyond etw/etw_calls.def. */
#define ETW_CALL(result, name, parameters) result etw_sim_##name parameters;
#include "support/etw_sim/sim_tdh_calls.def"
#undef ETW_CALL

#endif
