#ifndef ETWSHIP_APP_AGENT_IMPORT_H
#define ETWSHIP_APP_AGENT_IMPORT_H

#include "app/agent_internal.h"
#include "pipeline/had.h"

/*
 * A data folder whose spool.mode has changed: what one mode knows of sources and outputs, the other one
 * goes on from. So no trace is read twice, and nothing is left out.
 */
struct store;

/* What a run with its spool in memory has left. Zero-initialised: nothing. */
struct agent_import {
    struct positions *left; /* NULL: nothing is to be taken over */
    bool *known;            /* [stream * session_count + session]: it says how far the stream is */
    struct had
        *had; /* [session * output_count + output]: what the output has, even where its stream
                        has less */
};

/* The store has just been opened: positions, states and files become true in it. Where the disk has no
 * room for that, the agent does not start: nobody would know what was delivered. */
bool agent_import_to_spool(
    struct agent *agent, struct store *store, struct agent_import *import, struct error *err);

/* Stage what outputs had. */
bool agent_import_put_had(const struct agent *agent, struct store *store,
    const struct agent_import *import, struct error *err);

/* The outputs' checkpoints, which the pipeline has staged, become true; then the old file gets out of the
 * way. Whatever ends the process before, the next one does all of it again, as nothing was delivered. */
bool agent_import_done(const struct agent *agent, struct store *store,
    const struct agent_import *import, struct error *err);

void agent_import_fini(struct agent_import *import);

/* The other way: the agent has its spool in memory, and positions are open if it has a folder. What waits
 * on the disk is told, since nobody delivers it. */
bool agent_import_from_spool(struct agent *agent, struct error *err);

#endif
