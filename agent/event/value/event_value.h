#ifndef ETWSHIP_EVENT_EVENT_VALUE_H
#define ETWSHIP_EVENT_EVENT_VALUE_H

#include "base/buf.h"
#include "base/utf.h"
#include "event/model/event.h"

/*
 * One value of an event with its type, for filters and templates: the value that value_json.h would
 * write. Rules: docs/reference/events.md ("Values").
 */
enum event_value_type {
    EVENT_VALUE_NONE, /* there is no such member */
    EVENT_VALUE_NULL, /* NaN and the infinities */
    EVENT_VALUE_BOOL,
    EVENT_VALUE_INT,
    EVENT_VALUE_UINT,
    EVENT_VALUE_HEX, /* a number shown as "0x…" */
    EVENT_VALUE_REAL,
    /* Shown as text. */
    EVENT_VALUE_TEXT,
    EVENT_VALUE_TIME,
    EVENT_VALUE_GUID,
    EVENT_VALUE_ADDRESS, /* IP, 4 or 16 bytes */
    EVENT_VALUE_BYTES,
    /* Contain other values. */
    EVENT_VALUE_LIST,
    EVENT_VALUE_OBJECT,
};

struct event_value {
    enum event_value_type type;
    union {
        bool truth;
        int64_t number;           /* INT */
        uint64_t unsigned_number; /* UINT, HEX */
        double real;              /* parsed from the decimal text that is shown */
        int64_t time; /* 100 ns since 1601, may be negative; of a SYSTEMTIME as if it were UTC */
    };
    struct span bytes;                 /* for values shown as text except FILETIME */
    const struct schema_field *schema; /* how to read `bytes`; NULL: by the type; text is UTF-8 */
};

/* Context of values beside their bytes, and memory for their text. One per thread. */
struct event_value_context {
    const struct codepage *ansi;     /* of ANSI strings, borrowed */
    const struct trace_clock *clock; /* of raw time stamps in payloads; may be NULL */
    struct buf text;
    struct buf names; /* of values: value_json_name */
};

/* Maximum size of a value's text; a record is never longer than 64 KB. */
enum { EVENT_VALUE_MAX_TEXT = 16 * 1024 * 1024, EVENT_VALUE_MAX_NAME = 1024 * 1024 };

/* ${ansi} NULL: 1252. False: out of memory. */
bool event_value_context_init(
    struct event_value_context *context, const struct codepage *ansi, struct error *err);
void event_value_context_fini(struct event_value_context *context);

/* The value in ${bytes}, which have the size of the field's type. */
struct event_value event_value_of(const struct event_value_context *context,
    const struct schema_field *schema, struct span bytes);

/* The value as in JSON, unescaped and without quotes; empty for lists and objects. Valid until the
 * next call with ${context}. */
struct span event_value_text(struct event_value_context *context, const struct event_value *value);

/* Values from elsewhere than a field. ${text} is UTF-8 and outlives the value. */
static inline struct event_value event_value_plain(enum event_value_type type)
{
    return (struct event_value){.type = type};
}

static inline struct event_value event_value_uint(uint64_t number)
{
    return (struct event_value){.type = EVENT_VALUE_UINT, .unsigned_number = number};
}

static inline struct event_value event_value_hex(uint64_t number)
{
    return (struct event_value){.type = EVENT_VALUE_HEX, .unsigned_number = number};
}

/* Empty text is no value: writers leave such members out. */
static inline struct event_value event_value_utf8(struct span text)
{
    return (struct event_value){
        .type = text.size ? EVENT_VALUE_TEXT : EVENT_VALUE_NONE, .bytes = text};
}

/* GUID, ADDRESS and BYTES, in memory that outlives the value. */
static inline struct event_value event_value_bytes(enum event_value_type type, struct span bytes)
{
    return (struct event_value){.type = type, .bytes = bytes};
}

/* A SID, or the hex of bytes that are none. */
struct event_value event_value_sid(struct span bytes);

/* address, port, family, scope_id or raw of a socket address, which is an OBJECT. */
struct event_value event_value_socket_member(struct span bytes, struct span name);

/* A FILETIME; in hex above the year 9999. */
struct event_value event_value_filetime(uint64_t filetime);

#endif
