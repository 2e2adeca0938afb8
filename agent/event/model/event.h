#ifndef ETWSHIP_EVENT_EVENT_H
#define ETWSHIP_EVENT_EVENT_H

#include "event/model/record.h"
#include "event/model/schema.h"

/*
 * A decoded event: the record, its schema and the field array. The array is the one hand-over
 * between decoding and everything that reads events (JSON writers, filters, message inserts,
 * shapes): an event is decoded once. Fields are views into the record's payload, no copies.
 *
 * The array is a tree in depth-first order:
 *   FIELD_VALUE    one value: `data`, `size`
 *   FIELD_PACKED   an array of `count` values of one fixed size, side by side in `data`, `size`
 *   FIELD_ARRAY    an array of `count` elements, each a FIELD_VALUE or FIELD_GROUP that follows
 *   FIELD_GROUP    a struct of `count` members that follow
 * `end` is the index of the first field behind the whole of it: next sibling = fields[f->end].
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
    DECODE_COMPLETE, /* the layout took the payload to its last byte */
    DECODE_RESIDUE,  /* complete, with bytes left over behind the last field */
    DECODE_PARTIAL,  /* some fields, then `error`; `rest` is what could not be decoded */
};

struct event_file;      /* event/write/event_file.h */
struct event_process;   /* event/write/event_process.h */
struct event_processes; /* the same */
struct event_edits;     /* event/write/event_edits.h */

struct event {
    const struct event_record *record;
    const struct event_process *process;  /* whose event it is; NULL: unknown, or not asked for */
    const struct event_file *file;        /* that it uses; NULL: none, unknown, or not asked for */
    const struct event_processes *others; /* who knows those that it tells of; NULL: nobody */
    const struct event_schema *schema;    /* NULL if there is none */
    const struct field *fields;
    uint32_t field_count;
    enum decode_status status;
    uint8_t pointer_size;  /* that decoded the payload */
    bool is_width_learned; /* it is not the header's, as other events of the class prove */
    struct span rest;      /* payload bytes behind the last decoded field */
    const char *error;     /* DECODE_PARTIAL; DECODE_RAW where more than the lack of a definition is
                          behind it, else NULL. One sentence, valid as long as the fields */
    const uint64_t *stack; /* frames joined from a StackWalk record, or NULL */
    uint32_t stack_count;
    const struct event_edits
        *edits; /* event_edits.h: what rules changed beside all that; NULL: nothing */
};

/* Something was lost before it could become an event, or is not known to be complete. */
struct gap {
    const char *stage;  /* etw callback queue filter spool output guard file agent */
    const char *reason; /* a word, e.g. events_lost */
    const char *unit;   /* events buffers bytes */
    uint64_t count;     /* 0: nobody knows */
    bool exact;
    uint64_t from; /* FILETIME; 0 unknown */
    uint64_t to;
    const char *output;   /* that lost it; NULL: none did */
    const char *provider; /* whose events they are: its name, or GUID; NULL: of any */
    const struct trace_info *trace;
};

/* What the guard of a live session made of something that it noticed. */
enum guard_action {
    GUARD_NONE,     /* nothing: it is for people to know */
    GUARD_REPAIRED, /* it is again as it shall be */
    GUARD_FAILED,   /* the repair did not go; it is tried again */
    GUARD_GAVE_UP,  /* too often: it is left alone for a while */
    GUARD_ACTIONS,
};

/* `none`, `repaired`, `failed`, `gave_up`. Static. */
const char *event_guard_action_name(enum guard_action action);

/* What the guard of a live session noticed. Texts are borrowed; empty ones are left out. */
struct guard_report {
    const char *kind; /* session_stopped session_changed provider_disabled provider_changed
                         consumer_behind clock_jumped. Static */
    enum guard_action action;
    struct span session;       /* as ETW knows it */
    struct span provider;      /* its name, or its GUID as text */
    struct guid provider_guid; /* zero: it concerns none */
    uint32_t repairs;          /* of this session or provider, in the window that runs */
    struct span detail;        /* a sentence for people */
    int64_t shift_ms;          /* clock_jumped: forward or back */
    uint32_t by_pid;           /* who did it; 0: nobody can tell */
    struct span by_image;      /* the program's path, where it still ran */
    struct span by_user;       /* a SID */
    uint64_t time;             /* FILETIME when it was noticed */
    const struct trace_info *trace;
};

/* What the agent reports of itself at intervals. */
struct status {
    struct span counters; /* a JSON object */
    struct span message;  /* one line of UTF-8; empty: none */
};

/* Is nothing known of what the event says? One without payload says nothing beside its header; but a
 * WPP message says its text, whatever arguments it has. */
static inline bool event_is_undecoded(const struct event *event)
{
    bool is_message = event->record->kind == RECORD_MESSAGE;
    return event->status == DECODE_RAW &&
           (event->record->payload.size || (is_message && !(event->schema && event->schema->wpp)));
}

/* What an event whose payload could not be decoded says itself of its fields: its TraceLogging metadata.
 * With it the payload can be decoded later. Empty: it says nothing, or its payload was decoded. */
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
