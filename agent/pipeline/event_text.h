#ifndef ETWSHIP_PIPELINE_EVENT_TEXT_H
#define ETWSHIP_PIPELINE_EVENT_TEXT_H

#include "event/event_writer.h"

/* An event whose text is longer than this is shipped without its values. */
enum { EVENT_TEXT_MAX_BYTES = 8 * 1024 * 1024 };

/*
 * Append ${event} in ${format} to ${out}. If it is longer than EVENT_TEXT_MAX_BYTES, or ${out} has
 * no room for it, its header is shipped and says so. False, with ${out} as it was, if there is no
 * room for that either.
 */
bool event_text_add(const struct event_format *format, struct event_writer *writer,
    const struct event *event, struct buf *out);

#endif
