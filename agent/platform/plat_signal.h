#ifndef ETWSHIP_PLATFORM_PLAT_SIGNAL_H
#define ETWSHIP_PLATFORM_PLAT_SIGNAL_H

#include "base/error.h"

/* Requests to this process to stop, or to read its configuration again. */

/*
 * A group of processes often receives two signals at once (from timeout, a shell, a container's
 * init). Signals within this time of the first are part of one request to stop.
 */
enum { PLAT_STOP_REPEAT_MS = 500 };

/*
 * Handle requests to stop: after the first SIGINT or SIGTERM (Ctrl-C, service stop), ${stop} is
 * called once on a thread of the platform layer; a second signal, PLAT_STOP_REPEAT_MS or more after
 * the first, ends the process with exit code 130. Writes report a closed pipe; there is no signal
 * for it. Call once per process.
 */
bool plat_on_stop(void (*stop)(void *self), void *self, struct error *err);

/* Register a last action for when a second signal ends the process: ${last} is called before that
 * on a thread of the platform layer. A third signal does not wait for it. NULL: none. */
void plat_on_kill(void (*last)(void *self), void *self);

/* Like plat_on_stop for SIGHUP, any number of times: ${hangup} is called once for all that arrived
 * since its last call. Windows has no such signal. */
bool plat_on_hangup(void (*hangup)(void *self), void *self, struct error *err);

#endif
