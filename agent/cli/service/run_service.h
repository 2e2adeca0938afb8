#ifndef ETWSHIP_CLI_RUN_SERVICE_H
#define ETWSHIP_CLI_RUN_SERVICE_H

#include "app/run/agent_run.h"
#include "cli/options/cli.h"

/* `etwship run --service`: the agent, started by Windows' service control manager. */

/* Why a service has nothing to do, and waits. */
enum run_service_idle { RUN_SERVICE_BUSY, RUN_SERVICE_NO_CONFIG, RUN_SERVICE_NO_SESSION };

struct run_service_end {
    bool stuck; /* inside an output, which still uses the configuration: end the process */
    enum run_service_idle idle;
};

/* The work of `run`: its exit code. ${keeper} NULL: at a terminal. Again after it was idle, or where it
 * has not begun. */
typedef int run_service_fn(const struct cli_args *args, const struct agent_keeper *keeper,
    struct run_service_end *ret_end);

struct run_service_work {
    run_service_fn *run;
    uint32_t look_ms; /* between looks for a configuration that is not there; 0: 5 s. For tests */
};

/*
 * Do ${work} as a service: the SCM is told how it goes, what is said and logged becomes events of the
 * Event Log. Without a configuration, or with one that has no session enabled, it runs and waits for
 * another one; what is wrong with that is told, and it waits on. At a terminal it is done as without
 * --service, with a warning.
 */
int run_service(const struct cli_args *args, const struct run_service_work *work,
    struct run_service_end *ret_end);

#endif
