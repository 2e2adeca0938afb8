#define _GNU_SOURCE

#include "platform/plat_processes.h"

#include <errno.h>
#include <signal.h>

bool plat_process_runs(uint32_t pid)
{
    return pid && pid <= INT32_MAX && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

bool plat_process_image(uint32_t pid, uint64_t time, char *path, size_t size)
{
    (void)pid; /* only used with ETW, which is simulated here */
    (void)time;
    if (size) {
        path[0] = '\0';
    }
    return false;
}

/* Traces come from other machines, so facts about the processes, volumes and accounts of this Linux
 * must not be attached to their events. */
bool plat_processes_each(
    void (*each)(void *self, const struct plat_process *process), void *self, struct error *err)
{
    (void)each;
    (void)self;
    return error_set(err, ERR_UNSUPPORTED, "only Windows has processes with ETW events");
}
