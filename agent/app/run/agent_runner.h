#ifndef ETWSHIP_APP_AGENT_RUNNER_H
#define ETWSHIP_APP_AGENT_RUNNER_H

#include "app/watch/agent_status.h"

/*
 * The process of `etwship run`: what outlives the configuration. One agent after the other runs in
 * it, and between two of them, for a moment, none: the log, the data folder and the service manager
 * stay with it.
 *
 * Threads: the one of agent_run makes agents and ends them; the control thread keeps time, for the
 * agent that runs and for the service manager; the signal thread, or the service's control thread,
 * asks for a stop or a reload. These functions are for any thread.
 */
struct agent;
struct agent_runner;
struct log;

/* Wake the control thread, and threads that wait for the agent, as something has changed. */
void agent_runner_wake(struct agent_runner *runner);

/* End the agent that runs and the one that would follow; ${signalled}: a stop was asked for. */
void agent_runner_stop(struct agent_runner *runner, bool signalled);

bool agent_runner_is_stopping(struct agent_runner *runner);

/* The agent that runs, which stays until it is given back; NULL: none does. */
struct agent *agent_runner_borrow(struct agent_runner *runner);
void agent_runner_give_back(struct agent_runner *runner);

/* The log, which stays until it is released. Nothing else may be called for the runner meanwhile.
 * An agent need not hold it: the log does not change while one runs. */
struct log *agent_runner_hold_log(struct agent_runner *runner);
void agent_runner_release_log(struct agent_runner *runner);

/* The process at one moment. */
struct agent_runner_view {
    struct agent_loads loads;
    uint64_t uptime_ns;
    bool has_run; /* everything ran once */
    bool stops;
};

void agent_runner_look(struct agent_runner *runner, struct agent_runner_view *ret_view);

/* ${agent} runs from now on, or, NULL, none does any more: only the caller uses it then. On the
 * thread of agent_run. */
void agent_runner_show(struct agent_runner *runner, struct agent *agent);

#endif
