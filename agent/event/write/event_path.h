#ifndef ETWSHIP_EVENT_EVENT_PATH_H
#define ETWSHIP_EVENT_EVENT_PATH_H

#include "event/value/event_value.h"
#include "event/write/event_writer.h"

/*
 * A field of the native event by its path, as a user writes it: `provider.name`, `process.pid`,
 * `data.A.B`, `data.Items[*].Name`, `labels.site`. A name that is not a plain word is written in
 * brackets and quotes: `data['Odd name']`. The value of a path is what format_native.c writes
 * there.
 */

/* The parts of an event that a value needs. */
enum event_path_need {
    EVENT_PATH_RECORD, /* the record and its trace */
    EVENT_PATH_SCHEMA, /* event.schema, event.stack, event.process, event.file; not the payload */
    EVENT_PATH_EVENT,  /* the decoded event */
};

/* A struct of a schema is nested SCHEMA_MAX_DEPTH deep at most. */
enum { EVENT_PATH_MAX_STEPS = SCHEMA_MAX_DEPTH + 2 };

struct event_path_step {
    struct span name;
    bool each; /* `[*]` after the name */
};

struct event_path {
    uint8_t field;      /* enum event_path_field, event_path_fields.h */
    uint8_t need;       /* enum event_path_need */
    uint8_t type;       /* enum event_value_type; NONE: that of the payload */
    bool is_list;       /* a list of values of `type` */
    bool each;          /* any element of a list: `[*]` at the end, or set later */
    bool names;         /* data: the names beside the value, event_path_names */
    uint16_t item;      /* extended.type_0x…: which one */
    uint8_t step_count; /* data, labels: what follows */
    struct event_path_step steps[EVENT_PATH_MAX_STEPS]; /* views into the text */
};

/* ${text} outlives the path. False for unknown names; the message suggests the nearest one. */
bool event_path_compile(struct span text, struct event_path *ret_path, struct error *err);

/* False if events decoded by ${schema} (NULL: none) never have a value there, as the schema has no
 * such field. */
bool event_path_possible(const struct event_path *path, const struct event_schema *schema);

/* How many top-level fields of ${schema}, which has a layout, must be decoded for the value. 0:
 * there never is one; ALL_FIELDS: all. */
enum { EVENT_PATH_ALL_FIELDS = UINT16_MAX };
uint16_t event_path_fields(const struct event_path *path, const struct event_schema *schema);

/* What a value above EVENT_PATH_EVENT depends on beside the schema. */
enum event_path_scope {
    /* The identity of the event type: kind, header_type, hook_id, provider, descriptor; and
     * constants: agent, labels, tags. */
    EVENT_PATH_OF_TYPE,
    EVENT_PATH_OF_EVENT,   /* anything else of the record or its trace */
    EVENT_PATH_OF_PROCESS, /* OF_EVENT, but OF_PLACE where record_process_may_change */
    EVENT_PATH_OF_PLACE,   /* also on other records: its number, stack, process and file */
};
enum event_path_scope event_path_scope(const struct event_path *path);

/* Path of the names of a number (`data.Flags_name` for `data.Flags`, `event.keywords_name` for
 * `event.keywords`). False if there are never any. */
bool event_path_names(const struct event_path *path, struct event_path *ret_names);

/* Size of the path at the start of ${text}: it ends at the first byte that cannot belong to one.
 * For parsers of texts that contain paths. */
size_t event_path_scan(struct span text);

/* One per thread. */
struct event_path_context {
    struct event_value_context values;
    struct span session;             /* replaces the trace's own; empty: the trace's own */
    const struct event_agent *agent; /* agent.*, labels.*, tags; borrowed; NULL: there are none */
    struct buf spare;
};

/* ${ansi} NULL: 1252. */
bool event_path_context_init(
    struct event_path_context *context, const struct codepage *ansi, struct error *err);
void event_path_context_fini(struct event_path_context *context);

/*
 * The value at ${path}; LIST or OBJECT for containers; the first one for a path with `[*]`; NONE:
 * no value. Reads only the parts of ${event} in event_path.need. Valid until the next call with
 * ${context}; event_value_text(&context->values, …) is allowed.
 */
struct event_value event_path_get(
    const struct event_path *path, const struct event *event, struct event_path_context *context);

/* True if the value, if there is one, is an unsigned number that the record alone gives: a process,
 * a thread, a processor, or one of the descriptor. */
bool event_path_is_number(const struct event_path *path);

/* The value at such a path, as event_path_get gives it. False: no value; *ret_number is undefined.
 * Any thread. */
bool event_path_number(
    const struct event_path *path, const struct event_record *record, uint64_t *ret_number);

/* Every value at ${path}, in order, until ${each} returns false. True if it did. */
typedef bool event_path_each_fn(void *self, const struct event_value *value);
bool event_path_each(const struct event_path *path, const struct event *event,
    struct event_path_context *context, event_path_each_fn *each, void *self);

/* The valid paths, for messages and completion, as event_path_fields.def has them; NULL after the
 * last. `data` and `labels` represent all paths below them. */
const char *event_path_name(size_t index);

#endif
