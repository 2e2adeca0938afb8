#ifndef ETWSHIP_SERVICE_SERVICE_HOST_H
#define ETWSHIP_SERVICE_SERVICE_HOST_H

#include "service/service_api.h"

/*
 * The service as the service control manager (SCM) sees its process: what it is told of the state of
 * the work, and what it asks of it.
 */
struct service_host;

struct service_host_work {
    /* All the work, on a thread of its own; its exit code. service_host_ready is called on the way. */
    int (*run)(void *self, struct service_host *host);
    /* Asks ${run} to end in good order, and returns. Once, after service_host_ready; any thread. */
    void (*stop)(void *self);
    /* The configuration may have changed (SERVICE_CONTROL_PARAMCHANGE). Any number of times between
     * service_host_ready and stop, on one thread. */
    void (*reload)(void *self);
    void *self;
    uint32_t pace_ms; /* between checkpoints; 0: 3 s. For tests */
};

/*
 * Do ${work} as the service of SERVICE_NAME, on the main thread. True: done, and ${ret_exit} is what
 * `run` gave. False if the SCM did not start this process (ERR_MISSING) or does not answer: nothing
 * was done. Once per process.
 */
bool service_host_run(const struct service_host_work *work, int *ret_exit, struct error *err);

/* It has started: from now on controls are taken. Any thread. */
void service_host_ready(struct service_host *host);

/* What a user should be told where nobody sees a terminal: an event in the Event Log. Cut at 31,000
 * bytes. Never fails; without an Event Log nothing happens. Any thread. */
void service_host_tell(struct service_host *host, enum service_message message, const char *text);

#endif
