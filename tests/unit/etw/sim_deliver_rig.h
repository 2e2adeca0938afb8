#ifndef ETWSHIP_TESTS_UNIT_ETW_SIM_DELIVER_RIG_H
#define ETWSHIP_TESTS_UNIT_ETW_SIM_DELIVER_RIG_H

#include "support/test.h"

#include "support/etw_sim/etw_sim_rig.h"

/* A simulated Windows with one provider, and the ledger of its sessions. */

static const struct guid provider_guid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
static struct etw_sim *sim;
static struct etw_sim_provider *provider;

static inline int make(const struct etw_sim_options *options)
{
    sim = etw_sim_create(options, NULL);
    if (!sim) {
        return -1;
    }
    etw_api_use(etw_sim_api(sim));
    provider = etw_sim_provider_add(sim, &(struct etw_sim_provider_options){.guid = provider_guid});
    return provider ? 0 : -1;
}

static inline int setup(void **state)
{
    (void)state;
    return make(&(struct etw_sim_options){.processors = 2});
}

static inline int teardown(void **state)
{
    (void)state;
    etw_api_use(NULL);
    etw_sim_destroy(sim);
    sim = NULL;
    return 0;
}

/* Every event is accounted for, as etw_sim.h promises. */
static inline struct etw_sim_counts checked_counts(const char *name)
{
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(sim, name, &info));
    const struct etw_sim_counts *c = &info.counts;
    assert_int_equal(c->offered, c->filtered + c->withheld + c->events_lost + c->logged);
    assert_int_equal(c->logged, c->delivered + c->in_lost_buffers + c->discarded + c->pending);
    return *c;
}

static inline uint32_t write_id(uint16_t id, uint16_t cpu)
{
    const struct etw_sim_event event = {
        .descriptor = {.id = id, .level = 4}, .cpu = cpu, .payload = span_text("payload")};
    return etw_sim_write(provider, &event);
}

/* Start the session "live" with the provider enabled, and read it. */
static inline uint64_t start_reading(struct rig_consumer *c)
{
    uint64_t session = rig_start(sim, "live", 64, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    assert_true(rig_consumer_start(c, sim, "live", 0));
    return session;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
