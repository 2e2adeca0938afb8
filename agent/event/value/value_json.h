#ifndef ETWSHIP_EVENT_VALUE_JSON_H
#define ETWSHIP_EVENT_VALUE_JSON_H

#include "base/buf.h"
#include "base/utf.h"
#include "event/model/event.h"

struct put_clock;

/*
 * Field arrays as JSON. The rules of the values are in docs/reference/events.md: the JSON type
 * follows the schema's type, never the value. Output goes to a buf whose failure the caller tests
 * once at the end.
 */
struct value_context {
    const struct codepage *ansi;     /* of ANSI strings */
    const struct trace_clock *clock; /* of raw time stamps in payloads; may be NULL */
    struct value_marks *marks;       /* filled by value_json_object; may be NULL */
    struct put_clock *times;         /* of FILETIME values; may be NULL */
    bool uint64_strings;             /* unsigned numbers of 64 bits, by their type, as strings */
    struct buf *names; /* memory for names made of several texts; NULL: these are left out */
};

/*
 * Positions of the texts of some top-level fields in the output, so that a message can copy them:
 * the text of value_json_text, in quotes if it is a string.
 */
enum { VALUE_MARKS_MAX = 64 };

struct value_marks {
    uint64_t wanted; /* bit n: mark the n-th top-level field; set by the caller */
    uint64_t marked; /* bits of the fields that were marked */
    size_t start[VALUE_MARKS_MAX];
    size_t end[VALUE_MARKS_MAX];
};

/* The object `{…}` of the fields [first, end) of ${event} that are siblings. */
void value_json_object(const struct value_context *context, const struct event *event,
    uint32_t first, uint32_t end, struct buf *out);

/* The value of fields[index], of any shape, without a name. */
void value_json_one(const struct value_context *context, const struct event *event, uint32_t index,
    struct buf *out);

/* The list `[…]` of the elements of the array fields[index], each written by ${one}. */
typedef void value_json_one_fn(const struct value_context *context, const struct event *event,
    uint32_t index, struct buf *out);
void value_json_list(const struct value_context *context, const struct event *event, uint32_t index,
    value_json_one_fn *one, struct buf *out);

/* End an object whose members were written as `,"name":value` from ${members} on: the first comma
 * becomes the brace. Without members its key, which starts at ${key}, is removed as well. */
void value_json_close(struct buf *out, size_t key, size_t members);

/* The text of fields[index] for people: the name (value_json_name), else the value;
 * JSON-escaped, without quotes. For message inserts and the pretty format. */
void value_json_text(const struct value_context *context, const struct event *event, uint32_t index,
    struct buf *out);

/* The name of one value from its map, a table of codes or the parameters of its provider;
 * NULL data: there is none. Valid until the next call with ${names}, which may be NULL
 * (value_context.names). */
struct span value_json_name(
    const struct schema_field *schema, struct span bytes, struct buf *names);

/* True if any value of a FIELD_PACKED array has a name. */
bool value_json_any_named(const struct field *field);

/* False if the field has no member: an absent SID, or a value that a rule removed. */
bool value_json_present(const struct field *field);

/* `"text"`, escaped, of trusted or untrusted UTF-8. */
void value_json_string(struct span utf8, struct buf *out);

#endif
