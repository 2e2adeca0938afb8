#ifndef ETWSHIP_PIPELINE_EVENT_EXCERPT_H
#define ETWSHIP_PIPELINE_EVENT_EXCERPT_H

#include "event/select/event_fields.h"
#include "event/write/event_writer.h"

/* Events as the fields that someone wants of them. One thread at a time. */
struct event_excerpt {
    struct event_fields *fields; /* borrowed, like all else here */
    /* For people: writes what stands below the line that names the event, as fields of
     * ${details_format}. NULL: the JSON of the event's own format holds the fields. */
    struct event_writer *details;
    const struct event_format *details_format;
};

/* See event_writer_read_at. */
void event_excerpt_read_at(const struct event_excerpt *excerpt, uint64_t now);

/* Append ${event} in ${format} to ${out}. False, with ${out} as it was, if there is no room. */
bool event_excerpt_add(const struct event_excerpt *excerpt, const struct event_format *format,
    struct event_writer *writer, const struct event *event, struct buf *out);

#endif
