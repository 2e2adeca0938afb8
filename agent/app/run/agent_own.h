#ifndef ETWSHIP_APP_AGENT_OWN_H
#define ETWSHIP_APP_AGENT_OWN_H

#include "app/log/log.h"
#include "app/plan/agent_plan.h"
#include "app/positions/positions.h"
#include "app/run/agent_life.h"
#include "app/run/agent_runner.h"
#include "app/run/agent_sessions.h"
#include "app/run/agent_setup.h"
#include "app/state/agent_identity.h"
#include "app/state/data_folder.h"
#include "app/watch/agent_health.h"
#include "app/watch/agent_status.h"
#include "platform/plat_thread.h"
#include "schema/cache/schema_log.h"

/*
 * Shared by the files of the running agent (agent_*.c); not for users of agent_run.h.
 *
 * A process (agent_runner.h) runs one agent after another: the first with the configuration at its
 * start, and a new one for each reloaded configuration.
 */

/* Of the thread that keeps time. */
struct agent_clock {
    uint64_t next_stats;
    uint64_t next_save;
    uint64_t next_health;
};

/* What wakes the thread that waits for the end of the agent. */
enum agent_drain {
    AGENT_DRAIN_SESSIONS, /* to end */
    AGENT_DRAIN_OUTPUTS,  /* to deliver what the sessions gave */
    AGENT_DRAIN_DONE,
    AGENT_DRAIN_STUCK, /* an output does not return from a call, and is no longer waited for */
};

struct agent {
    struct agent_runner *runner;
    const struct agent_run_settings *settings; /* of the process */
    struct log *log;                           /* of the process */
    struct agent_setup *setup;                 /* borrowed */
    const struct app_config *config;           /* of the setup */
    struct agent_plan *plan;                   /* of the setup */
    struct agent_identity identity;
    struct buf tail;
    struct dead_letters *dead_letters;    /* NULL: what outputs refuse is lost */
    atomic_uint_fast64_t letters_evicted; /* letters that made room for others, each one an event */
    struct process_table **tables;        /* by session: those that are its own */
    struct pipeline *pipeline;
    uint64_t unsure_told; /* events, by agent_unsure_warn */
    struct agent_life *life;
    struct agent_sessions *sessions;
    struct summary **summaries; /* by worker */
    struct agent_status status; /* of the control thread, then of the end */
    struct agent_clock clock;
    uint64_t started_ns;

    /* The thread that waits for its end; guarded by the process's mutex. */
    struct plat_thread *drain;
    enum agent_drain drained;

    struct plat_mutex silent_mutex;
    struct schema_log_silent silent; /* providers that were named in the log; guarded by it */

    const char *data_dir; /* NULL: nothing is remembered beyond the process */
    char output_folder
        [DATA_FOLDER_PATH_BYTES]; /* in data_dir, for files of outputs' own; "": none */

    struct positions *positions;
    uint64_t *observed; /* [session]: agent_observed.h */
};

/* agent_generation.c: one agent from its making to its end, on the thread of agent_run but where said. */

/* Everything that can fail before a thread runs. NULL with ${err} set. */
struct agent *agent_create(
    struct agent_runner *runner, struct agent_setup *setup, struct error *err);

/* Run it, as the one of its process. False with ${err} set: nothing of it runs any more. */
bool agent_start(struct agent *agent, struct error *err);

/* Ask every input to stop; outputs get the time that the configuration gives them. Any thread. */
void agent_stop(struct agent *agent);

/* Ask every input to stop for another agent in this process: sessions that ${next} continues leave running what they run, and with a
 * spool that keeps, outputs end once what they are sending has arrived or failed. */
void agent_make_way(struct agent *agent, const struct agent_setup *next);

/* Wait for its end, which is asked for or near, and store positions a last time; no other thread sees
 * the agent any more then. False: an output is stuck inside a call. An agent that makes way waits for
 * such an output, unless the process is to stop. */
bool agent_finish(struct agent *agent);

/* Add what it did to ${result}. */
void agent_add_result(struct agent *agent, struct agent_run_result *result);

/* Finished, not stuck, or never started. */
void agent_destroy(struct agent *agent);

/* agent_no_match.c: warn of selections that matched nothing; how many. The agent has come to its end, and
 * its status is the last one. */
uint64_t agent_no_match(struct agent *agent);

/* agent_unsure.c: warn of rules that could not be judged for some events, if there are more of these than at the
 * last call. One thread at a time. */
void agent_unsure_warn(struct agent *agent);

/* agent_control.c: what the thread that keeps time does for the agent that runs. */
void agent_control_begin(struct agent *agent);
/* Do what is due; returns when something is next. */
uint64_t agent_control_tick(struct agent *agent, uint64_t now_ns);

#endif
