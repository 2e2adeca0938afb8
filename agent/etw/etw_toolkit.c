#include "etw/etw_toolkit.h"

#include <stdatomic.h>

static struct etw_toolkit_api system_api;
static atomic_int system_state; /* 0: empty, 1: being filled, 2: ready */
static _Atomic(const struct etw_toolkit_api *) used_api;

const struct etw_toolkit_api *etw_toolkit_get(void)
{
    static const struct etw_toolkit_api nothing;
    const struct etw_toolkit_api *used = atomic_load(&used_api);
    int empty = 0;
    if (used) {
        return used;
    }
    if (atomic_compare_exchange_strong(&system_state, &empty, 1)) {
        etw_toolkit_load(&system_api);
        atomic_store(&system_state, 2);
    }
    /* While another thread loads it, it counts as missing. */
    return atomic_load(&system_state) == 2 ? &system_api : &nothing;
}

void etw_toolkit_use(const struct etw_toolkit_api *api)
{
    atomic_store(&used_api, api);
}
