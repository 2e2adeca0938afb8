#ifndef ETWSHIP_TESTS_UNIT_SCHEMA_TDH_FAKE_H
#define ETWSHIP_TESTS_UNIT_SCHEMA_TDH_FAKE_H

#include "etw/etw_api.h"
#include "platform/plat_thread.h"
#include "support/etw_sim/sim_tdh.h"

/* A table whose TDH is the simulated one. The rig counts calls, and holds them while the gate is
 * closed. */
static struct {
    struct etw_api api;
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool closed;
    unsigned inside; /* calls at the gate */
    unsigned calls;
    unsigned map_calls;
} tdh_fake;

static inline uint32_t tdh_fake_info(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, void *ret_info, uint32_t *info_bytes)
{
    plat_mutex_lock(&tdh_fake.mutex);
    tdh_fake.calls++;
    tdh_fake.inside++;
    plat_cond_broadcast(&tdh_fake.changed);
    while (tdh_fake.closed) {
        plat_cond_wait(&tdh_fake.changed, &tdh_fake.mutex);
    }
    tdh_fake.inside--;
    plat_cond_broadcast(&tdh_fake.changed);
    plat_mutex_unlock(&tdh_fake.mutex);
    return etw_sim_TdhGetEventInformation(record, context_count, context, ret_info, info_bytes);
}

static inline uint32_t tdh_fake_map(
    struct etw_event_record *record, etw_char *name, void *ret_map, uint32_t *map_bytes)
{
    tdh_fake.map_calls++;
    return etw_sim_TdhGetEventMapInformation(record, name, ret_map, map_bytes);
}

static inline void tdh_fake_use(void)
{
    tdh_fake.api = (struct etw_api){
        .TdhGetEventInformation = tdh_fake_info, .TdhGetEventMapInformation = tdh_fake_map};
    tdh_fake.calls = 0;
    tdh_fake.map_calls = 0;
    plat_mutex_init(&tdh_fake.mutex);
    plat_cond_init(&tdh_fake.changed);
    etw_api_use(&tdh_fake.api);
}

static inline unsigned tdh_fake_calls(void)
{
    plat_mutex_lock(&tdh_fake.mutex);
    unsigned calls = tdh_fake.calls;
    plat_mutex_unlock(&tdh_fake.mutex);
    return calls;
}

static inline void tdh_fake_close(bool closed)
{
    plat_mutex_lock(&tdh_fake.mutex);
    tdh_fake.closed = closed;
    plat_cond_broadcast(&tdh_fake.changed);
    plat_mutex_unlock(&tdh_fake.mutex);
}

/* Wait until a call stands at the closed gate. */
static inline void tdh_fake_await_call(void)
{
    plat_mutex_lock(&tdh_fake.mutex);
    while (!tdh_fake.inside) {
        plat_cond_wait(&tdh_fake.changed, &tdh_fake.mutex);
    }
    plat_mutex_unlock(&tdh_fake.mutex);
}

#endif
