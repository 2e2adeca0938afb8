#include "base/bytes.h"
#include "base/put.h"
#include "event/model/event_stack.h"
#include "event/model/extended_items.h"
#include "event/value/value_put.h"
#include "event/write/event_file.h"
#include "event/write/event_writer_state.h"

/*
 * The native shape: one JSON object and a newline per event. Names, order and rules are in
 * docs/reference/events.md. event_head.c renders members that are constant per event type; this
 * file adds the values of one event.
 */

/* Key of the object with the payload's fields. */
#define PAYLOAD_PATH "data"

/* Room for everything of bounded size before the data: time, ids, numbers. */
enum { FIXED_ROOM = 1024 };

/* The types of an event's extended items, a bit each; unknown ones share the highest. */
#define EXTENDED_BIT(type) (UINT64_C(1) << ((type) < 63 ? (type) : 63))

/* Items that are written elsewhere or only describe the layout. */
#define EXTENDED_SILENT                                                              \
    (EXTENDED_BIT(EXTENDED_RELATED_ACTIVITY_ID) | EXTENDED_BIT(EXTENDED_SCHEMA_TL) | \
        EXTENDED_BIT(EXTENDED_PROV_TRAITS))

static uint64_t extended_types(const struct event_record *record)
{
    uint64_t types = 0;
    for (size_t i = 0; i < record->extended_count; i++) {
        types |= EXTENDED_BIT(record->extended[i].type);
    }
    return record->present & RECORD_OF_LOG ? types & ~EXTENDED_BIT(EXTENDED_LOG_MESSAGE) : types;
}

/* ---- process, etw ---------------------------------------------------------------------------- */

/* ${members}: text of the process from event_process.h. */
static uint8_t *put_process(
    const struct value_context *values, uint8_t *p, const struct event *event, struct span members)
{
    const struct event_record *record = event->record;
    uint64_t start_key = event_process_start_key(record, event->process);
    unsigned present = record->present & (RECORD_HAS_PROCESS | RECORD_HAS_THREAD);
    if (!present) {
        return p;
    }
    p = put_literal(p, ",\"process\":{");
    if (present & RECORD_HAS_PROCESS) {
        p = put_literal(p, "\"pid\":");
        p = put_u64(p, record->process_id);
    }
    if (present & RECORD_HAS_THREAD) {
        p = present & RECORD_HAS_PROCESS ? put_literal(p, ",\"thread\":{\"id\":")
                                         : put_literal(p, "\"thread\":{\"id\":");
        p = put_u64(p, record->thread_id);
        *p++ = '}';
    }
    if (start_key) {
        p = put_literal(p, ",\"start_key\":");
        p = value_put_uint64(values, p, start_key);
    }
    p = put_span(p, members);
    *p++ = '}';
    return p;
}

static uint8_t *put_etw_numbers(
    const struct value_context *values, uint8_t *p, const struct event *event)
{
    const struct event_record *record = event->record;
    p = put_u64(p, record->sequence);
    p = put_literal(p, ",\"cpu\":");
    p = put_u64(p, record->cpu);
    if (record_kernel_ticks(record)) {
        p = put_literal(p, ",\"kernel_ticks\":");
        p = put_u64(p, record->kernel_ticks);
    }
    if (record_user_ticks(record)) {
        p = put_literal(p, ",\"user_ticks\":");
        p = put_u64(p, record->user_ticks);
    }
    if (record->present & RECORD_HAS_PROCESSOR_TIME) {
        p = put_literal(p, ",\"processor_time\":");
        p = value_put_uint64(values, p, record->processor_time);
    }
    if (event->pointer_size != record->pointer_size) {
        p = put_literal(p, ",\"pointer_size\":");
        p = put_u64(p, event->pointer_size);
    }
    if (record->present & RECORD_TIME_OF_BUFFER) {
        p = put_literal(p, ",\"timestamp_source\":\"buffer\"");
    }
    return p;
}

/* ---- activity ids ---------------------------------------------------------------------------- */

static uint8_t *put_activity(uint8_t *p, const struct event_record *record, uint64_t types)
{
    if (!guid_is_zero(&record->activity_id)) {
        p = put_literal(p, ",\"activity_id\":\"");
        p = put_guid(p, record->activity_id.bytes);
        *p++ = '"';
    }
    if (types & EXTENDED_BIT(EXTENDED_RELATED_ACTIVITY_ID)) {
        static const uint8_t zero[16];
        const struct extended_item *related = record_extended(record, EXTENDED_RELATED_ACTIVITY_ID);
        if (related && related->data.size >= 16 && memcmp(related->data.data, zero, 16) != 0) {
            p = put_literal(p, ",\"related_activity_id\":\"");
            p = put_guid(p, related->data.data);
            *p++ = '"';
        }
    }
    return p;
}

