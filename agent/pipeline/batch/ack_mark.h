#ifndef ETWSHIP_PIPELINE_ACK_MARK_H
#define ETWSHIP_PIPELINE_ACK_MARK_H

#include "pipeline/batch/batch.h"

/*
 * How far an output is: a low-water mark by session. Batches may be settled in any order, the mark
 * moves in that of their numbers: what is settled too early waits until all before it are.
 * Embedded; no lock inside.
 */
struct ack_mark {
    uint64_t *acked;      /* by session: everything up to this sequence is settled */
    uint64_t next_number; /* of the batch after the mark */
    struct ack_mark_early *early;
    size_t early_count;
    size_t early_capacity;
};

/* ${resume}: by session, what was settled in an earlier run; NULL: nothing. False: out of memory,
 * and fini is allowed. */
bool ack_mark_init(struct ack_mark *mark, size_t session_count, const uint64_t *resume);
void ack_mark_fini(struct ack_mark *mark); /* zeroed is fine */

/* Note that every record of ${batch} is settled; call it once per batch. False: the batch is too
 * far ahead of the mark; call again when the mark has moved. */
bool ack_mark_settle(struct ack_mark *mark, const struct batch *batch);

/* May ${batches} more be settled before the mark moves? */
bool ack_mark_has_room(const struct ack_mark *mark, size_t batches);

/* The first ${count} segments of ${batch} are settled. Counts at once if the batch is next, else
 * with the whole of it. */
void ack_mark_settle_segments(struct ack_mark *mark, const struct batch *batch, size_t count);

#endif
