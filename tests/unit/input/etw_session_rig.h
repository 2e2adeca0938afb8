#ifndef ETWSHIP_TESTS_UNIT_INPUT_ETW_SESSION_RIG_H
#define ETWSHIP_TESTS_UNIT_INPUT_ETW_SESSION_RIG_H

#include "input/windows/session/etw_session.h"

#include "etw_rig.h"
#include "input/windows/etw_consume.h"
#include "support/etw_sim/etw_sim.h"

/* A live session over one provider in a simulated Windows. */

#define NAME "etwship-test"

static struct guid provider_guid = {{0x77, 1, 2, 3}};
static const char provider_text[] = "03020177-0000-0000-0000-000000000000";

static inline struct etw_sim_provider *add_provider(struct rig *rig)
{
    return etw_sim_provider_add(
        rig->sim, &(struct etw_sim_provider_options){
                      .guid = provider_guid, .name = "Test-Provider", .pid = 900});
}

static inline bool is_enabled(struct rig *rig, const void *name)
{
    struct etw_sim_enablement enablement;
    return etw_sim_enabled(rig->sim, name, &provider_guid, &enablement) && rig_reads(rig, name);
}

/* How often NAME's session has enabled a provider or a group of them.
 * Its consumer reads before that. */
struct enabling {
    struct guid guid;
    uint32_t times;
};

static inline bool has_enabled(struct rig *rig, const void *enabling)
{
    const struct enabling *wanted = enabling;
    struct etw_sim_enablement enablement;
    return etw_sim_enabled(rig->sim, NAME, &wanted->guid, &enablement) &&
           enablement.enables >= wanted->times && rig_reads(rig, NAME);
}

static inline void start(struct rig *rig)
{
    struct provider_spec spec = rig_spec(provider_text);
    static struct provider_spec kept; /* outlives the session */
    kept = spec;
    rig_start_as(rig, ETW_PLAN_REALTIME, NULL, &kept, 1);
}

static inline void write_events(struct etw_sim_provider *provider, uint64_t count)
{
    struct etw_sim_event event = {.descriptor = {.id = 7, .level = 4}};
    assert_int_equal(etw_sim_burst(provider, &event, 0, count, 0), count);
}

static inline void assert_nothing_left(struct rig *rig)
{
    assert_int_equal(etw_sim_session_count(rig->sim), 0);
    assert_int_equal(etw_sim_open_traces(rig->sim), 0);
}

#endif
