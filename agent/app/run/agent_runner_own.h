#ifndef ETWSHIP_APP_AGENT_RUNNER_OWN_H
#define ETWSHIP_APP_AGENT_RUNNER_OWN_H

#include "app/run/agent_common.h"
#include "app/run/agent_runner.h"
#include "platform/plat_thread.h"

/* Shared by agent_runner.c, agent_run.c and agent_reload.c, which run a process. */
struct agent_server;
struct agent_setup;
struct plat_lock;

struct agent_runner {
    struct agent_common common;  /* the log also under the mutex */
    struct plat_lock *lock;      /* of the data folder, once it was taken; NULL: there is none */
    struct app_limits limits;    /* that hold */
    struct agent_server *server; /* NULL in the end */
    uint64_t started_ns;
    uint64_t started; /* FILETIME: the same moment */

    /* Of the control thread. */
    struct plat_thread *control;
    uint64_t end_ns; /* of --duration; UINT64_MAX: none */

    /* Guarded by the mutex. */
    struct plat_mutex mutex;
    struct plat_cond changed;
    struct agent *agent; /* that runs; NULL: none does at the moment */
    unsigned users;      /* other threads that are about it: it stays meanwhile */
    uint64_t wakes;
    bool has_run; /* everything ran once */
    bool asked_to_stop;
    bool signalled; /* a stop was asked for */
    bool asked_to_reload;
    bool over;
    uint64_t reloads_begun;
    uint64_t reloads_over;
    uint64_t shutdown_ns; /* agent.shutdown of the agent that runs */
    struct agent_loads loads;
};

/* NULL with ${err} set. */
struct agent_runner *agent_runner_create(
    const struct agent_run_settings *settings, struct error *err);

/* No agent and no thread runs. */
void agent_runner_destroy(struct agent_runner *runner);

/* The log that ${config} asks for, in place of the one that there is. While no agent runs. */
bool agent_runner_open_log(
    struct agent_runner *runner, const struct app_config *config, struct error *err);

/* A whole life of the control thread, until the process is over. */
void agent_runner_keep_time(void *self);

/* Make an agent of ${setup} and start it. False with ${err} set: none runs, and nothing is left of
 * it; ${ret_stuck}: but an output inside a call, with all that it uses. */
bool agent_runner_begin(
    struct agent_runner *runner, struct agent_setup *setup, bool *ret_stuck, struct error *err);

/* Send the agent's own metrics as ${config} says from now on. */
void agent_runner_push(struct agent_runner *runner, const struct app_config *config);

/* Wait for the running or requested agent to end, free it, and add its counts to ${result}. False:
 * an output is stuck inside a call, and nothing is freed. */
bool agent_runner_end(struct agent_runner *runner, struct agent_run_result *result);

#endif