/* ---- data ------------------------------------------------------------------------------------ */

static void add_hex_member(struct buf *out, const char *key, struct span bytes)
{
    buf_add_text(out, key);
    if (buf_reserve(out, bytes.size * 2 + 1)) {
        uint8_t *p = out->data + out->size;
        p = put_hex_bytes(p, bytes);
        *p++ = '"';
        out->size = (size_t)(p - out->data);
    }
}

/* The value of `data` after its key, with the members that belong to it; or the raw payload. */
static void add_data(struct event_writer *writer, const struct event *event, struct buf *out)
{
    if (event->status == DECODE_RAW) {
        if (event->record->payload.size) {
            add_hex_member(out, ",\"payload\":\"", event->record->payload);
            struct span schema = event_payload_schema(event);
            if (schema.size) {
                add_hex_member(out, ",\"payload_schema\":\"", schema);
            }
        }
    } else {
        value_json_object(&writer->values, event, 0, event->field_count, out);
        if (event->rest.size) {
            add_hex_member(out, ",\"payload_rest\":\"", event->rest);
        }
    }
    if (event->error) {
        buf_add_text(out, ",\"decode_error\":");
        value_json_string(span_text(event->error), out);
    }
}

/* ---- extended items -------------------------------------------------------------------------- */

static void add_number(const struct value_context *values, struct buf *out, struct span bytes)
{
    uint8_t text[PUT_MAX];
    uint8_t *end;
    if (bytes.size == 8) {
        end = value_put_uint64(values, text, load_le64(bytes.data));
    } else if (bytes.size == 4) {
        end = put_u64(text, load_le32(bytes.data));
    } else {
        add_hex_member(out, "\"", bytes);
        return;
    }
    buf_add(out, text, (size_t)(end - text));
}

static void add_counters(const struct value_context *values, struct buf *out, struct span bytes)
{
    buf_add_byte(out, '[');
    for (size_t at = 0; at + 8 <= bytes.size; at += 8) {
        uint8_t text[PUT_MAX];
        uint8_t *p = text;
        if (at) {
            *p++ = ',';
        }
        p = value_put_uint64(values, p, load_le64(bytes.data + at));
        buf_add(out, text, (size_t)(p - text));
    }
    buf_add_byte(out, ']');
}

/* A match id, then one key. */
static void add_stack_key(struct buf *out, struct span bytes, size_t width)
{
    struct span key = span_from(bytes, 8);
    if (key.size < width) {
        buf_add_text(out, "[]");
        return;
    }
    uint8_t text[PUT_MAX];
    uint8_t *p = text;
    *p++ = '[';
    p = value_put_hex(p, load_le(key.data, width));
    *p++ = ']';
    buf_add(out, text, (size_t)(p - text));
}

static void add_sid(struct buf *out, struct span bytes)
{
    if (!buf_reserve(out, 256)) {
        return;
    }
    uint8_t *start = out->data + out->size;
    uint8_t *end = start + 1;
    if (put_sid(&end, bytes)) {
        *start = '"';
        *end++ = '"';
        out->size += (size_t)(end - start);
    } else {
        add_hex_member(out, "\"", bytes);
    }
}

static void add_guid(struct buf *out, struct span bytes)
{
    if (bytes.size != 16) {
        add_hex_member(out, "\"", bytes);
        return;
    }
    uint8_t text[PUT_MAX];
    uint8_t *end = put_guid(text, bytes.data);
    value_json_string(span_make(text, (size_t)(end - text)), out);
}

static void add_ids(struct buf *out, uint32_t id, uint32_t parent_id, const uint8_t *parent_guid)
{
    buf_add_text(out, "\"instance\":{\"id\":");
    buf_add_u64(out, id);
    buf_add_text(out, ",\"parent_id\":");
    buf_add_u64(out, parent_id);
    if (parent_guid) {
        buf_add_text(out, ",\"parent_guid\":");
        add_guid(out, span_make(parent_guid, 16));
    }
    buf_add_byte(out, '}');
}

