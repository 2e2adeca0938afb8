#ifndef ETWSHIP_EVENT_EVENT_WRITER_INTERNAL_H
#define ETWSHIP_EVENT_EVENT_WRITER_INTERNAL_H

#include "base/put.h"
#include "event/model/event_overflow.h"
#include "event/value/event_log.h"
#include "event/value/value_json.h"
#include "event/value/wpp_format.h"
#include "event/write/ecs_map.h"
#include "event/write/event_edits.h"
#include "event/write/event_process.h"
#include "event/write/event_writer.h"

/* What the formats share; not for users of event_writer.h. */

/* A piece of a message: text, then the insert number (from 1; 0: none). */
struct message_part {
    uint32_t start; /* in the template */
    uint32_t size;
    uint32_t insert;
    uint32_t end; /* of the insert's own text, which stands where there is no such field */
};

/* A message template taken apart, once per event type. */
enum { MESSAGE_MAX_PARTS = 32 };

struct message_parts {
    struct message_part list[MESSAGE_MAX_PARTS];
    uint32_t count;  /* 0: the template has more than text and inserts, or too many of them */
    uint64_t wanted; /* inserts 1 to 64, as value_marks.wanted */
};

/* Pieces that a format may cut its head into, and where the text of the keywords stands, if there is one. */
enum { EVENT_HEAD_CUTS = 2 };

struct event_head_cuts {
    uint32_t at[EVENT_HEAD_CUTS]; /* offsets, in front of the keywords */
    uint32_t keywords;
    uint32_t keywords_end; /* 0: there are none */
};

/* Heads that a writer keeps, and the bytes that they may have together: any process may write types with
 * long names, and as many as it likes. */
enum { EVENT_MAX_HEADS = 16384, EVENT_MAX_HEAD_BYTES = 8 * 1024 * 1024 };

/* Bytes that are constant for events of one schema with one descriptor. In a kept one the keywords change
 * with the event: a program may name others in each call. */
struct event_head {
    struct event_descriptor descriptor;
    struct guid provider; /* of the record: one schema may serve several */
    uint16_t hook_id;
    bool valid;
    uint32_t serial; /* event_schema.serial */
    struct span
        head; /* native: `","provider":{…},"event":{…}`; PUT_PADDING readable bytes behind */
    struct event_head_cuts cuts; /* of it, for formats that put values in between */
    struct span message;         /* JSON-escaped template, empty if none */
    bool failed;                 /* there is no memory for it: nothing can be written */
    uint8_t *memory;             /* malloc'd: message, head; NULL in the writer's fresh one */
    size_t memory_bytes;
    struct message_parts *parts; /* malloc'd; NULL: no message, or no memory */
    struct ecs_plan *plan;       /* ecs: malloc'd; NULL: nothing is mapped */
};

/* What is constant for the events of one trace. */
struct event_trace_text {
    const struct trace_info *trace;
    bool valid;
    struct buf text;
    /* Views into `text`, each with PUT_PADDING readable bytes behind it; what they hold natively. */
    struct span start; /* `,"etw":{"session":"…","sequence":` */
    struct span file;  /* `,"file":"…"}` or `}`: ends the etw object */
    struct span end;   /* `,"host":{…}`, the writer's tail, `}` and a newline */
};

/* The header flags of some events as text; most events of a trace share theirs. */
enum { EVENT_FLAGS_SLOTS = 16 };

struct event_flags_text {
    uint16_t flags;
    size_t size; /* 0: none */
    uint8_t bytes[256];
};

/* Traces whose texts are kept at a time: merged files alternate from event to event. And how many of
 * them as edits have made them. */
enum { EVENT_TRACE_SLOTS = 64, EVENT_EDITED_SLOTS = 16 };

/* The same as rules have changed host, labels or tags. */
struct event_edited_text {
    const struct event_agent *agent;
    const void *marks[EVENT_EDITS_MAX_MARKS]; /* event_edits.marks */
    size_t mark_count;                        /* 0: there is none */
    struct event_trace_text text;
};

/* The members of the processes that events came from lately (event_process.h). */
enum { EVENT_PROCESS_SLOTS = 128 };

struct event_process_slot {
    uint64_t serial; /* 0: none */
    struct buf text;
};

struct event_writer {
    struct value_context values;
    struct value_marks marks;
    bool colors;
    struct event_zone zone;
    struct span tail;
    struct span session;
    struct event_options options;
    struct buf fixed; /* memory of these texts */
    struct event_overflow overflow;
    uint64_t read_at; /* FILETIME; 0: not told */
    size_t given_bytes;

    struct event_head fresh;  /* of the last event that no kept head fitted */
    struct event_head *heads; /* a hash table in which each head has two places */
    uint32_t head_count;      /* of places: a power of two, or 0 */
    uint32_t heads_kept;
    size_t head_bytes; /* what they point to */
    struct buf scratch;

    struct put_clock stamps; /* of the events */
    struct put_clock times;  /* of the values */
    struct put_clock read_clock;

    struct event_flags_text flags[EVENT_FLAGS_SLOTS]; /* ecs */
    struct event_value_context mapped;                /* ecs */

    const struct event_agent *agent; /* otel: borrowed, may be NULL */
    const struct otel_codec *codec;  /* otel: what the format writes; set by it */

