#ifndef ETWSHIP_PIPELINE_OUTLET_BATCH_H
#define ETWSHIP_PIPELINE_OUTLET_BATCH_H

#include "pipeline/deliver/outlet_lane.h"

/* Delivery of one batch by a lane. On the lane's thread, without the outlet's mutex. */

/* Deliver what this output has not had of the batch, and settle it,
 * or hold what its routes do not take. */
void outlet_batch_work_on(struct outlet_lane *lane, const struct spool_item *item);

/* Take a checkpoint, unless that is not possible now: then the one before stands, false. */
bool outlet_batch_note_position(struct outlet_lane *lane);

/* ---- callbacks of the lane's host ------------------------------------------------------------ */

void outlet_batch_on_lost(void *self, size_t first, size_t count, enum delivery_loss why);
void outlet_batch_on_left(void *self, const uint32_t *records, size_t count);
void outlet_batch_on_park(void *self, size_t record, const struct output_rejection *why);

/* ---- for outlet_parked.c: the parts of outlet_batch_work_on ---------------------------------- */

/* The lane works on ${item} until outlet_batch_end. ${tried}: it did before, since
 * plat_monotonic_ns() was ${since_ns}. */
void outlet_batch_begin(
    struct outlet_lane *lane, const struct spool_item *item, bool tried, uint64_t since_ns);
void outlet_batch_end(struct outlet_lane *lane);

/* Deliver these records of the batch, ascending. Parked ones are marked. */
void outlet_batch_deliver_list(struct outlet_lane *lane, const uint32_t *records, size_t count);

/* Records of the batch will not be delivered in this run. */
void outlet_batch_lose_undelivered(struct outlet_lane *lane, size_t first, size_t count);

/* A record of it makes room in the spool. */
void outlet_batch_lose_held(struct outlet_lane *lane, size_t record);

void outlet_batch_tell_ledger(struct outlet_lane *lane);

/* The spool and the mark hear what became of the batch, which no thread holds any more.
 * Not ${settled}: some of it is to be delivered by the next run. */
void outlet_batch_settle(struct outlet_lane *lane, const struct spool_item *item, bool settled);

#endif
