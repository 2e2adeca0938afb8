#ifndef ETWSHIP_PIPELINE_EVENT_OBSERVER_H
#define ETWSHIP_PIPELINE_EVENT_OBSERVER_H

#include "event/model/event.h"

/* Sees decoded events in their order, on the thread of the worker that decodes them. An event is
 * valid until the call returns. */
struct event_observer {
    void *self;
    /* False: that was enough. What comes after it of the session is neither decoded nor written. */
    bool (*event)(void *self, const struct event *event);
    /* May be NULL. */
    void (*gap)(void *self, const struct gap *gap, uint64_t now, uint64_t sequence);
};

#endif
