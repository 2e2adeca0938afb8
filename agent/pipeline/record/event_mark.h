#ifndef ETWSHIP_PIPELINE_EVENT_MARK_H
#define ETWSHIP_PIPELINE_EVENT_MARK_H

#include "filter/filter.h"

/* Room for the note of an event that a rule kept though it is not known whether it fits. */
struct event_mark {
    char text[384];
};

/* Give ${event} such a note, after what was wrong with it before, if ${scratch} says so of it;
 * ${mark} holds it as long as the event. Empties scratch->unsure. */
void event_mark_unsure(
    struct event_mark *mark, struct filter_scratch *scratch, struct event *event);

#endif
