#ifndef ETWSHIP_CLI_RUN_SERVICE_H
#define ETWSHIP_CLI_RUN_SERVICE_H

#include "app/agent_run.h"
#include "cli/cli.h"

/* `etwship run --service`: the agent, started by Windows' service control manager. */

/* The work of `run`: its exit code. ${keeper} NULL: at a terminal. */
typedef int run_service_fn(
    const struct cli_args *args, const struct agent_keeper *keeper, bool *ret_stuck);

/*
 * Do ${run} as a service: the SCM is told how it goes, what is said and logged becomes events of the
 * Event Log. At a terminal it is done as without --service, with a warning.
 */
int run_service(const struct cli_args *args, run_service_fn *run, bool *ret_stuck);

#endif
