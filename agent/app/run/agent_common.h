#ifndef ETWSHIP_APP_AGENT_COMMON_H
#define ETWSHIP_APP_AGENT_COMMON_H

#include "app/log/log.h"
#include "app/run/agent_notify.h"
#include "app/run/agent_observed.h"
#include "app/run/agent_process_tables.h"
#include "app/run/agent_run.h"
#include "app/run/agent_takeover.h"
#include "base/guid.h"
#include "pipeline/slab/losses.h"
#include "pipeline/work/tap.h"

/*
 * What the agents of a process have in common: it outlives each of them, and the next one continues
 * with it. Of the thread of agent_run but where said.
 */
struct agent_push;
struct store;

struct agent_common {
    const struct agent_run_settings *settings;
    struct log *log; /* another one only while no agent runs; agent_runner_hold_log */
    bool logs_to_file;
    /* In memory, without a data folder: it outlives a reload. NULL: none yet. */
    struct store *store;
    struct agent_takeover takeover; /* what sessions have left running for the next agent */
    struct agent_observed observed; /* what the summary counts already */
    struct losses_left losses;      /* what an agent could not tell any more */
    struct agent_process_tables process_tables;
    struct tap_hub *taps;       /* the open taps; any thread */
    struct agent_notify notify; /* of the control thread */
    struct agent_push *push;    /* NULL: no output takes metrics */
    char ephemeral_id[GUID_TEXT_SIZE + 1];
};

#endif