/* UInt32 id, UInt32 parent id, parent GUID. */
static void add_instance(struct buf *out, struct span bytes)
{
    if (bytes.size < 24) {
        add_hex_member(out, "\"instance\":\"", bytes);
        return;
    }
    add_ids(out, load_le32(bytes.data), load_le32(bytes.data + 4), bytes.data + 8);
}

static void add_header_instance(struct buf *out, const struct event_record *record)
{
    const uint8_t *parent = guid_is_zero(&record->parent_guid) ? NULL : record->parent_guid.bytes;
    add_ids(out, record->instance_id, record->parent_instance_id, parent);
}

static void add_member(struct buf *out, const char *key,
    void (*add)(struct buf *out, struct span bytes), struct span bytes)
{
    buf_add_text(out, key);
    add(out, bytes);
}

/* The member for one item. */
static void add_item(
    const struct value_context *values, struct buf *out, uint16_t type, struct span bytes)
{
    switch (type) {
    case EXTENDED_SID:
        add_member(out, "\"sid\":", add_sid, bytes);
        break;
    case EXTENDED_TS_ID:
        buf_add_text(out, "\"session_id\":");
        add_number(values, out, bytes);
        break;
    case EXTENDED_PEBS_INDEX:
        buf_add_text(out, "\"pebs_index\":");
        add_number(values, out, bytes);
        break;
    case EXTENDED_EVENT_KEY:
        buf_add_text(out, "\"event_key\":");
        add_number(values, out, bytes);
        break;
    case EXTENDED_PROCESS_START_KEY:
        buf_add_text(out, "\"start_key\":");
        add_number(values, out, bytes);
        break;
    case EXTENDED_QPC_DELTA:
        buf_add_text(out, "\"qpc_delta\":");
        add_number(values, out, bytes);
        break;
    case EXTENDED_CONTROL_GUID:
        add_member(out, "\"control_guid\":", add_guid, bytes);
        break;
    case EXTENDED_CONTAINER_ID:
        add_member(out, "\"container_id\":", add_guid, bytes);
        break;
    case EXTENDED_INSTANCE_INFO:
        add_instance(out, bytes);
        break;
    case EXTENDED_PMC_COUNTERS:
        buf_add_text(out, "\"pmc_counters\":");
        add_counters(values, out, bytes);
        break;
    case EXTENDED_STACK_KEY32:
    case EXTENDED_STACK_KEY64:
        buf_add_text(out, "\"stack_key\":");
        add_stack_key(out, bytes, type == EXTENDED_STACK_KEY32 ? 4 : 8);
        break;
    case EXTENDED_PSM_KEY:
        add_hex_member(out, "\"psm_key\":\"", bytes);
        break;
    default:
        buf_add_text(out, "\"type_");
        buf_add_hex(out, type);
        add_hex_member(out, "\":\"", bytes);
        break;
    }
}

static void add_frame(struct buf *out, uint64_t frame, const char **separator)
{
    if (buf_reserve(out, PUT_MAX)) {
        buf_add_text(out, *separator);
        uint8_t *p = out->data + out->size;
        *p++ = '"';
        p = put_hex(p, frame);
        *p++ = '"';
        out->size = (size_t)(p - out->data);
        *separator = ",";
    }
}

/* False if there is none. */
static bool add_stack(
    const struct value_context *values, const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    const char *separator = "\"stack\":[";
    for (size_t i = 0; i < record->extended_count; i++) {
        struct span data = record->extended[i].data;
        if (event_stack_is_item(record->extended[i].type) && data.size >= 8 &&
            load_le64(data.data)) {
            buf_add_text(out, "\"stack_match_id\":");
            add_number(values, out, span_first(data, 8));
            buf_add_byte(out, ',');
            break;
        }
    }
    struct event_frames frames = {.event = event};
    uint64_t frame;
    while (event_stack_next(&frames, &frame)) {
        add_frame(out, frame, &separator);
    }
    bool is_there = event_stack_is_there(event);
    if (is_there) {
        buf_add_text(out, *separator == ',' ? "]" : "\"stack\":[]");
    }
    return is_there;
}

