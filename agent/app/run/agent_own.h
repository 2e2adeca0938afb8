#ifndef ETWSHIP_APP_AGENT_OWN_H
#define ETWSHIP_APP_AGENT_OWN_H

#include <stdatomic.h>

#include "app/run/agent_common.h"
#include "app/run/agent_control.h"
#include "app/run/agent_generation.h"
#include "app/run/agent_life.h"
#include "app/run/agent_runner.h"
#include "app/run/agent_sessions.h"
#include "app/state/agent_identity.h"
#include "app/state/data_folder.h"
#include "schema/cache/schema_log.h"

/*
 * Shared by agent_generation.c, agent_result.c, agent_control.c and agent_view.c, which join the
 * parts of an agent. Each part knows its own locks; not for users of agent_generation.h.
 */

/* What wakes the thread that waits for the end of the agent. */
enum agent_drain {
    AGENT_DRAIN_SESSIONS, /* to end */
    AGENT_DRAIN_OUTPUTS,  /* to deliver what the sessions gave */
    AGENT_DRAIN_DONE,
    AGENT_DRAIN_STUCK, /* an output does not return from a call, and is no longer waited for */
};

struct agent {
    struct agent_runner *runner;                /* that runs it */
    struct agent_common *common;                /* of the runner */
    struct log *log;                            /* of the process */
    struct agent_setup *setup;                  /* borrowed */
    const struct app_config *config;            /* of the setup */
    struct agent_plan *plan;                    /* of the setup */
    const char *data_dir;                       /* NULL: nothing is remembered beyond the process */
    char output_folder[DATA_FOLDER_PATH_BYTES]; /* in it, for files of outputs' own; "": none */
    struct agent_identity identity;
    struct buf tail;

    struct agent_life life;
    struct positions *positions;
    struct agent_sessions *sessions;
    struct dead_letters *dead_letters; /* NULL: what outputs refuse is lost */
    struct process_table **tables;     /* by session: those that are its own */
    struct summary **summaries;        /* by worker */
    uint64_t *observed;                /* [session]: agent_observed.h */
    struct pipeline *pipeline;
    struct agent_control *control;
    uint64_t unsure_told; /* agent_unsure_warn; of the control thread, then of the end */
    atomic_uint_fast64_t letters_evicted; /* letters that made room for others, each one an event */

    struct plat_mutex silent_mutex;
    struct schema_log_silent silent; /* providers that were named in the log; guarded by it */

    struct plat_thread *drain; /* waits for its end */
    struct plat_mutex drain_mutex;
    struct plat_cond drain_changed;
    enum agent_drain drained; /* guarded by it, while there is such a thread */
};

/* agent_generation.c: log how many dead letters have made room for others. */
void agent_tell_evicted(const struct agent *agent, uint64_t total);

#endif
