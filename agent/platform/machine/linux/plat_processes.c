#include "platform/plat_processes.h"

/* Traces come from other machines, so facts about the processes, volumes and accounts of this Linux
 * must not be attached to their events. */
bool plat_processes_each(
    void (*each)(void *self, const struct plat_process *process), void *self, struct error *err)
{
    (void)each;
    (void)self;
    return error_set(err, ERR_UNSUPPORTED, "only Windows has processes with ETW events");
}
