#ifndef ETWSHIP_EVENT_EVENT_FIELDS_H
#define ETWSHIP_EVENT_EVENT_FIELDS_H

#include "event/write/event_path.h"

/*
 * Selects fields of each event (`dump --fields`): keeps the members at the wanted paths in the JSON
 * of a format, nested and in their order. A path to an object or list selects all of it, and a path
 * applies to every element of a list. Missing members are left out. One per thread.
 */
struct event_fields;

enum { EVENT_FIELDS_MAX = 64 };

/* ${list} NULL data: all fields, for event_fields_list. Else comma-separated paths of ${format}:
 * event_path.h, or those of ecs.tsv. It is copied. NULL: ${err} names the unknown path and a
 * similar one. */
struct event_fields *event_fields_create(
    struct span list, const struct event_format *format, struct error *err);
void event_fields_destroy(struct event_fields *fields); /* NULL is fine */

/* ${event} without unwanted parts that take time to write. Valid until the next call. */
const struct event *event_fields_narrow(struct event_fields *fields, const struct event *event);

/* Reduce the line in ${out} from ${start} to its end to the wanted fields. ${out} has failed if
 * there was no room. */
void event_fields_keep(struct event_fields *fields, size_t start, struct buf *out);

/* Write the wanted fields as lines for people: path and value. */
void event_fields_list(struct event_fields *fields, size_t start, struct buf *out);

#endif
