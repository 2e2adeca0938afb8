#include "service/service_api.h"

/* No service control manager here: every entry stays NULL. */
void service_load(struct service_api *api)
{
    (void)api;
}
