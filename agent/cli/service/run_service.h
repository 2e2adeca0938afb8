#ifndef ETWSHIP_CLI_RUN_SERVICE_H
#define ETWSHIP_CLI_RUN_SERVICE_H

#include "app/run/agent_run.h"
#include "cli/options/cli.h"

/* `etwship run --service`: the agent, started by Windows' service control manager. */

/* Why a service waits. */
enum run_service_idle { RUN_SERVICE_BUSY, RUN_SERVICE_NO_CONFIG, RUN_SERVICE_NO_SESSION };

struct run_service_end {
    bool stuck; /* stuck inside an output, which still uses the configuration: end the process */
    enum run_service_idle idle;
};

/* The work of `run`: its exit code. ${keeper} NULL: at a terminal. Again after it was idle, or
 * where it has not begun. */
typedef int run_service_fn(const struct cli_args *args, const struct agent_keeper *keeper,
    struct run_service_end *ret_end);

struct run_service_work {
    run_service_fn *run;
    uint32_t look_ms; /* between looks for a configuration that is not there; 0: 5 s. For tests */
};

/*
 * Do ${work} as a service: report states to the SCM, and write messages and log lines to the Event
 * Log. Without a configuration, or with one without an enabled session, the service waits for
 * another one; it reports an invalid one and continues to wait. At a terminal it works as without
 * --service, with a warning.
 */
int run_service(const struct cli_args *args, const struct run_service_work *work,
    struct run_service_end *ret_end);

#endif
