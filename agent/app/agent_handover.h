#ifndef ETWSHIP_APP_AGENT_HANDOVER_H
#define ETWSHIP_APP_AGENT_HANDOVER_H

#include "app/agent_internal.h"
#include "pipeline/had.h"

/*
 * From runs whose batches wait in memory to runs whose batches wait on the disk, and back. Both keep what is
 * true in one catalogue, but the first know how far each output is, the others how far each session is in
 * the spool. What one has noted the next one goes on from, so no trace is read twice, and nothing is left
 * out.
 */
struct store;

/* What is noted of outputs. Zero-initialised: nothing. */
struct agent_handover {
    bool *known; /* [stream * session_count + session]: it says how far the stream is */
    struct had
        *had;   /* [session * output_count + output]: what the output has, even where its stream
                                has less */
    bool *left; /* by output: its last run was one in memory */
    struct buf *checkpoints; /* by output, of that run */
    bool any;                /* of `left` */
};

/* Batches wait on the disk from here on: commit where streams begin. False with ${err} set: the agent must
 * not start, as nobody would know what was delivered. */
bool agent_handover_to_disk(
    struct agent *agent, struct store *store, struct agent_handover *handover, struct error *err);

/* Stage what outputs had. */
bool agent_handover_put_had(const struct agent *agent, struct store *store,
    const struct agent_handover *handover, struct error *err);

/* The pipeline has staged the outputs' checkpoints: commit these, and that the rows of the run in memory
 * are used up, at once. */
bool agent_handover_done(const struct agent *agent, struct store *store,
    const struct agent_handover *handover, struct error *err);

void agent_handover_fini(struct agent_handover *handover, size_t output_count);

/* Batches wait in memory from here on: stage a row of progress for each output that has none, and tell what
 * waits on the disk, since nobody delivers it. */
bool agent_handover_to_memory(struct agent *agent, struct store *store, struct error *err);

#endif
