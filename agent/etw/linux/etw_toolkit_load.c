#include "etw/etw_toolkit.h"

void etw_toolkit_load(struct etw_toolkit_api *api)
{
    (void)api;
}
