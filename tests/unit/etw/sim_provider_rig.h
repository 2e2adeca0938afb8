#ifndef ETWSHIP_TESTS_UNIT_ETW_SIM_PROVIDER_RIG_H
#define ETWSHIP_TESTS_UNIT_ETW_SIM_PROVIDER_RIG_H

#include "support/test.h"

#include <stdio.h>

#include "support/etw_sim/etw_sim_rig.h"

/* A simulated Windows with two processors; the tests ask whether events of a provider get into
 * session "s". */

static const struct guid guid_a = {{0xa, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
static const struct guid guid_b = {{0xb, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
static const struct guid group_guid = {{0xc, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
static struct etw_sim *sim;
static const struct etw_api *api;

static inline int setup(void **state)
{
    (void)state;
    sim = etw_sim_create(&(struct etw_sim_options){.processors = 2}, NULL);
    api = sim ? etw_sim_api(sim) : NULL;
    etw_api_use(api);
    return sim ? 0 : -1;
}

static inline int teardown(void **state)
{
    (void)state;
    etw_api_use(NULL);
    etw_sim_destroy(sim);
    sim = NULL;
    return 0;
}

static inline struct etw_sim_provider *add(struct etw_sim_provider_options options)
{
    struct etw_sim_provider *p = etw_sim_provider_add(sim, &options);
    assert_non_null(p);
    return p;
}

static inline uint64_t logged(const char *session)
{
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(sim, session, &info));
    const struct etw_sim_counts *c = &info.counts;
    assert_int_equal(c->offered, c->filtered + c->withheld + c->events_lost + c->logged);
    return c->logged;
}

/* Does an event get into session "s"? */
static inline bool passes(struct etw_sim_provider *p, struct etw_sim_event event)
{
    uint64_t before = logged("s");
    assert_int_equal(etw_sim_write(p, &event), 0);
    return logged("s") > before;
}

static inline bool passes_level_keyword(struct etw_sim_provider *p, uint8_t level, uint64_t keyword)
{
    return passes(p, (struct etw_sim_event){.descriptor = {.level = level, .keyword = keyword}});
}

static inline bool passes_id(struct etw_sim_provider *p, uint16_t id)
{
    return passes(p, (struct etw_sim_event){.descriptor = {.id = id, .level = 4}});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
