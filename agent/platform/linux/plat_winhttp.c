#include "platform/plat_winhttp.h"

bool plat_winhttp_load(struct plat_winhttp *ret_winhttp)
{
    *ret_winhttp = (struct plat_winhttp){.open = 0};
    return false;
}
