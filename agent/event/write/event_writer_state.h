#ifndef ETWSHIP_EVENT_EVENT_WRITER_STATE_H
#define ETWSHIP_EVENT_EVENT_WRITER_STATE_H

#include "base/put.h"
#include "base/slots.h"
#include "event/model/event_overflow.h"
#include "event/value/event_log.h"
#include "event/value/value_json.h"
#include "event/value/wpp_format.h"
#include "event/write/ecs_map.h"
#include "event/write/event_edits.h"
#include "event/write/event_process.h"
#include "event/write/event_writer.h"

/* Shared by the formats; not for users of event_writer.h. */

/* A piece of a message: text, then the insert number (from 1; 0: none). */
struct message_part {
    uint32_t start; /* in the template */
    uint32_t size;
    uint32_t insert;
    uint32_t end; /* of the insert's own text, which is used if there is no such field */
};

/* A parsed message template, one per event type. */
enum { MESSAGE_MAX_PARTS = 32 };

struct message_parts {
    struct message_part list[MESSAGE_MAX_PARTS];
    uint32_t count;  /* 0: the template has other parts than text and inserts, or too many */
    uint64_t wanted; /* inserts 1 to 64, as value_marks.wanted */
};

/* The parts that a format may cut its head into, and the offset of the keywords' text, if there is
 * one. */
enum { EVENT_HEAD_CUTS = 2 };

struct event_head_cuts {
    uint32_t at[EVENT_HEAD_CUTS]; /* offsets, before the keywords */
    uint32_t keywords;
    uint32_t keywords_end; /* 0: there are none */
};

/* How many heads a writer caches, and their bytes in all: any process may write any number of types
 * with long names. */
enum { EVENT_MAX_HEADS = 16384, EVENT_MAX_HEAD_BYTES = 8 * 1024 * 1024 };

/* Bytes that are constant for events of one schema with one descriptor. In a cached head the
 * keywords change with the event, since a program may pass others in each call. */
struct event_head {
    struct event_descriptor descriptor;
    struct guid provider; /* of the record: one schema may serve several */
    enum record_kind kind;
    uint16_t hook_id;
    bool valid;
    uint32_t serial; /* event_schema.serial; UINT32_MAX: no schema */
    struct span head; /* native: `","provider":{…},"event":{…}`; PUT_PADDING readable bytes after */
    struct event_head_cuts cuts; /* offsets of its parts, for formats that put values in between */
    struct span message;         /* JSON-escaped template, empty if none */
    bool failed;                 /* out of memory: nothing can be written */
    uint8_t *memory;             /* malloc'd: message, head; NULL in the writer's fresh one */
    size_t memory_bytes;
    struct message_parts *parts; /* malloc'd; NULL: no message, or no memory */
    struct ecs_plan *plan;       /* ecs: malloc'd; NULL: no mapping */
};

/* Text that is constant for the events of one trace. */
struct event_trace_text {
    const struct trace_info *trace;
    bool valid;
    struct buf text;
    /* Views into `text`, each with PUT_PADDING readable bytes after it; contents for the native
     * format. */
    struct span start; /* `,"etw":{"session":"…","sequence":` */
    struct span file;  /* `,"file":"…"}` or `}`: ends the etw object */
    struct span end;   /* `,"host":{…}`, the writer's tail, `}` and a newline */
};

/* Header flags as text; most events of a trace have equal flags. */
enum { EVENT_FLAGS_SLOTS = 16 };

struct event_flags_text {
    uint16_t flags;
    size_t size; /* 0: none */
    uint8_t bytes[256];
};

/* Number of traces with cached texts, as merged files alternate from event to event; and of traces
 * edited by rules. */
enum { EVENT_TRACE_SLOTS = 64, EVENT_EDITED_SLOTS = 16 };

/* The text of a trace with host, labels or tags edited by rules. */
struct event_edited_text {
    const struct event_agent *agent;
    const void *marks[EVENT_EDITS_MAX_MARKS]; /* event_edits.marks */
    size_t mark_count;                        /* 0: there is none */
    struct event_trace_text text;
};

/* Texts of recent processes (event_process.h): a writer of events of many processes has many. */
enum { EVENT_PROCESS_SLOTS = 128, EVENT_PROCESS_MAX_SLOTS = 4096 };

