#ifndef ETWSHIP_CLI_SELFTEST_PROVIDER_H
#define ETWSHIP_CLI_SELFTEST_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guid.h"

/* A provider of this process that the self-test registers. */
struct selftest_provider {
    /* A session enables it or changes that, or disables it. Windows calls this on any thread; may
     * be NULL. */
    void (*changed)(void *self, bool enabled, uint64_t keywords);
    void *self;
    uint64_t handle; /* for EventWrite and others; 0: it is not registered */
};

/* Register ${provider} under ${guid}; it must stay in its place until it is unregistered. Returns
 * Windows' error code, 0: none. */
uint32_t selftest_provider_register(struct selftest_provider *provider, const struct guid *guid);

/* One that is not registered is fine. */
void selftest_provider_unregister(struct selftest_provider *provider);

#endif
