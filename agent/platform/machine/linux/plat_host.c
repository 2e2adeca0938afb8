#include "platform/plat_host.h"

#include "platform/plat_system.h"

void plat_host_query(struct plat_host *ret_host)
{
    *ret_host = (struct plat_host){.architecture = PLAT_HOST_NO_ARCHITECTURE};
    plat_host_name(ret_host->name, sizeof(ret_host->name));
}
