#ifndef ETWSHIP_SERVICE_SERVICE_HOST_H
#define ETWSHIP_SERVICE_SERVICE_HOST_H

#include "service/service_api.h"

/*
 * The process of the service under the service control manager (SCM): reports states, receives
 * requests.
 */
struct service_host;

struct service_host_work {
    /* All the work, on a thread of its own. Returns the exit code. Calls service_host_ready after
     * the start. */
    int (*run)(void *self, struct service_host *host);
    /* Asks ${run} to shut down, and returns. Called once, after service_host_ready; any thread. */
    void (*stop)(void *self);
    /* The configuration may have changed (SERVICE_CONTROL_PARAMCHANGE). Any number of times between
     * service_host_ready and stop, on one thread. */
    void (*reload)(void *self);
    void *self;
    uint32_t pace_ms; /* between checkpoints; 0: 3 s. For tests */
};

/*
 * Do ${work} as the service SERVICE_NAME, on the main thread. True: done; ${ret_exit} is the result
 * of `run`. False if the SCM did not start this process (ERR_MISSING) or does not answer: nothing
 * was done. Once per process.
 */
bool service_host_run(const struct service_host_work *work, int *ret_exit, struct error *err);

/* The work has started: accept controls from now on. Any thread. */
void service_host_ready(struct service_host *host);

/* Write a message to the Event Log, as a service has no terminal. Cut at 31,000 bytes. Never fails;
 * without an Event Log it does nothing. Any thread. */
void service_host_tell(struct service_host *host, enum service_message message, const char *text);

#endif
