#ifndef ETWSHIP_APP_AGENT_IMPORT_H
#define ETWSHIP_APP_AGENT_IMPORT_H

#include "app/agent_internal.h"

/*
 * A data folder whose spool.mode has changed: what one mode knows of sources and outputs, the other one
 * goes on from. So no trace is read twice, and nothing is left out.
 */
struct store;

/* What a run with its spool in memory has left. Zero-initialised: nothing. */
struct agent_import {
    struct positions *left; /* NULL: nothing is to be taken over */
    bool *known;            /* [stream * session_count + session]: it says how far the stream is */
    uint64_t *had; /* [session * output_count + output]: up to here the output has everything, even
                      where its stream has less … */
    uint64_t *had_behind; /* … but of no batch up to this one, which were in the spool before */
};

/* The store has just been opened: positions, states and files become true in it. Where the disk has no
 * room for that, the agent does not start: nobody would know what was delivered. */
bool agent_import_to_spool(
    struct agent *agent, struct store *store, struct agent_import *import, struct error *err);

/* The output of ${cell} (of `had`) has all up to ${number}, but of no batch up to ${behind}; where that is
 * the number that it had, what was said of it stays. */
void agent_import_set_had(
    struct agent_import *import, size_t cell, uint64_t number, uint64_t behind);

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
