#ifndef ETWSHIP_APP_HANDOVER_H
#define ETWSHIP_APP_HANDOVER_H

#include "app/log/log.h"
#include "app/plan/agent_plan.h"
#include "pipeline/batch/delivered.h"

/*
 * From a run whose batches wait in memory to one whose batches wait on the disk, and back. Both
 * write to the same catalogue. The first notes how far each output is, the second how far each
 * session is in the spool. Here the next run takes over what the last one noted, so that outputs
 * get no event twice and miss none.
 */
struct store;

/* The outputs that the catalogue knows. Zero-initialised: none. */
struct handover {
    /* [stream * session_count + session]: rows of progress say where the stream begins. */
    bool *known;
    /* [session * output_count + output]: what the output took, even where its stream begins
     * earlier. */
    struct delivered *delivered;
    bool *left;              /* by output: its last run was one in memory */
    struct buf *checkpoints; /* by output, of that run */
    bool any;                /* of `left` */
};

/* Batches wait on the disk from here on: commit where streams begin. False with ${err} set: the
 * agent must not start, as it would deliver again what was delivered. */
bool handover_to_disk(const struct agent_plan *plan, struct store *store, struct handover *handover,
    struct error *err);

/* Stage what outputs took. */
bool handover_put_delivered(const struct agent_plan *plan, struct store *store,
    const struct handover *handover, struct error *err);

/* The pipeline has staged the outputs' checkpoints: commit these and remove the rows of the run in
 * memory, in one transaction. */
bool handover_done(const struct agent_plan *plan, struct log *log, struct store *store,
    const struct handover *handover, struct error *err);

void handover_fini(struct handover *handover, size_t output_count);

/* Batches wait in memory from here on: stage a row of progress for each output that has none, and
 * warn of events on the disk, which stay undelivered. ${data_dir} NULL: the store is in memory, and
 * is left alone. */
bool handover_to_memory(const struct agent_plan *plan, struct log *log, const char *data_dir,
    struct store *store, struct error *err);

#endif
