#ifndef ETWSHIP_PIPELINE_EVENT_TEXT_H
#define ETWSHIP_PIPELINE_EVENT_TEXT_H

#include "event/write/event_writer.h"

/*
 * How long the text of one event may be. Names and messages come from definitions, which may be
 * hostile like events: 320 bytes of payload can describe 32,767 empty structs, each with a long
 * name. So an event with a definition has so many bytes of text, and so many for each byte that it
 * brings (payload, extended items, frames of its stack). What the machine and the configuration say
 * beside it (event_writer_given_bytes) is not counted. No event has more than EVENT_TEXT_MAX_BYTES.
 *
 * Events of real systems stay far below: of 45 traces of all kinds of providers none takes more
 * than 4 KB and 2.6 bytes for each of its own.
 */
enum {
    EVENT_TEXT_MAX_BYTES = 8 * 1024 * 1024,
    EVENT_TEXT_FREE_BYTES = 16 * 1024,
    EVENT_TEXT_MAX_RATIO = 256,
};

/*
 * Append ${event} in ${format} to ${out}. If its text is longer than that, or ${out} has no room
 * for it, it is shipped without its message, else with as many values as there is room for and
 * the payload after them in hex, else its header alone. Each says so in its error note
 * (event_cut.h), and ${ret_cut}, which may be NULL, says whether it is one of these. False, with
 * ${out} as it was, if there is no room for a header either.
 */
bool event_text_add(const struct event_format *format, struct event_writer *writer,
    const struct event *event, struct buf *out, bool *ret_cut);

#endif
