#ifndef ETWSHIP_TESTS_SUPPORT_POLICY_RIG_H
#define ETWSHIP_TESTS_SUPPORT_POLICY_RIG_H

#include "etw/etw_registry.h"
#include "support/etw_sim/sim_registry.h"
#include "support/test.h"

/* A registry with the values of a Group Policy, as administrators set them. */
static struct sim_registry *policy_registry;

static inline int policy_set_up(void **state)
{
    (void)state;
    policy_registry = sim_registry_create(NULL);
    etw_registry_use(sim_registry_api(policy_registry));
    return policy_registry ? 0 : -1;
}

static inline int policy_tear_down(void **state)
{
    (void)state;
    etw_registry_use(NULL);
    sim_registry_destroy(policy_registry);
    return 0;
}

static inline void demand_as(uint32_t type, const char *name, struct span data)
{
    const struct etw_registry_api *api = sim_registry_api(policy_registry);
    assert_int_equal(api->make(api->self, "SOFTWARE\\Policies\\etwship"), 0);
    assert_int_equal(api->set(api->self, "SOFTWARE\\Policies\\etwship", name, type, data), 0);
}

static inline void demand(const char *name, const char *text)
{
    demand_as(ETW_REGISTRY_TEXT, name, span_text(text));
}

#define policy_test(function) \
    cmocka_unit_test_setup_teardown(function, policy_set_up, policy_tear_down)

#endif
