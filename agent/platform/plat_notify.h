#ifndef ETWSHIP_PLATFORM_PLAT_NOTIFY_H
#define ETWSHIP_PLATFORM_PLAT_NOTIFY_H

#include "base/span.h"

/*
 * Messages to the service manager that started this process: the protocol of systemd, as in
 * sd_notify(3) of systemd 252, "Implementation notes". Does nothing elsewhere. Not thread-safe.
 */
struct plat_notify;

/* The manager drops longer messages (its NOTIFY_BUFFER_MAX is PIPE_BUF). */
enum { PLAT_NOTIFY_MAX_BYTES = 4096 };

/* Open the socket that NOTIFY_SOCKET names. NULL, which all functions accept: there is none, or it
 * is unusable (other socket family, name too long, no memory). The caller closes it. */
struct plat_notify *plat_notify_open(void);
void plat_notify_close(struct plat_notify *notify);

/* Time after a WATCHDOG=1 until the manager considers this process hung, from WATCHDOG_USEC and
 * WATCHDOG_PID, in nanoseconds; 0: no watchdog. */
uint64_t plat_notify_watchdog_ns(const struct plat_notify *notify);

/*
 * Send ${text}: assignments such as READY=1, one per line, at most PLAT_NOTIFY_MAX_BYTES. Never
 * waits. False if the manager's queue is full, so that a retry makes sense; true if it was sent or
 * can never be sent.
 */
bool plat_notify_send(struct plat_notify *notify, struct span text);

#endif
