#include "support/evt_sim_signal.h"

#include <stdlib.h>
#include <string.h>

#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

struct signal {
    struct plat_mutex mutex;
    struct plat_cond cond;
    bool raised;
};

evt_handle evt_sim_signal_make(void)
{
    struct signal *signal = calloc(1, sizeof(*signal));
    plat_mutex_init(&signal->mutex);
    plat_cond_init(&signal->cond);
    return signal;
}

void evt_sim_signal_raise(evt_handle handle)
{
    struct signal *signal = handle;
    plat_mutex_lock(&signal->mutex);
    signal->raised = true;
    plat_cond_broadcast(&signal->cond);
    plat_mutex_unlock(&signal->mutex);
}

void evt_sim_signal_wait(evt_handle handle, uint32_t timeout_ms)
{
    struct signal *signal = handle;
    uint64_t until = plat_monotonic_ns() + timeout_ms * UINT64_C(1000000);
    bool in_time = true;
    plat_mutex_lock(&signal->mutex);
    while (!signal->raised && in_time) {
        in_time = plat_cond_wait_until(&signal->cond, &signal->mutex, until);
    }
    signal->raised = false;
    plat_mutex_unlock(&signal->mutex);
}

void evt_sim_signal_close(evt_handle handle)
{
    struct signal *signal = handle;
    plat_cond_fini(&signal->cond);
    plat_mutex_fini(&signal->mutex);
    free(signal);
}

uint32_t evt_sim_locale_find(const evt_char *name)
{
    static const evt_char english[] = {'e', 'n', '-', 'U', 'S', 0};
    return memcmp(name, english, sizeof(english)) == 0 ? 1033 : 0;
}
