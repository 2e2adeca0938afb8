#include "platform/plat_processes.h"

/* Traces come from other machines, so facts about this Linux's processes must not be attached to
 * their events. The same holds for volumes and accounts. */
bool plat_processes_each(
    void (*each)(void *self, const struct plat_process *process), void *self, struct error *err)
{
    (void)each;
    (void)self;
    return error_set(err, ERR_UNSUPPORTED, "only Windows has processes with ETW events");
}