struct event_process_slot {
    uint64_t serial; /* 0: none */
    uint8_t *text;   /* malloc'd */
    uint32_t size;
    uint32_t room;
};

struct event_process_texts {
    struct event_process_slot *slots; /* NULL: not needed yet */
    uint32_t count;                   /* a power of two */
    struct slots_load load;
    size_t bytes;    /* of all texts */
    struct buf made; /* the text that was rendered last */
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
    uint64_t read_at; /* FILETIME; 0: not set */
    size_t given_bytes;

    struct event_head fresh;  /* head of the last event without a cached one */
    struct event_head *heads; /* a hash table with two slots per head */
    uint32_t head_count;      /* slots: a power of two, or 0 */
    uint32_t heads_kept;
    size_t head_bytes; /* what they point to */
    struct buf scratch;
    struct buf names; /* value_context.names */

    struct put_clock stamps; /* of the events */
    struct put_clock times;  /* of the values */
    struct put_clock read_clock;

    struct event_flags_text flags[EVENT_FLAGS_SLOTS]; /* ecs */
    struct event_value_context mapped;                /* ecs */

    const struct event_agent *agent; /* otel: borrowed, may be NULL */
    const struct otel_codec *codec;  /* otel: the encoding; set by the format */

    struct event_trace_text traces[EVENT_TRACE_SLOTS];
    struct event_process_texts processes[EVENT_PROCESS_PARTS];
    struct event_edited_text edited[EVENT_EDITED_SLOTS];
    const struct event_agent *edited_agent; /* replaces `tail` while an edited trace is rendered */
};

/* The head for an event, from the cache, else rendered into the writer's fresh one. Valid until the
 * next call. */
const struct event_head *event_head_get(struct event_writer *writer, const struct event *event);

/* The constant parts for a trace, which may be NULL. Valid until the next call. */
const struct event_trace_text *event_trace_get(
    struct event_writer *writer, const struct trace_info *trace);

/* Free the memory of the writer's heads. */
void event_head_clear(struct event_writer *writer);

void event_process_texts_init(struct event_process_texts *texts);
void event_process_texts_fini(struct event_process_texts *texts);

/* The head in another shape than the native one: `render` appends the whole text and sets its cuts,
 * `keywords` appends the text between the cuts of that name. A writer's cache holds one shape: all
 * calls must pass the same functions. */
struct event_head_shape {
    void (*render)(struct event_writer *writer, const struct event *event, struct buf *out,
        struct event_head_cuts *ret_cuts);
    void (*keywords)(struct event_writer *writer, const struct event *event, struct buf *out);
};
typedef void event_trace_fn(struct event_writer *writer, const struct trace_info *trace,
    struct buf *out, size_t *ret_file, size_t *ret_end);
const struct event_head *event_head_get_as(
    struct event_writer *writer, const struct event *event, const struct event_head_shape *shape);
event_trace_fn event_trace_native;

/* Render the text of ${trace} into ${slot}. */
void event_trace_fill(struct event_writer *writer, const struct trace_info *trace,
    event_trace_fn *render, struct event_trace_text *slot);

static inline const struct event_trace_text *event_trace_get_as(
    struct event_writer *writer, const struct trace_info *trace, event_trace_fn *render)
{
    struct event_trace_text *slot = &writer->traces[((uintptr_t)trace >> 6) % EVENT_TRACE_SLOTS];
    if (!slot->valid || slot->trace != trace) {
        event_trace_fill(writer, trace, render, slot);
    }
    return slot;
}

/* The constant parts for the trace of ${event}, with edited host, labels and tags. Not valid: out
 * of memory. */
const struct event_trace_text *event_trace_get_edited(
    struct event_writer *writer, const struct event *event, event_trace_fn *render);

static inline const struct event_trace_text *event_trace_of(
    struct event_writer *writer, const struct event *event, event_trace_fn *render)
{
    bool is_edited = event->edits && event->edits->mark_count;
    return is_edited ? event_trace_get_edited(writer, event, render)
                     : event_trace_get_as(writer, event->record->trace, render);
}

/* Append the end of all events: agent, labels and tags. For ${render}. */
void event_writer_add_tail(struct event_writer *writer, struct buf *out);

