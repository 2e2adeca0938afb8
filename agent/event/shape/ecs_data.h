#ifndef ETWSHIP_EVENT_ECS_DATA_H
#define ETWSHIP_EVENT_ECS_DATA_H

#include "base/buf.h"
#include "event/model/event.h"

struct value_context;

/* Append `,"event_data":{…}`: the payload's fields and the extended items of ${event}; nothing if
 * it has neither. */
void ecs_data_add(const struct value_context *context, const struct event *event, struct buf *out);

#endif