static void add_extended(
    const struct value_context *values, const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    size_t start = out->size;
    buf_add_text(out, ",\"extended\":{");
    size_t first = out->size;
    if (record->present & RECORD_HAS_INSTANCE && !record_extended(record, EXTENDED_INSTANCE_INFO)) {
        add_header_instance(out, record);
        buf_add_byte(out, ',');
    }
    for (size_t i = 0; i < record->extended_count; i++) {
        const struct extended_item *item = &record->extended[i];
        if (!(EXTENDED_BIT(item->type) & EXTENDED_SILENT) && !event_stack_is_item(item->type) &&
            !record_is_log_message(record, item) && !extended_items_is_repeated(record, i)) {
            if (item->type == EXTENDED_SID && (record->present & RECORD_SID_IS_TEXT)) {
                buf_add_text(out, "\"sid\":");
                value_json_string(item->data, out);
            } else {
                add_item(values, out, item->type, item->data);
            }
            buf_add_byte(out, ',');
        }
    }
    if (add_stack(values, event, out)) {
        buf_add_byte(out, ',');
    }
    if (out->failed) {
        return;
    }
    if (out->size == first) {
        out->size = start;
    } else {
        out->data[out->size - 1] = '}'; /* over the last comma */
    }
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void add_wpp(const struct event *event, struct buf *out)
{
    static const struct span nothing;
    const struct event_record *record = event->record;
    const struct wpp_format *format = event->schema ? event->schema->wpp : NULL;
    struct span head = format ? format->json_head : nothing;
    struct span tail = format ? format->json_tail : nothing;
    if (!buf_reserve(out, FIXED_ROOM + head.size + tail.size)) {
        return;
    }
    uint8_t *p = put_literal(out->data + out->size, ",\"wpp\":{");
    p = put_span(p, head);
    p = put_literal(p, "\"message_number\":");
    p = put_u64(p, record->descriptor.id);
    if (record->present & RECORD_HAS_MESSAGE_FLAGS) {
        p = put_literal(p, ",\"message_flags\":");
        p = value_put_hex(p, record->message_flags);
    }
    if (record->present & RECORD_HAS_SEQUENCE) {
        p = put_literal(p, ",\"sequence\":");
        p = put_u64(p, record->message_sequence);
    }
    if (record->present & RECORD_HAS_COMPONENT) {
        p = put_literal(p, ",\"component_id\":");
        p = put_u64(p, record->message_component);
    }
    p = put_span(p, tail);
    *p++ = '}';
    out->size = (size_t)(p - out->data);
}

static void add_message(struct event_writer *writer, const struct event *event,
    const struct event_head *head, struct buf *out)
{
    if (!buf_reserve(out, PUT_MAX)) {
        return;
    }
    out->size = (size_t)(put_literal(out->data + out->size, ",\"message\":\"") - out->data);
    event_message_add(&writer->values, event, head, out);
    buf_add_byte(out, '"');
}

static void native_event(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    size_t record_start = out->size;
    const struct event_head *head = event_head_get(writer, event);
    const struct event_trace_text *trace = event_trace_of(writer, event, event_trace_native);
    uint64_t types = extended_types(record);
    event_writer_begin(writer, event, &writer->marks);
    writer->marks.wanted = head->parts ? head->parts->wanted : 0;
    writer->values.uint64_strings = writer->options.uint64_strings;
    struct span process = event_process_text(
        writer, event->process, EVENT_PROCESS_MEMBERS, event_process_native);
    size_t given = process.size + event_file_room(event->file) + trace->start.size +
                   trace->file.size;
    size_t room = FIXED_ROOM + head->head.size + given;
    writer->given_bytes = given + trace->end.size;
    if (head->failed || !trace->valid || !buf_reserve(out, room)) {
        out->failed = true;
        return;
    }
    uint8_t *p = put_literal(out->data + out->size, "{\"@timestamp\":\"");
    p = event_put_time(writer, p, record->time);
    p = event_log_put(&writer->values, put_span(p, head->head), record);
    p = put_process(&writer->values, p, event, process);
    p = event_file_put(p, event->file);
    p = put_padded(p, trace->start);
    p = put_etw_numbers(&writer->values, p, event);
    p = put_padded(p, trace->file);
    if (record->present & RECORD_IS_CARVED) {
        p = put_literal(p, ",\"evtx\":{\"carved\":true}");
    }
    p = put_activity(p, record, types);
    if (event->status != DECODE_RAW) {
        p = put_literal(p, ",\"data\":");
    }
    out->size = (size_t)(p - out->data);
    add_data(writer, event, out);
    if ((types & ~EXTENDED_SILENT) || event->stack_count ||
        (record->present & RECORD_HAS_INSTANCE)) {
        add_extended(&writer->values, event, out);
    }
    if (record->kind == RECORD_MESSAGE) {
        add_wpp(event, out);
    }
    if (event_has_message(event, head->message)) {
        add_message(writer, event, head, out);
    }
    if (buf_reserve(out, trace->end.size)) {
        p = put_span(out->data + out->size, trace->end);
        out->size = (size_t)(p - out->data);
    }
    event_writer_end(writer, PAYLOAD_PATH, event->schema, record->time, record_start, out);
}

/* ---- events of the agent --------------------------------------------------------------------- */

/* Everything of an event of the agent before its report. */
static const struct event_trace_text *add_agent_head(struct event_writer *writer, const char *event,
    const struct trace_info *trace_info, uint64_t now, uint64_t sequence, struct buf *out)
{
    event_add_time(writer, "{\"@timestamp\":\"", now, out);
    buf_add_text(out, ",\"provider\":{\"name\":\"etwship\",\"guid\":"
                      "\"5db7de6b-6094-54a0-e757-044329f62f6d\",\"kind\":\"agent\"},"
                      "\"event\":{");
    buf_add_text(out, event);
    const struct event_trace_text *trace = event_trace_get(writer, trace_info);
    struct span start = trace->start;
    struct span file = trace->file;
    out->failed |= !trace->valid;
    /* Without a sequence number, cut the end of `{"session":"x","sequence":` and the comma of
     * `,"file":"y"}`. */
    if (sequence == 0 && !out->failed) {
        start.size -= sizeof("\"sequence\":") - 1;
        file = span_from(file, start.data[start.size - 1] == '{' && file.data[0] == ',');
        start.size -= start.data[start.size - 1] == ',';
    }
    buf_add_span(out, start);
    if (sequence) {
        buf_printf(out, "%llu", (unsigned long long)sequence);
    }
    buf_add_span(out, file);
    return trace;
}

static void native_gap(struct event_writer *writer, const struct gap *gap, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    size_t record_start = out->size;
    static const char event[] =
        "\"code\":1,\"name\":\"gap\",\"level\":3,\"level_name\":\"Warning\"}";
    const struct event_trace_text *trace = add_agent_head(
        writer, event, gap->trace, now, sequence, out);
    buf_add_text(out, ",\"gap\":");
    event_gap_object(writer, gap, out);
    buf_add_text(out, ",\"message\":\"");
    event_gap_message(writer, gap, out);
    buf_add_byte(out, '"');
    buf_add_span(out, trace->end);
    event_writer_end(writer, PAYLOAD_PATH, NULL, now, record_start, out);
}

static void native_guard(
    struct event_writer *writer, const struct guard_report *report, struct buf *out)
{
    size_t record_start = out->size;
    static const char error[] =
        "\"code\":3,\"name\":\"guard\",\"level\":2,\"level_name\":\"Error\"}";
    static const char warning[] =
        "\"code\":3,\"name\":\"guard\",\"level\":3,\"level_name\":\"Warning\"}";
    const struct event_trace_text *trace = add_agent_head(writer,
        event_guard_level(report) == 2 ? error : warning, report->trace, report->time, 0, out);
    buf_add_text(out, ",\"guard\":");
    event_guard_object(report, out);
    buf_add_text(out, ",\"message\":\"");
    event_guard_message(report, out);
    buf_add_byte(out, '"');
    buf_add_span(out, trace->end);
    event_writer_end(writer, PAYLOAD_PATH, NULL, report->time, record_start, out);
}

static void native_status(struct event_writer *writer, const struct status *status, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    size_t record_start = out->size;
    static const char event[] =
        "\"code\":2,\"name\":\"status\",\"level\":4,\"level_name\":\"Information\"}";
    const struct event_trace_text *trace = add_agent_head(writer, event, NULL, now, sequence, out);
    buf_add_text(out, ",\"status\":");
    buf_add_span(out, status->counters);
    if (status->message.size) {
        buf_add_text(out, ",\"message\":");
        value_json_string(status->message, out);
    }
    buf_add_span(out, trace->end);
    event_writer_end(writer, PAYLOAD_PATH, NULL, now, record_start, out);
}

const struct event_format event_format_native = {
    .name = "native",
    .event = native_event,
    .gap = native_gap,
    .guard = native_guard,
    .status = native_status,
    .rollup = event_rollup_json,
};
