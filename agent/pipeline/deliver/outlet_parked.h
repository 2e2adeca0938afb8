#ifndef ETWSHIP_PIPELINE_OUTLET_PARKED_H
#define ETWSHIP_PIPELINE_OUTLET_PARKED_H

#include "pipeline/deliver/outlet_lane.h"

/* How a lane handles batches with records that the destination does not accept now (parking.h). On
 * the lane's thread, without the outlet's mutex. */

/* The lane has delivered its batch except the marked records: park these, and count the others in
 * the ledger. False: the outlet cancels, and the marked records count as undelivered. */
bool outlet_parked_hold(struct outlet_lane *lane);

/* Try what is due. False: nothing is. */
bool outlet_parked_try(struct outlet_lane *lane);

/* As much is held as may be: the oldest of what is live makes room,
 * where the user wants that. False: nothing does. */
bool outlet_parked_make_room(struct outlet_lane *lane);

/* The outlet delivers nothing any more: what is held and not in the hands of another lane goes back
 * to the spool, or is lost. */
void outlet_parked_release(struct outlet_lane *lane);

/* Report the state of a route of the outlet: parking.tell. ${self}: the outlet. */
void outlet_parked_tell(void *self, enum parking_news news, const char *route, const char *text);

#endif
