#ifndef ETWSHIP_PIPELINE_OUTLET_PARKED_H
#define ETWSHIP_PIPELINE_OUTLET_PARKED_H

#include "pipeline/deliver/outlet_lane.h"

/* What a lane does with batches of which the destination does not take all records now (parking.h). On the
 * lane's thread, without the outlet's mutex. */

/* The lane has delivered its batch but for what is marked: hold that, and tell the ledger of the rest. False:
 * the outlet cancels, and what was marked counts as undelivered. */
bool outlet_parked_hold(struct outlet_lane *lane);

/* Try what is due. False: nothing is. */
bool outlet_parked_try(struct outlet_lane *lane);

/* As much is held as may be: the oldest of what is live makes room, where the user wants that. False: nothing does. */
bool outlet_parked_make_room(struct outlet_lane *lane);

/* The outlet delivers nothing any more: what is held and not in the hands of another lane goes back to the spool,
 * or is lost. */
void outlet_parked_release(struct outlet_lane *lane);

/* What became of a route of the outlet's: parking.tell. ${self}: the outlet. */
void outlet_parked_tell(void *self, enum parking_news news, const char *route, const char *text);

#endif
