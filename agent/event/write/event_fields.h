#ifndef ETWSHIP_EVENT_EVENT_FIELDS_H
#define ETWSHIP_EVENT_EVENT_FIELDS_H

#include "event/write/event_path.h"

/*
 * Some fields of each event and nothing else (`dump --fields`): of the JSON that a format wrote, the
 * members at the wanted paths, nested and in the order that they have there. A path that ends at an
 * object or list means all of it; in lists every element is meant. What an event does not have is left
 * out. One per thread.
 */
struct event_fields;

enum { EVENT_FIELDS_MAX = 64 };

/* ${list} NULL data: all fields, for event_fields_list. Else paths with commas between them, as the events of ${format} have them: event_path.h, or those
 * of ecs.tsv. It is copied. NULL: ${err} says which is none, and which is near. */
struct event_fields *event_fields_create(
    struct span list, const struct event_format *format, struct error *err);
void event_fields_destroy(struct event_fields *fields); /* NULL is fine */

/* ${event} without what is not wanted and takes time to write. Valid until the next call. */
const struct event *event_fields_narrow(struct event_fields *fields, const struct event *event);

/* Leave the wanted fields of the line that stands in ${out} from ${start} to its end. ${out} has failed
 * if there was no room. */
void event_fields_keep(struct event_fields *fields, size_t start, struct buf *out);

/* The same as lines for people: the path of a value, and the value. */
void event_fields_list(struct event_fields *fields, size_t start, struct buf *out);

#endif
