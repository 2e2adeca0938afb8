#ifndef ETWSHIP_PIPELINE_OUTLET_CHECKPOINT_H
#define ETWSHIP_PIPELINE_OUTLET_CHECKPOINT_H

#include "pipeline/deliver/outlet_lane.h"

/* How far an outlet is, with what its output must know of it after a restart. On a lane's thread,
 * without the outlet's mutex. */

/* One object can say how far it is; of several, none can say it for all. */
bool outlet_checkpoint_has(const struct outlet *outlet);

/* Ask the output for its checkpoint, which belongs to what is acked at this moment; ${now}: have it
 * stored at once, where the spool does that. False with ${err} set: the one before stands. */
bool outlet_checkpoint_take(struct outlet_lane *lane, bool now, struct error *err);

/* As outlet_checkpoint_take, for output_env.save: ${self} is a lane, and the checkpoint is on the
 * disk when this returns true. */
bool outlet_checkpoint_save(void *self, struct error *err);

#endif
