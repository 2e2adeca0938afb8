#ifndef ETWSHIP_EVENT_EVENT_H
#define ETWSHIP_EVENT_EVENT_H

#include "event/model/record.h"
#include "event/model/schema.h"

/*
 * A decoded event: the record, its schema and the field array. The array is the only interface
 * between the decoder and the readers of events (JSON writers, filters, message inserts, shapes):
 * an event is decoded once. Fields are views into the record's payload, no copies.
 *
 * The array is a tree in depth-first order:
 *   FIELD_VALUE    one value: `data`, `size`
 *   FIELD_PACKED   an array of `count` values of one fixed size, side by side in `data`, `size`
 *   FIELD_ARRAY    an array of `count` elements, each a FIELD_VALUE or FIELD_GROUP that follows
 *   FIELD_GROUP    a struct of `count` members that follow
 * `end` is the index of the first field after the field and all its parts: next sibling =
 * fields[f->end].
 */
enum field_shape { FIELD_VALUE, FIELD_PACKED, FIELD_ARRAY, FIELD_GROUP };

struct field {
    const struct schema_field *schema; /* name and type; elements of an array share it */
    const uint8_t *data;
    uint32_t size;
    uint32_t count;
    uint32_t end;
    uint8_t shape;       /* enum field_shape */
    uint8_t value_bytes; /* width of one value of a FIELD_PACKED, and of pointer-sized values */
};

/* The bytes of one value of a FIELD_PACKED. */
static inline struct span event_element(const struct field *field, uint32_t index)
{
    return span_make(field->data + (size_t)index * field->value_bytes, field->value_bytes);
}

enum decode_status {
    DECODE_RAW,      /* no layout: fields are empty, the payload is shipped as hex */
    DECODE_COMPLETE, /* the layout covers the whole payload */
    DECODE_RESIDUE,  /* complete, with bytes left after the last field */
    DECODE_PARTIAL,  /* some fields, then `error`; `rest` holds the bytes that could not be decoded
                        */
};

struct event_file;      /* event/write/event_file.h */
struct event_process;   /* event/write/event_process.h */
struct event_processes; /* the same */
struct event_edits;     /* event/write/event_edits.h */

struct event {
    const struct event_record *record;
    const struct event_process *process;  /* the event's process; NULL: unknown or not looked up */
    const struct event_file *file;        /* the file that it uses; NULL: none, unknown or not
                                             looked up */
    const struct event_processes *others; /* looks up other processes that the event names; may be
                                             NULL */
    const struct event_schema *schema;    /* NULL if there is none */
    const struct field *fields;
    uint32_t field_count;
    enum decode_status status;
    uint8_t pointer_size;  /* that decoded the payload */
    bool is_width_learned; /* pointer size differs from the header's, as other events of the class
                              prove */
    struct span rest;      /* payload bytes after the last decoded field */
    const char *error;     /* reason for DECODE_PARTIAL, or for DECODE_RAW if a definition exists;
                              else NULL. One sentence, valid as long as the fields */
    const uint64_t *stack; /* frames joined from a StackWalk record, or NULL */
    uint32_t stack_count;
    const struct event_edits *edits; /* further changes by rules (event_edits.h); NULL: none */
};

/* A loss: data was lost before it could become an event, or may be incomplete. */
struct gap {
    const char *stage;  /* etw callback queue filter spool output guard file agent */
    const char *reason; /* a word, e.g. events_lost */
    const char *unit;   /* events buffers bytes */
    uint64_t count;     /* 0: unknown */
    bool exact;
    uint64_t from; /* FILETIME; 0 unknown */
    uint64_t to;
    const char *output;   /* output that lost it; NULL: none */
    const char *provider; /* provider of the lost events, name or GUID; NULL: any */
    const struct trace_info *trace;
};

/* Result of the guard's reaction to a change of a live session. */
enum guard_action {
    GUARD_NONE,     /* nothing was repaired: information for people */
    GUARD_REPAIRED, /* repaired */
    GUARD_FAILED,   /* the repair failed and is tried again */
    GUARD_GAVE_UP,  /* repaired too often: the guard pauses */
    GUARD_ACTIONS,
};

/* `none`, `repaired`, `failed`, `gave_up`. Static. */
const char *event_guard_action_name(enum guard_action action);

/* A change of a live session that the guard noticed. Texts are borrowed; empty ones are left
 * out. */
struct guard_report {
    const char *kind; /* session_stopped session_changed provider_disabled provider_changed
                         consumer_behind clock_jumped. Static */
    enum guard_action action;
    struct span session;       /* ETW's name of the session */
    struct span provider;      /* its name, or its GUID as text */
    struct guid provider_guid; /* zero: no provider */
    uint32_t repairs;          /* repairs of this session or provider in the current window */
    struct span detail;        /* a sentence for people */
    int64_t shift_ms;          /* clock_jumped: forward or back */
    uint32_t by_pid;           /* process that made the change; 0: unknown */
    struct span by_image;      /* path of its program, if it still ran */
    struct span by_user;       /* a SID */
    uint64_t time;             /* FILETIME when it was noticed */
    const struct trace_info *trace;
};

/* The agent's periodic report on itself. */
struct status {
    struct span counters; /* a JSON object */
    struct span message;  /* one line of UTF-8; empty: none */
};

/* True if the payload has no definition. An event without payload needs none; a WPP message always
 * needs its format, as that holds the text. */
static inline bool event_is_undecoded(const struct event *event)
{
    bool is_message = event->record->kind == RECORD_MESSAGE;
    return event->status == DECODE_RAW &&
           (event->record->payload.size || (is_message && !(event->schema && event->schema->wpp)));
}

/* The TraceLogging metadata of an event with undecoded payload, so that it can be decoded later.
 * Empty: there is none, or the payload was decoded. */
static inline struct span event_payload_schema(const struct event *event)
{
    const struct event_record *record = event->record;
    bool is_raw = event->status == DECODE_RAW && record->payload.size;
    const struct extended_item *item = is_raw && record->kind == RECORD_EVENT
                                           ? record_extended(record, EXTENDED_SCHEMA_TL)
                                           : NULL;
    return item ? item->data : span_make(NULL, 0);
}

/* `provider.name`, empty if unknown, `provider.guid` and `provider.kind` of the native event. */
struct span event_provider_name(const struct event *event);
struct guid event_provider_guid(const struct event *event);
const char *event_kind_name(const struct event *event);

#endif
