#include "platform/plat_notify.h"

/* Windows services communicate with their manager in another way. */

struct plat_notify *plat_notify_open(void)
{
    return NULL;
}

void plat_notify_close(struct plat_notify *notify)
{
    (void)notify;
}

uint64_t plat_notify_watchdog_ns(const struct plat_notify *notify)
{
    (void)notify;
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): other systems change what it points to */
bool plat_notify_send(struct plat_notify *notify, struct span text)
{
    (void)notify;
    (void)text;
    return true;
}
