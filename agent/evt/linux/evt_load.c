#include "evt/evt_api.h"

/* Linux has no Windows Event Log: every entry stays NULL. */
void evt_load(struct evt_api *api)
{
    (void)api;
}
