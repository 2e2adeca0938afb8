#ifndef ETWSHIP_EVENT_EVENT_PATH_OWN_H
#define ETWSHIP_EVENT_EVENT_PATH_OWN_H

#include "event/write/event_path.h"
#include "event/write/event_path_ids.h"

/* Pass values to the caller until it refuses one. */
struct event_path_sink {
    event_path_each_fn *each;
    void *self;
};

/* Pass a value unless it is absent; true to continue. */
static inline bool event_path_give(
    const struct event_path_sink *sink, const struct event_value *value)
{
    return value->type == EVENT_VALUE_NONE || sink->each(sink->self, value);
}

/* A value if it is there. */
static inline struct event_value event_path_none(void)
{
    return event_value_plain(EVENT_VALUE_NONE);
}

static inline struct event_value event_path_uint_if(bool is_there, uint64_t number)
{
    return is_there ? event_value_uint(number) : event_path_none();
}

static inline struct event_value event_path_object_if(bool is_there)
{
    return event_value_plain(is_there ? EVENT_VALUE_OBJECT : EVENT_VALUE_NONE);
}

static inline struct event_value event_path_guid_if(bool is_there, const uint8_t *bytes)
{
    return is_there ? event_value_bytes(EVENT_VALUE_GUID, span_make(bytes, 16)) : event_path_none();
}

/* A member that is not a list, outside data and labels. */
struct event_value event_path_header(
    const struct event_path *path, const struct event *event, struct event_path_context *context);

/* A member of `extended` that is not a list. */
struct event_value event_path_extended(const struct event_path *path, const struct event *event);

/* The list at ${path}, LIST or NONE; and its elements. */
struct event_value event_path_list(const struct event_path *path, const struct event *event,
    const struct event_path_context *context);
bool event_path_list_each(const struct event_path *path, const struct event *event,
    const struct event_path_context *context, const struct event_path_sink *sink);

/* The values of a path into data. */
bool event_path_data(const struct event_path *path, const struct event *event,
    struct event_path_context *context, const struct event_path_sink *sink);

#endif
