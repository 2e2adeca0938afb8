#include "platform/plat_processes.h"

/* Events of ETW are never of a Linux's processes: theirs would be given to those of another machine. So it
 * is with volumes and accounts. */
bool plat_processes_each(
    void (*each)(void *self, const struct plat_process *process), void *self, struct error *err)
{
    (void)each;
    (void)self;
    return error_set(err, ERR_UNSUPPORTED, "only Windows has processes that ETW tells of");
}