/* Definitions may hold names of any length, which every event of the type repeats. The head has at
 * most this much of each, cut at a character, and as many names of keywords as fit. */
enum { EVENT_HEAD_MAX_NAME_BYTES = 1024, EVENT_HEAD_MAX_KEYWORD_BYTES = 8 * 1024 };
struct span event_head_name(struct span name);

/* Names of the values in an event's descriptor; empty if unknown. */
struct event_names {
    struct span level;
    struct span task;
    struct span opcode;
    struct span channel;
};
struct event_names event_head_names(const struct event *event);

/* True if the event has a message. */
static inline bool event_has_message(const struct event *event, struct span message)
{
    if (event->edits && event->edits->has_message) {
        return event->edits->message.size > 0;
    }
    if (record_log_message(event->record).size) {
        return true;
    }
    if (event->record->present & RECORD_WITHOUT_MESSAGE) {
        return false;
    }
    return event->status != DECODE_RAW &&
           (message.size || (event->schema->wpp && event->schema->wpp->piece_count));
}

/* Append the event's message, from any kind of template, JSON-escaped, without quotes. */
void event_message_add(const struct value_context *values, const struct event *event,
    const struct event_head *head, struct buf *out);

/* "1234 events lost by ETW in session security between 09:30:58.1000000 and 09:31:00.0000000",
 * JSON-escaped, without quotes. */
void event_gap_message(struct event_writer *writer, const struct gap *gap, struct buf *out);

/* Append the gap, `{"stage":…}`. */
void event_gap_object(struct event_writer *writer, const struct gap *gap, struct buf *out);

/* Append the guard's report, `{"kind":…}`; and as a sentence, JSON-escaped, without quotes. */
void event_guard_object(const struct guard_report *report, struct buf *out);
void event_guard_message(const struct guard_report *report, struct buf *out);

/* The level of the report: Error if the fault remains, else Warning. */
uint8_t event_guard_level(const struct guard_report *report);

/* Parse ${message}. */
void event_message_compile(struct span message, struct message_parts *ret_parts);

/* `2026-11-21T09:30:00.1234567Z`, or `0x…` if out of range; 40 bytes. */
uint8_t *event_put_time(struct event_writer *writer, uint8_t *p, uint64_t filetime);

/* Append ${key}, which ends in a quote, the time and a quote. */
void event_add_time(
    struct event_writer *writer, const char *key, uint64_t filetime, struct buf *out);

/* The names of an event's keywords: calls ${each} for each one. */
void event_each_keyword(
    const struct event *event, void (*each)(void *self, struct span name), void *self);

/* As event_each_keyword, of any event: by event_head_name, and as many as a head has room for. */
void event_head_each_keyword(
    const struct event *event, void (*each)(void *self, struct span name), void *self);

/* Append ${start}, which opens a list, and these names; nothing if there are none. */
void event_add_keyword_names(const struct event *event, const char *start, struct buf *out);

/* A record begins: its values have the clock of its trace, and are marked in ${marks}; NULL: not at
 * all. */
static inline void event_writer_begin(
    struct event_writer *writer, const struct event *event, struct value_marks *marks)
{
    const struct trace_info *trace = event->record->trace;
    writer->values.clock = trace ? &trace->clock : NULL;
    writer->values.marks = marks;
    writer->marks.wanted = 0;
    writer->marks.marked = 0;
}

/* Cut long strings in the record that began at ${start} of ${out}, and write ${time} for its time.
 * ${payload}: path of the object with the payload's fields. */
void event_writer_cut(struct event_writer *writer, const char *payload, const char *time,
    size_t start, struct buf *out);

/* A record of ${filetime} is complete: cut long strings if the options ask for it and the record
 * may have some, and change its time if they say that it cannot be held. */
static inline void event_writer_end(struct event_writer *writer, const char *payload,
    const struct event_schema *schema, uint64_t filetime, size_t start, struct buf *out)
{
    uint32_t max = writer->options.max_string_bytes;
    const char *time = event_overflow_nearest_time(writer->options.times, filetime);
    if (time || (max && (out->size - start > max || (schema && schema->has_long_names)))) {
        event_writer_cut(writer, payload, time, start, out);
    }
}

/* The provider GUID of kernel events without schema. */
extern const struct guid event_system_trace;

#endif
