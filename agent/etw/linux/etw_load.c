#include "etw/etw_api.h"

/* No Event Tracing for Windows here: every entry stays NULL. */
void etw_load(struct etw_api *api)
{
    (void)api;
}
