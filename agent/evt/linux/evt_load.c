#include "evt/evt_api.h"

/* No Windows Event Log here: every entry stays NULL. */
void evt_load(struct evt_api *api)
{
    (void)api;
}
