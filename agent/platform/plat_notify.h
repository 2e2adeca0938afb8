#ifndef ETWSHIP_PLATFORM_PLAT_NOTIFY_H
#define ETWSHIP_PLATFORM_PLAT_NOTIFY_H

#include "base/span.h"

/*
 * What the service manager that started this process hears from it: the protocol of systemd, as
 * sd_notify(3) of systemd 252 describes it under "Implementation notes". Elsewhere nobody listens.
 * One thread at a time.
 */
struct plat_notify;

/* Longer messages are thrown away by the manager (its NOTIFY_BUFFER_MAX is PIPE_BUF). */
enum { PLAT_NOTIFY_MAX_BYTES = 4096 };

/* Whom NOTIFY_SOCKET names. NULL is fine everywhere: nobody listens, or nobody that can be reached
 * (sockets of other families, a name that is too long, no memory). Caller closes. */
struct plat_notify *plat_notify_open(void);
void plat_notify_close(struct plat_notify *notify);

/* The manager takes this process for hung that long after a WATCHDOG=1, as WATCHDOG_USEC and
 * WATCHDOG_PID say; 0: it does not ask for them. In nanoseconds. */
uint64_t plat_notify_watchdog_ns(const struct plat_notify *notify);

/*
 * Send ${text}, assignments such as READY=1, one per line, of at most PLAT_NOTIFY_MAX_BYTES.
 * Never waits. False if the manager has no room for it at the moment, so that it is worth another
 * try; true if it has it, or will never take it.
 */
bool plat_notify_send(struct plat_notify *notify, struct span text);

#endif
