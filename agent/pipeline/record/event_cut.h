#ifndef ETWSHIP_PIPELINE_EVENT_CUT_H
#define ETWSHIP_PIPELINE_EVENT_CUT_H

#include "event/write/event_edits.h"

/*
 * Shorter forms of an event whose text is too long. The event that came stays as it is, and
 * outlives what is made of it. Each form has the status DECODE_PARTIAL and a note that says what is
 * missing, after what was wrong with the event before. Used by one thread at a time.
 */
struct event_cut {
    struct event event;       /* the shorter form: valid until the next one is made */
    struct event_edits edits; /* without a message */
    struct field *fields;     /* malloc'd; NULL: none were cut */
    const struct event *whole;
    char note[320];
};

void event_cut_init(struct event_cut *cut, const struct event *event);
void event_cut_fini(struct event_cut *cut);

/* Is there a message that could be left out? */
bool event_cut_has_message(const struct event_cut *cut);

/* The event without its message. All of its values are there, of which the message is made. */
const struct event *event_cut_message(struct event_cut *cut);

/*
 * The event without its message and with its first ${count} fields only, groups and lists among
 * them counted as fields (event.h): a list that is cut has the elements that are left. What is left
 * out of the payload is the rest of the event, unless rules have edited the event: then the payload
 * may hold what they have removed. NULL: out of memory.
 */
const struct event *event_cut_values(struct event_cut *cut, uint32_t count);

/* The event's header alone. */
const struct event *event_cut_all(struct event_cut *cut);

#endif
