#ifndef ETWSHIP_EVENT_ECS_EXTENDED_H
#define ETWSHIP_EVENT_ECS_EXTENDED_H

#include "base/buf.h"
#include "event/model/event.h"

/* Append `,"extended_data":{…}`: the extended items and the stack of ${event}; nothing if it has
 * none. */
void ecs_extended_add(const struct event *event, struct buf *out);

#endif
