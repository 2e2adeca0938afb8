#ifndef ETWSHIP_EVENT_EVENT_FORMAT_H
#define ETWSHIP_EVENT_EVENT_FORMAT_H

#include "event/write/event_writer.h"

/* The format of formats.def that has this name; NULL: there is none. Any thread. */
const struct event_format *event_format_find(struct span name);

#endif
