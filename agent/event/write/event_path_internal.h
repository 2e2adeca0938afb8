#ifndef ETWSHIP_EVENT_EVENT_PATH_INTERNAL_H
#define ETWSHIP_EVENT_EVENT_PATH_INTERNAL_H

#include "event/write/event_path.h"

/* Ids of fields, for the files of event_path and for what edits and selects fields. */

/* event_path.field: the rows of event_path_fields.def; some have several names. */
enum event_path_field {
    PATH_TIMESTAMP,
    PATH_PROVIDER,
    PATH_PROVIDER_NAME,
    PATH_PROVIDER_GUID,
    PATH_PROVIDER_KIND,
    PATH_EVENT,
    PATH_EVENT_CODE,
    PATH_EVENT_CLASS_GUID,
    PATH_EVENT_HEADER_TYPE,
    PATH_EVENT_VERSION,
    PATH_EVENT_NAME,
    PATH_EVENT_LEVEL,
    PATH_EVENT_LEVEL_NAME,
    PATH_EVENT_TASK,
    PATH_EVENT_TASK_NAME,
    PATH_EVENT_OPCODE,
    PATH_EVENT_OPCODE_NAME,
    PATH_EVENT_CHANNEL,
    PATH_EVENT_CHANNEL_NAME,
    PATH_EVENT_RECORD_ID,
    PATH_EVENT_QUALIFIERS,
    PATH_EVENT_KEYWORDS,
    PATH_EVENT_KEYWORDS_NAME,
    PATH_PROCESS,
    PATH_PROCESS_PID,
    PATH_PROCESS_THREAD,
    PATH_PROCESS_THREAD_ID,
    PATH_PROCESS_START_KEY,
    PATH_PROCESS_NAME,
    PATH_PROCESS_EXECUTABLE,
    PATH_PROCESS_COMMAND_LINE,
    PATH_PROCESS_PARENT,
    PATH_PROCESS_PARENT_PID,
    PATH_PROCESS_PARENT_NAME,
    PATH_PROCESS_PARENT_EXECUTABLE,
    PATH_PROCESS_USER,
    PATH_PROCESS_USER_ID,
    PATH_PROCESS_USER_NAME,
    PATH_PROCESS_USER_DOMAIN,
    PATH_PROCESS_SESSION_ID,
    PATH_PROCESS_INTEGRITY,
    PATH_PROCESS_START,
    PATH_FILE,
    PATH_FILE_PATH,
    PATH_ETW,
    PATH_ETW_SESSION,
    PATH_ETW_SEQUENCE,
    PATH_ETW_CPU,
    PATH_ETW_KERNEL_TICKS,
    PATH_ETW_USER_TICKS,
    PATH_ETW_PROCESSOR_TIME,
    PATH_ETW_POINTER_SIZE,
    PATH_ETW_TIMESTAMP_SOURCE,
    PATH_ETW_FILE,
    PATH_EVTX,
    PATH_EVTX_CARVED,
    PATH_ACTIVITY_ID,
    PATH_RELATED_ACTIVITY_ID,
    PATH_DATA,
    PATH_PAYLOAD,
    PATH_PAYLOAD_SCHEMA,
    PATH_PAYLOAD_REST,
    PATH_DECODE_ERROR,
    PATH_EXTENDED,
    PATH_EXTENDED_SID,
    PATH_EXTENDED_SESSION_ID,
    PATH_EXTENDED_INSTANCE,
    PATH_EXTENDED_INSTANCE_ID,
    PATH_EXTENDED_INSTANCE_PARENT_ID,
    PATH_EXTENDED_INSTANCE_PARENT_GUID,
    PATH_EXTENDED_STACK_MATCH_ID,
    PATH_EXTENDED_STACK,
    PATH_EXTENDED_STACK_KEY,
    PATH_EXTENDED_PEBS_INDEX,
    PATH_EXTENDED_PMC_COUNTERS,
    PATH_EXTENDED_PSM_KEY,
    PATH_EXTENDED_EVENT_KEY,
    PATH_EXTENDED_START_KEY,
    PATH_EXTENDED_CONTROL_GUID,
    PATH_EXTENDED_QPC_DELTA,
    PATH_EXTENDED_CONTAINER_ID,
    PATH_WPP,
    PATH_WPP_MESSAGE_NUMBER,
    PATH_WPP_MESSAGE_FLAGS,
    PATH_WPP_SEQUENCE,
    PATH_WPP_COMPONENT_ID,
    PATH_WPP_MODULE,
    PATH_WPP_SOURCE,
    PATH_WPP_LINE,
    PATH_WPP_FUNCTION,
    PATH_WPP_LEVEL,
    PATH_WPP_FLAGS,
    PATH_WPP_ARGS,
    PATH_WPP_TYPES,
    PATH_GAP,
    PATH_GUARD,
    PATH_ROLLUP,
    PATH_MESSAGE,
    PATH_HOST,
    PATH_HOST_NAME,
    PATH_HOST_FQDN,
    PATH_HOST_DOMAIN,
    PATH_HOST_ID,
    PATH_HOST_IP,
    PATH_HOST_ARCHITECTURE,
    PATH_HOST_OS,
    PATH_HOST_OS_NAME,
    PATH_HOST_OS_VERSION,
    PATH_HOST_OS_KERNEL,
    PATH_AGENT,
    PATH_AGENT_ID,
    PATH_AGENT_EPHEMERAL_ID,
    PATH_AGENT_NAME,
    PATH_AGENT_TYPE,
    PATH_AGENT_VERSION,
    PATH_LABELS,
    PATH_TAGS,
    PATH_EXTENDED_TYPE, /* extended.type_0x…, whose number is event_path.item */
};

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
