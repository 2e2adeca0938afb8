#ifndef ETWSHIP_EVENT_EVENT_WRITER_INTERNAL_H
#define ETWSHIP_EVENT_EVENT_WRITER_INTERNAL_H

#include "event/event_writer.h"
#include "event/value_json.h"

/* What the formats share; not for users of event_writer.h. */

/* Bytes that are constant for events of one schema with one descriptor. */
struct event_head {
    struct event_descriptor descriptor;
    uint16_t hook_id;
    bool valid;
    uint8_t *text;         /* malloc'd: `","provider":{…},"event":{…}` */
    uint32_t text_size;    /* of the head */
    uint32_t message_size; /* escaped message template, behind the head in `text` */
};

struct event_writer {
    struct value_context values;
    bool colors;
    struct span tail;
    struct span session;
    struct buf fixed; /* memory of tail and session */

    struct event_head *heads; /* by event_schema.serial */
    uint32_t head_count;
    struct buf scratch;

    /* The second that was last written, as text `2026-11-21T09:30:00.`. */
    uint64_t second;
    uint8_t second_text[20];

    /* `,"etw":{"session":"…"` for the trace that was last written. */
    const struct trace_info *etw_trace;
    struct buf etw_text;
};

/* The head for an event, from the cache where it fits, else rendered into ${writer}->scratch. */
struct event_head_view {
    struct span head;
    struct span message; /* JSON-escaped template, empty if none */
};
struct event_head_view event_head_get(struct event_writer *writer, const struct event *event);

/* Append the message template with its inserts filled, JSON-escaped, without quotes. */
void event_message_render(const struct value_context *values, const struct event *event,
    struct span message, struct buf *out);

/* `2026-11-21T09:30:00.1234567Z`, or `"0x…"` style digits where that cannot be; 40 bytes. */
uint8_t *event_put_time(struct event_writer *writer, uint8_t *p, uint64_t filetime);

/* The names of an event's keywords: calls ${each} for each one. */
void event_each_keyword(
    const struct event *event, void (*each)(void *self, struct span name), void *self);

/* Provider name as shown, empty if unknown; provider GUID as shown. */
struct span event_provider_name(const struct event *event);
struct guid event_provider_guid(const struct event *event);

#endif
