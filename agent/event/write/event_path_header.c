#include "base/bytes.h"
#include "base/put.h"
#include "base/text/json_escape.h"
#include "event/write/event_file.h"
#include "event/write/event_host.h"
#include "event/write/event_path_own.h"
#include "event/write/event_process.h"
#include "event/write/event_writer_state.h"

/*
 * Values from outside the payload. A member exists under the conditions of event_head.c and
 * format_native.c.
 */

static const struct event_schema no_schema;

static const struct event_schema *schema_of(const struct event *event)
{
    return event->schema ? event->schema : &no_schema;
}

static bool is_class(const struct event_record *record)
{
    return record->kind == RECORD_CLASSIC || record->kind == RECORD_KERNEL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool event_path_is_number(const struct event_path *path)
{
    switch (path->field) {
    case PATH_PROCESS_PID:
    case PATH_PROCESS_THREAD_ID:
    case PATH_EVENT_CODE:
    case PATH_EVENT_VERSION:
    case PATH_EVENT_LEVEL:
    case PATH_EVENT_TASK:
    case PATH_EVENT_OPCODE:
    case PATH_ETW_CPU:
        return true;
    default:
        return false;
    }
}

bool event_path_number(
    const struct event_path *path, const struct event_record *record, uint64_t *ret_number)
{
    const struct event_descriptor *d = &record->descriptor;
    bool is_event = record->kind == RECORD_EVENT;
    switch (path->field) {
    case PATH_PROCESS_PID:
        *ret_number = record->process_id;
        return record->present & RECORD_HAS_PROCESS;
    case PATH_PROCESS_THREAD_ID:
        *ret_number = record->thread_id;
        return record->present & RECORD_HAS_THREAD;
    case PATH_EVENT_CODE:
        *ret_number = d->id;
        return is_event || record->kind == RECORD_MESSAGE;
    case PATH_EVENT_VERSION:
        *ret_number = d->version;
        return is_event || is_class(record);
    case PATH_EVENT_LEVEL:
        *ret_number = d->level;
        return is_event || (is_class(record) && d->level);
    case PATH_EVENT_TASK:
        *ret_number = d->task;
        return is_event;
    case PATH_EVENT_OPCODE:
        *ret_number = d->opcode;
        return is_event || is_class(record);
    case PATH_ETW_CPU:
        *ret_number = record->cpu;
        return true;
    default:
        return false;
    }
}

/* ---- provider, event ------------------------------------------------------------------------- */

static struct event_value provider_guid(const struct event *event)
{
    const struct event_schema *schema = event->schema;
    if (schema && schema->kind == SCHEMA_MOF) {
        return event_path_guid_if(!guid_is_zero(&schema->provider), schema->provider.bytes);
    }
    if (event->record->kind == RECORD_KERNEL) {
        return event_path_guid_if(true, event_system_trace.bytes);
    }
    const struct guid *provider = &event->record->provider;
    return event_path_guid_if(!guid_is_zero(provider), provider->bytes);
}

static struct event_value name_if(bool is_there, struct span name)
{
    return event_value_utf8(is_there ? name : span_make(NULL, 0));
}

/* The name of a number in the header: predefined, else the schema's if it has this number. */
static struct span name_of(const char *predefined, struct span schema_name, bool same_number)
{
    return predefined || !same_number ? span_text(predefined) : schema_name;
}

static struct event_value event_name_member(enum event_path_field field, const struct event *event)
{
    const struct event_schema *schema = schema_of(event);
    const struct event_descriptor *d = &event->record->descriptor;
    const struct event_descriptor *s = &schema->descriptor;
    bool is_event = event->record->kind == RECORD_EVENT;
    bool any = schema->kind == SCHEMA_TRACELOGGING;
    switch (field) {
    case PATH_EVENT_LEVEL_NAME:
        if (!is_event) {
            return name_if(is_class(event->record), span_text(schema_level_name(d->level)));
        }
        return event_value_utf8(
            name_of(schema_level_name(d->level), schema->level_name, any || d->level == s->level));
    case PATH_EVENT_TASK_NAME:
        return name_if(is_class(event->record) || (is_event && (any || d->task == s->task)),
            schema->task_name);
    case PATH_EVENT_OPCODE_NAME:
        if (!is_event) {
            const char *predefined = schema->opcode_name.size ? NULL
                                                              : schema_opcode_name(d->opcode);
            return name_if(is_class(event->record), name_of(predefined, schema->opcode_name, true));
        }
        return event_value_utf8(name_of(
            schema_opcode_name(d->opcode), schema->opcode_name, any || d->opcode == s->opcode));
    default:
        return name_if(is_event && (any || d->channel == s->channel), schema->channel_name);
    }
}

static struct event_value event_member(enum event_path_field field, const struct event *event)
{
    const struct event_record *record = event->record;
    const struct event_descriptor *d = &record->descriptor;
    bool is_event = record->kind == RECORD_EVENT;
    bool is_log = record->present & RECORD_OF_LOG;
    switch (field) {
    case PATH_EVENT_CLASS_GUID:
        return event_path_guid_if(
            is_class(record) && !guid_is_zero(&record->provider), record->provider.bytes);
    case PATH_EVENT_HEADER_TYPE:
        return event_path_uint_if(record->kind == RECORD_OPAQUE, record->header_type);
    case PATH_EVENT_NAME:
        return name_if(record->kind != RECORD_OPAQUE, schema_of(event)->event_name);
    case PATH_EVENT_CHANNEL:
        return event_path_uint_if(is_event && !is_log, d->channel);
    case PATH_EVENT_RECORD_ID:
        return event_path_uint_if(is_log, record->log_record_id);
    case PATH_EVENT_QUALIFIERS:
        return event_path_uint_if(record->present & RECORD_HAS_QUALIFIERS, record->log_qualifiers);
    case PATH_EVENT_KEYWORDS:
        return is_event ? event_value_hex(d->keyword) : event_path_none();
    default:
        return event_name_member(field, event);
    }
}

static struct event_value provider_kind(const struct event *event)
{
    return event_value_utf8(span_text(event_kind_name(event)));
}

/* ---- process, etw, activity ids -------------------------------------------------------------- */

static struct event_value trace_text(const struct trace_info *trace, struct span text)
{
    return event_value_utf8(trace ? text : span_make(NULL, 0));
}

static struct event_value etw_member(enum event_path_field field, const struct event *event,
    const struct event_path_context *context)
{
    const struct event_record *record = event->record;
    const struct trace_info *trace = record->trace;
    switch (field) {
    case PATH_ETW_SESSION:
        return context->session.size || !trace ? event_value_utf8(context->session)
                                               : event_value_utf8(trace->session_name);
    case PATH_ETW_SEQUENCE:
        return event_value_uint(record->sequence);
    case PATH_ETW_KERNEL_TICKS:
        return event_path_uint_if(record_kernel_ticks(record), record->kernel_ticks);
    case PATH_ETW_USER_TICKS:
        return event_path_uint_if(record_user_ticks(record), record->user_ticks);
    case PATH_ETW_PROCESSOR_TIME:
        return event_path_uint_if(
            record->present & RECORD_HAS_PROCESSOR_TIME, record->processor_time);
    case PATH_ETW_POINTER_SIZE:
        return event_path_uint_if(event->pointer_size != record->pointer_size, event->pointer_size);
    case PATH_ETW_TIMESTAMP_SOURCE:
        return event_value_utf8(
            span_text(record->present & RECORD_TIME_OF_BUFFER ? "buffer" : NULL));
    default:
        return trace_text(trace, trace ? trace->file : span_make(NULL, 0));
    }
}

static struct event_value related_activity(const struct event_record *record)
{
    static const uint8_t zero[16];
    const struct extended_item *item = record_extended(record, EXTENDED_RELATED_ACTIVITY_ID);
    bool is_there = item && item->data.size >= 16 && memcmp(item->data.data, zero, 16) != 0;
    return event_path_guid_if(is_there, is_there ? item->data.data : NULL);
}

/* ---- message --------------------------------------------------------------------------------- */

static struct event_value message(const struct event *event, struct event_path_context *context)
{
    struct span source = schema_of(event)->message;
    if (!event_has_message(event, source)) {
        return event_path_none();
    }
    struct buf *text = &context->values.text;
    struct buf *spare = &context->spare;
    buf_reset(text);
    buf_reset(spare);
    if (buf_reserve(spare, utf8_json_bound(source.size))) {
        spare->size = utf8_to_json(source, spare->data);
    }
    struct value_context values = {.ansi = context->values.ansi,
        .clock = context->values.clock,
        .names = &context->values.names};
    const struct event_head head = {.message = buf_span(spare)};
    event_message_add(&values, event, &head, text);
    text->size = json_escape_undo(text->data, text->size);
    return (struct event_value){.type = EVENT_VALUE_TEXT, .bytes = buf_span(text)};
}

/* ---- the rest -------------------------------------------------------------------------------- */

static struct event_value wpp_member(enum event_path_field field, const struct event_record *record)
{
    bool is_message = record->kind == RECORD_MESSAGE;
    switch (field) {
    case PATH_WPP:
        return event_path_object_if(is_message);
    case PATH_WPP_MESSAGE_NUMBER:
        return event_path_uint_if(is_message, record->descriptor.id);
    case PATH_WPP_MESSAGE_FLAGS:
        return is_message && (record->present & RECORD_HAS_MESSAGE_FLAGS)
                   ? event_value_hex(record->message_flags)
                   : event_path_none();
    case PATH_WPP_SEQUENCE:
        return event_path_uint_if(
            is_message && (record->present & RECORD_HAS_SEQUENCE), record->message_sequence);
    default:
        return event_path_uint_if(
            is_message && (record->present & RECORD_HAS_COMPONENT), record->message_component);
    }
}

/* Values from the format of a WPP message. */
static struct event_value wpp_format_member(enum event_path_field field, const struct event *event)
{
    const struct wpp_format *format = schema_of(event)->wpp;
    if (!format) {
        return event_path_none();
    }
    switch (field) {
    case PATH_WPP_MODULE:
        return event_value_utf8(format->module);
    case PATH_WPP_SOURCE:
        return event_value_utf8(format->source);
    case PATH_WPP_LINE:
        return event_path_uint_if(format->line != 0, format->line);
    case PATH_WPP_FUNCTION:
        return event_value_utf8(format->function);
    case PATH_WPP_LEVEL:
        return event_value_utf8(format->level);
    default:
        return event_value_utf8(format->flags);
    }
}

static struct event_value agent_member(enum event_path_field field, const struct event_agent *agent)
{
    if (!agent) {
        return event_path_none();
    }
    switch (field) {
    case PATH_AGENT:
        return event_path_object_if(true);
    case PATH_AGENT_ID:
        return event_value_utf8(agent->id);
    case PATH_AGENT_EPHEMERAL_ID:
        return event_value_utf8(agent->ephemeral_id);
    case PATH_AGENT_NAME:
        return event_value_utf8(agent->name);
    case PATH_AGENT_TYPE:
        return event_value_utf8(span_text("etwship"));
    default:
        return event_value_utf8(agent->version);
    }
}

static struct event_value payload_member(enum event_path_field field, const struct event *event)
{
    bool raw = event->status == DECODE_RAW;
    switch (field) {
    case PATH_PAYLOAD: {
        struct span payload = event->record->payload;
        return raw && payload.size ? event_value_bytes(EVENT_VALUE_BYTES, payload)
                                   : event_path_none();
    }
    case PATH_PAYLOAD_SCHEMA: {
        struct span schema = event_payload_schema(event);
        return schema.size ? event_value_bytes(EVENT_VALUE_BYTES, schema) : event_path_none();
    }
    case PATH_PAYLOAD_REST:
        return !raw && event->rest.size ? event_value_bytes(EVENT_VALUE_BYTES, event->rest)
                                        : event_path_none();
    default:
        if (!event->error) {
            return event_path_none();
        }
        return (struct event_value){.type = EVENT_VALUE_TEXT, .bytes = span_text(event->error)};
    }
}

struct event_value event_path_header(
    const struct event_path *path, const struct event *event, struct event_path_context *context)
{
    const struct event_record *record = event->record;
    enum event_path_field field = (enum event_path_field)path->field;
    if (event_path_is_number(path)) {
        uint64_t number;
        bool is_there = event_path_number(path, record, &number);
        return event_path_uint_if(is_there, number);
    }
    switch (field) {
    case PATH_TIMESTAMP:
        return event_value_filetime(record->time);
    case PATH_PROVIDER:
    case PATH_EVENT:
    case PATH_ETW:
        return event_path_object_if(true);
    case PATH_GAP:
    case PATH_GUARD:
    case PATH_ROLLUP:
        return event_path_none();
    case PATH_PROVIDER_NAME:
        return event_value_utf8(event_provider_name(event));
    case PATH_PROVIDER_GUID:
        return provider_guid(event);
    case PATH_PROVIDER_KIND:
        return provider_kind(event);
    case PATH_PROCESS:
        return event_path_object_if(record->present & (RECORD_HAS_PROCESS | RECORD_HAS_THREAD));
    case PATH_PROCESS_THREAD:
        return event_path_object_if(record->present & RECORD_HAS_THREAD);
    case PATH_FILE:
    case PATH_FILE_PATH:
        return event_file_value(path, event->file);
    case PATH_EVTX:
        return event_path_object_if(record->present & RECORD_IS_CARVED);
    case PATH_EVTX_CARVED:
        return record->present & RECORD_IS_CARVED
                   ? (struct event_value){.type = EVENT_VALUE_BOOL, .truth = true}
                   : event_path_none();
    case PATH_ACTIVITY_ID:
        return event_path_guid_if(!guid_is_zero(&record->activity_id), record->activity_id.bytes);
    case PATH_RELATED_ACTIVITY_ID:
        return related_activity(record);
    case PATH_PAYLOAD:
    case PATH_PAYLOAD_SCHEMA:
    case PATH_PAYLOAD_REST:
    case PATH_DECODE_ERROR:
        return payload_member(field, event);
    case PATH_MESSAGE:
        return message(event, context);
    default:
        break;
    }
    if (field >= PATH_HOST && field <= PATH_HOST_OS_KERNEL) {
        return event_host_value(path, event);
    }
    if (field >= PATH_PROCESS_START_KEY && field <= PATH_PROCESS_START) {
        return event_process_value(path, event);
    }
    if (field >= PATH_EVENT_CODE && field <= PATH_EVENT_KEYWORDS) {
        return event_member(field, event);
    }
    if (field >= PATH_ETW_SESSION && field <= PATH_ETW_FILE) {
        return etw_member(field, event, context);
    }
    if (field >= PATH_WPP && field <= PATH_WPP_COMPONENT_ID) {
        return wpp_member(field, record);
    }
    if (field >= PATH_WPP_MODULE && field <= PATH_WPP_FLAGS) {
        return wpp_format_member(field, event);
    }
    if (field >= PATH_AGENT && field <= PATH_AGENT_VERSION) {
        return agent_member(field, context->agent);
    }
    return event_path_extended(path, event);
}
