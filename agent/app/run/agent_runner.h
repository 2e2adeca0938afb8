#ifndef ETWSHIP_APP_AGENT_RUNNER_H
#define ETWSHIP_APP_AGENT_RUNNER_H

#include "app/run/agent_notify.h"
#include "app/run/agent_observed.h"
#include "app/run/agent_process_tables.h"
#include "app/run/agent_run.h"
#include "app/run/agent_takeover.h"
#include "app/watch/agent_status.h"
#include "base/guid.h"
#include "pipeline/slab/losses.h"
#include "pipeline/work/tap.h"
#include "platform/plat_thread.h"

/*
 * The process of `etwship run`: what outlives the configuration. One agent after the other runs in
 * it, and between two of them, for a moment, none: the log, the data folder and the service manager
 * stay with it.
 *
 * Threads: the one of agent_run makes agents and ends them; the control thread keeps time, for the
 * agent that runs and for the service manager; the signal thread, or the service's control thread,
 * asks for a stop or a reload.
 */
struct agent;
struct agent_history;
struct agent_push;
struct agent_server;
struct agent_setup;
struct plat_lock;
struct store;

struct agent_runner {
    const struct agent_run_settings *settings;
    struct log *log; /* another one only while no agent runs, and under the mutex */
    bool logs_to_file;
    struct plat_lock *lock; /* of the data folder, once it was taken; NULL: there is none */
    struct store
        *store; /* in memory, without a data folder: it outlives a reload. NULL: none yet */
    struct agent_takeover
        takeover; /* what sessions have left running for the agent that comes next */
    struct agent_observed observed; /* what the summary counts already */
    struct tap_hub *taps;           /* the open taps */
    struct losses_left losses;      /* what an agent could not tell any more */
    struct app_limits limits;       /* that hold */
    struct agent_process_tables process_tables;
    char ephemeral_id[GUID_TEXT_SIZE + 1];
    uint64_t started_ns;
    uint64_t started; /* FILETIME: the same moment */

    /* Of the control thread. */
    struct plat_thread *control;
    struct agent_notify notify;
    struct agent_history *history; /* of the thread of the server; NULL: there is none yet */
    struct agent_server *server;   /* of the thread of agent_run; NULL: there is no status server */
    struct agent_push *push;       /* of the same; NULL: no output takes metrics */
    uint64_t end_ns;               /* of --duration; UINT64_MAX: none */

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

/* The log that ${config} asks for, in place of the one that there is. While no agent runs. */
bool agent_runner_open_log(
    struct agent_runner *runner, const struct app_config *config, struct error *err);

/* A whole life of the control thread, until the process is over. */
void agent_runner_keep_time(void *self);

/* Wake the control thread, and threads that wait for the agent,
 * as something has changed. Any thread. */
void agent_runner_wake(struct agent_runner *runner);

/* End the agent that runs and the one that would follow;
 * ${signalled}: a stop was asked for. Any thread. */
void agent_runner_stop(struct agent_runner *runner, bool signalled);

bool agent_runner_is_stopping(struct agent_runner *runner);

/* The agent that runs, which stays until it is given back; NULL: none does. Any thread. */
struct agent *agent_runner_borrow(struct agent_runner *runner);
void agent_runner_give_back(struct agent_runner *runner);

/* It runs from now on, or, NULL, does not any more: only the caller uses it then. */
void agent_runner_show(struct agent_runner *runner, struct agent *agent);

/* Make an agent of ${setup} and start it. False with ${err} set: none runs, and nothing is left of
 * it; ${ret_stuck}: but an output inside a call, with all that it uses. */
bool agent_runner_begin(
    struct agent_runner *runner, struct agent_setup *setup, bool *ret_stuck, struct error *err);

/* Wait for the running or requested agent to end, free it, and add its counts to ${result}. False:
 * an output is stuck inside a call, and nothing is freed. */
bool agent_runner_end(struct agent_runner *runner, struct agent_run_result *result);

#endif
