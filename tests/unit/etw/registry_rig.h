#ifndef ETWSHIP_TESTS_UNIT_ETW_REGISTRY_RIG_H
#define ETWSHIP_TESTS_UNIT_ETW_REGISTRY_RIG_H

#include "etw/etw_registry.h"
#include "support/etw_sim/sim_registry.h"
#include "support/test.h"

/* A registry for each test, empty at first. */

static struct sim_registry *registry;

static inline int registry_set_up(void **state)
{
    (void)state;
    registry = sim_registry_create(NULL);
    etw_registry_use(sim_registry_api(registry));
    return registry ? 0 : -1;
}

static inline int registry_tear_down(void **state)
{
    (void)state;
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
    return 0;
}

static inline void registry_put(const char *key, const char *name, uint32_t number)
{
    struct etw_registry_tree tree;
    etw_registry_init(&tree);
    etw_registry_put_dword(&tree, "", name, number);
    assert_true(etw_registry_write(key, &tree, NULL));
    etw_registry_fini(&tree);
}

#endif