    struct event_trace_text traces[EVENT_TRACE_SLOTS];
    struct event_process_slot processes[EVENT_PROCESS_PARTS * EVENT_PROCESS_SLOTS];
    struct event_edited_text edited[EVENT_EDITED_SLOTS];
    const struct event_agent *edited_agent; /* while one of them is rendered: instead of `tail` */
};

/* The head for an event, from the cache where it fits, else rendered into the writer's fresh one.
 * Valid until the next call. */
const struct event_head *event_head_get(struct event_writer *writer, const struct event *event);

/* The constant parts for a trace, which may be NULL. Valid until the next call. */
const struct event_trace_text *event_trace_get(
    struct event_writer *writer, const struct trace_info *trace);

/* Free what the writer's heads point to. */
void event_head_forget(struct event_writer *writer);

/* The same in another shape than the native one: `render` appends the whole text and says where it is cut,
 * `keywords` what it had between the cuts of that name. A writer's cache holds one shape: all of its calls
 * must name the same one. */
struct event_head_shape {
    void (*render)(struct event_writer *writer, const struct event *event, struct buf *out,
        struct event_head_cuts *ret_cuts);
    void (*keywords)(struct event_writer *writer, const struct event *event, struct buf *out);
};
typedef void event_trace_fn(struct event_writer *writer, const struct trace_info *trace,
    struct buf *out, size_t *ret_file, size_t *ret_end);
const struct event_head *event_head_get_as(
    struct event_writer *writer, const struct event *event, const struct event_head_shape *shape);
const struct event_trace_text *event_trace_get_as(
    struct event_writer *writer, const struct trace_info *trace, event_trace_fn *render);
event_trace_fn event_trace_native;

/* The same for ${event}, whose host, labels and tags may be edited. Not valid: there is no memory. */
const struct event_trace_text *event_trace_of(
    struct event_writer *writer, const struct event *event, event_trace_fn *render);

/* Append what all events have behind them: the agent, labels and tags. For ${render}. */
void event_writer_add_tail(struct event_writer *writer, struct buf *out);

/* Definitions of events may hold names of any length, which every event of the type repeats. The head has this
 * much of each, cut on a character, and as many names of keywords as have room. */
enum { EVENT_HEAD_MAX_NAME_BYTES = 1024, EVENT_HEAD_MAX_KEYWORD_BYTES = 8 * 1024 };
struct span event_head_name(struct span name);

/* What is known of an event's descriptor by name; empty spans where nothing is. */
struct event_names {
    struct span level;
    struct span task;
    struct span opcode;
    struct span channel;
};
struct event_names event_head_names(const struct event *event);

/* Has the event a message? */
static inline bool event_has_message(const struct event *event, struct span message)
{
    if (event->edits && event->edits->has_message) {
        return event->edits->message.size > 0;
    }
    if (record_log_message(event->record).size) {
        return true;
    }
    return event->status != DECODE_RAW &&
           (message.size || (event->schema->wpp && event->schema->wpp->piece_count));
}

/* Append the event's message, JSON-escaped, without quotes, by whatever it is made. */
void event_message_add(const struct value_context *values, const struct event *event,
    const struct event_head *head, struct buf *out);

/* "1234 events lost by ETW in session security between 09:30:58.1000000 and 09:31:00.0000000",
 * JSON-escaped, without quotes. */
void event_gap_message(struct event_writer *writer, const struct gap *gap, struct buf *out);

/* `{"stage":…}`, what was lost. */
void event_gap_object(struct event_writer *writer, const struct gap *gap, struct buf *out);

/* `{"kind":…}`, what the guard noticed; and the same as a sentence, JSON-escaped, without quotes. */
void event_guard_object(const struct guard_report *report, struct buf *out);
void event_guard_message(const struct guard_report *report, struct buf *out);

/* The level of such an event: Error where something stays as it shall not be, else Warning. */
uint8_t event_guard_level(const struct guard_report *report);

/* Take ${message} apart. */
void event_message_compile(struct span message, struct message_parts *ret_parts);

/* `2026-11-21T09:30:00.1234567Z`, or `"0x…"` style digits where that cannot be; 40 bytes. */
uint8_t *event_put_time(struct event_writer *writer, uint8_t *p, uint64_t filetime);

/* Append ${key}, which ends in a quote, the time and a quote. */
void event_add_time(
    struct event_writer *writer, const char *key, uint64_t filetime, struct buf *out);

/* The names of an event's keywords: calls ${each} for each one. */
void event_each_keyword(
    const struct event *event, void (*each)(void *self, struct span name), void *self);

/* Append ${start}, which opens a list, and these names; nothing if there are none. */
void event_add_keyword_names(const struct event *event, const char *start, struct buf *out);

/* Cut what is too long in the record that began at ${start} of ${out}. ${payload}: path of the object
 * with the payload's fields. */
void event_writer_cut(
    struct event_writer *writer, const char *payload, size_t start, struct buf *out);

/* A record is complete: the same, if that is wanted and may find anything. */
static inline void event_writer_end(struct event_writer *writer, const char *payload,
    const struct event_schema *schema, size_t start, struct buf *out)
{
    uint32_t max = writer->options.max_string_bytes;
    bool is_long = max && (out->size - start > max || (schema && schema->has_long_names));
    enum event_times times = writer->options.times;
    if (is_long ||
        (times && !out->failed &&
            !event_overflow_holds_time(times, span_make(out->data + start, out->size - start)))) {
        event_writer_cut(writer, payload, start, out);
    }
}

/* The provider GUID of kernel events without schema. */
extern const struct guid event_system_trace;

#endif
