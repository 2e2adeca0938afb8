#ifndef ETWSHIP_EVENT_OTEL_EXTENDED_H
#define ETWSHIP_EVENT_OTEL_EXTENDED_H

#include "event/write/event_writer_state.h"

/* Append the attributes of the extended items, and of the stack, of ${event}. */
void otel_extended_add(struct event_writer *writer, const struct event *event, struct buf *out);

#endif
