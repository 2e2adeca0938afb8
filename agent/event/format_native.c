#include "base/bytes.h"
#include "base/put.h"
#include "event/event_writer_internal.h"

/*
 * The native shape: one JSON object and a newline per event. Names, order and rules are in
 * agent/event/README.md. Members that are constant per event type come rendered from event_head.c;
 * this file puts the values of one event between them.
 */

/* Everything of bounded size in front of the data: time, ids, numbers. */
enum { FIXED_ROOM = 1024 };

/* ---- process, etw ------------------------------------------------------------------------------- */

static uint8_t *put_process(uint8_t *p, const struct event_record *record)
{
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
    *p++ = '}';
    return p;
}

static uint8_t *put_etw_numbers(uint8_t *p, const struct event *event)
{
    const struct event_record *record = event->record;
    p = put_u64(p, record->sequence);
    p = put_literal(p, ",\"cpu\":");
    p = put_u64(p, record->cpu);
    if (record->present & RECORD_HAS_CPU_TIMES) {
        p = put_literal(p, ",\"kernel_ticks\":");
        p = put_u64(p, record->kernel_ticks);
        p = put_literal(p, ",\"user_ticks\":");
        p = put_u64(p, record->user_ticks);
    }
    if (record->present & RECORD_HAS_PROCESSOR_TIME) {
        p = put_literal(p, ",\"processor_time\":");
        p = put_u64(p, record->processor_time);
    }
    if (event->pointer_size != record->pointer_size) {
        p = put_literal(p, ",\"pointer_size\":");
        p = put_u64(p, event->pointer_size);
    }
    return p;
}

/* ---- activity ids --------------------------------------------------------------------------------- */

static uint8_t *put_activity(uint8_t *p, const struct event_record *record)
{
    if (!guid_is_zero(&record->activity_id)) {
        p = put_literal(p, ",\"activity_id\":\"");
        p = put_guid(p, record->activity_id.bytes);
        *p++ = '"';
    }
    if (record->extended_count) {
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

/* ---- data ------------------------------------------------------------------------------------------ */

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

static void add_data(struct event_writer *writer, const struct event *event, struct buf *out)
{
    if (event->status == DECODE_RAW) {
        if (event->record->payload.size) {
            add_hex_member(out, ",\"payload\":\"", event->record->payload);
        }
        return;
    }
    buf_add_text(out, ",\"data\":");
    value_json_object(&writer->values, event, 0, event->field_count, out);
    if (event->rest.size) {
        add_hex_member(out, ",\"payload_rest\":\"", event->rest);
    }
    if (event->status == DECODE_PARTIAL) {
        buf_add_text(out, ",\"decode_error\":");
        value_json_string(span_text(event->error), out);
    }
}

/* ---- extended items ---------------------------------------------------------------------------------- */

static void add_number(struct buf *out, struct span bytes)
{
    uint8_t text[PUT_MAX];
    uint8_t *end;
    if (bytes.size == 8) {
        end = put_u64(text, load_le64(bytes.data));
    } else if (bytes.size == 4) {
        end = put_u64(text, load_le32(bytes.data));
    } else {
        add_hex_member(out, "\"", bytes);
        return;
    }
    buf_add(out, text, (size_t)(end - text));
}

static void add_list(struct buf *out, struct span bytes, size_t width, bool hex)
{
    buf_add_byte(out, '[');
    for (size_t at = 0; at + width <= bytes.size; at += width) {
        uint64_t value = width == 4 ? load_le32(bytes.data + at) : load_le64(bytes.data + at);
        uint8_t text[PUT_MAX];
        uint8_t *p = text;
        if (at) {
            *p++ = ',';
        }
        if (hex) {
            *p++ = '"';
            p = put_hex(p, value);
            *p++ = '"';
        } else {
            p = put_u64(p, value);
        }
        buf_add(out, text, (size_t)(p - text));
    }
    buf_add_byte(out, ']');
}

static void add_sid(struct buf *out, struct span bytes)
{
    uint8_t text[256];
    uint8_t *end = text;
    if (put_sid(&end, bytes)) {
        buf_add_byte(out, '"');
        buf_add(out, text, (size_t)(end - text));
        buf_add_byte(out, '"');
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

static void add_stack(struct buf *out, struct span bytes, size_t width)
{
    uint64_t match_id = bytes.size >= 8 ? load_le64(bytes.data) : 0;
    if (match_id) {
        buf_printf(out, "\"stack_match_id\":%llu,", (unsigned long long)match_id);
    }
    buf_add_text(out, "\"stack\":");
    add_list(out, span_from(bytes, 8), width, true);
}

/* UInt32 id, UInt32 parent id, parent GUID. */
static void add_instance(struct buf *out, struct span bytes)
{
    if (bytes.size < 24) {
        add_hex_member(out, "\"instance\":\"", bytes);
        return;
    }
    buf_printf(out, "\"instance\":{\"id\":%lu,\"parent_id\":%lu,\"parent_guid\":",
        (unsigned long)load_le32(bytes.data), (unsigned long)load_le32(bytes.data + 4));
    add_guid(out, span_make(bytes.data + 8, 16));
    buf_add_byte(out, '}');
}

/* The member for one item; false for items that stand elsewhere or describe only the layout. */
static bool add_item(struct buf *out, const struct extended_item *item, bool has_joined_stack)
{
    static const struct {
        uint16_t type;
        const char *key;
        void (*add)(struct buf *out, struct span bytes);
    } simple[] = {
        {EXTENDED_SID, "\"sid\":", add_sid},
        {EXTENDED_TS_ID, "\"session_id\":", add_number},
        {EXTENDED_PEBS_INDEX, "\"pebs_index\":", add_number},
        {EXTENDED_EVENT_KEY, "\"event_key\":", add_number},
        {EXTENDED_PROCESS_START_KEY, "\"start_key\":", add_number},
        {EXTENDED_CONTROL_GUID, "\"control_guid\":", add_guid},
        {EXTENDED_QPC_DELTA, "\"qpc_delta\":", add_number},
    };
    for (size_t i = 0; i < sizeof(simple) / sizeof(simple[0]); i++) {
        if (simple[i].type == item->type) {
            buf_add_text(out, simple[i].key);
            simple[i].add(out, item->data);
            return true;
        }
    }
    switch (item->type) {
    case EXTENDED_INSTANCE_INFO:
        add_instance(out, item->data);
        return true;
    case EXTENDED_STACK_TRACE32:
    case EXTENDED_STACK_TRACE64:
        if (has_joined_stack) {
            return false;
        }
        add_stack(out, item->data, item->type == EXTENDED_STACK_TRACE32 ? 4 : 8);
        return true;
    case EXTENDED_PMC_COUNTERS:
        buf_add_text(out, "\"pmc_counters\":");
        add_list(out, item->data, 8, false);
        return true;
    case EXTENDED_STACK_KEY32:
    case EXTENDED_STACK_KEY64:
        buf_add_text(out, "\"stack_key\":");
        add_list(out,
            span_first(span_from(item->data, 8), item->type == EXTENDED_STACK_KEY32 ? 4 : 8),
            item->type == EXTENDED_STACK_KEY32 ? 4 : 8, true);
        return true;
    case EXTENDED_PSM_KEY:
        add_hex_member(out, "\"psm_key\":\"", item->data);
        return true;
    case EXTENDED_CONTAINER_ID:
        buf_add_text(out, "\"container_id\":");
        add_guid(out, item->data);
        return true;
    case EXTENDED_RELATED_ACTIVITY_ID:
    case EXTENDED_SCHEMA_TL:
    case EXTENDED_PROV_TRAITS:
        return false;
    default:
        buf_printf(out, "\"type_0x%x\":", item->type);
        add_hex_member(out, "\"", item->data);
        return true;
    }
}

static void add_frames(const struct event *event, struct buf *out)
{
    buf_add_text(out, "\"stack\":[");
    for (uint32_t i = 0; i < event->stack_count && buf_reserve(out, PUT_MAX); i++) {
        uint8_t *p = out->data + out->size;
        if (i) {
            *p++ = ',';
        }
        *p++ = '"';
        p = put_hex(p, event->stack[i]);
        *p++ = '"';
        out->size = (size_t)(p - out->data);
    }
    buf_add_byte(out, ']');
}

static void add_extended(const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    size_t start = out->size;
    uint32_t seen = 0;
    buf_add(out, ",\"extended\":{", 13);
    size_t first = out->size;
    for (size_t i = 0; i < record->extended_count; i++) {
        const struct extended_item *item = &record->extended[i];
        /* A second item of one type would be a duplicate key. */
        if (item->type < 32 && (seen >> item->type & 1)) {
            continue;
        }
        seen |= item->type < 32 ? 1u << item->type : 0;
        size_t before = out->size;
        if (before != first) {
            buf_add_byte(out, ',');
        }
        if (!add_item(out, item, event->stack_count > 0)) {
            out->size = before;
        }
    }
    if (event->stack_count) {
        if (out->size != first) {
            buf_add_byte(out, ',');
        }
        add_frames(event, out);
    }
    if (out->size == first) {
        out->size = start;
    } else {
        buf_add_byte(out, '}');
    }
}

/* ---- the rest ---------------------------------------------------------------------------------------- */

static void add_wpp(const struct event_record *record, struct buf *out)
{
    buf_printf(out, ",\"wpp\":{\"message_number\":%u,\"message_flags\":\"0x%x\"",
        record->descriptor.id, record->message_flags);
    if (record->present & RECORD_HAS_SEQUENCE) {
        buf_printf(out, ",\"sequence\":%lu", (unsigned long)record->message_sequence);
    }
    if (record->present & RECORD_HAS_COMPONENT) {
        buf_printf(out, ",\"component_id\":%lu", (unsigned long)record->message_component);
    }
    buf_add_byte(out, '}');
}

static void add_message(struct event_writer *writer, const struct event *event,
    const struct event_head *head, struct buf *out)
{
    buf_add(out, ",\"message\":\"", 12);
    if (head->parts && head->parts->count) {
        event_message_fill(&writer->values, event, head->message, head->parts, out);
    } else {
        event_message_render(&writer->values, event, head->message, out);
    }
    buf_add_byte(out, '"');
}

static void native_event(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    const struct event_head *head = event_head_get(writer, event);
    const struct event_trace_text *trace = event_trace_get(writer, record->trace);
    writer->values.clock = record->trace ? &record->trace->clock : NULL;
    writer->marks.wanted = head->parts ? head->parts->wanted : 0;
    writer->marks.marked = 0;
    writer->values.marks = &writer->marks;
    if (!buf_reserve(out, FIXED_ROOM + head->head.size + trace->start.size + trace->file.size)) {
        return;
    }
    uint8_t *p = put_literal(out->data + out->size, "{\"@timestamp\":\"");
    p = event_put_time(writer, p, record->time);
    p = put_padded(p, head->head);
    p = put_process(p, record);
    p = put_padded(p, trace->start);
    p = put_etw_numbers(p, event);
    p = put_padded(p, trace->file);
    p = put_activity(p, record);
    out->size = (size_t)(p - out->data);
    add_data(writer, event, out);
    if (record->extended_count || event->stack_count) {
        add_extended(event, out);
    }
    if (record->kind == RECORD_MESSAGE) {
        add_wpp(record, out);
    }
    if (head->message.size && event->status != DECODE_RAW) {
        add_message(writer, event, head, out);
    }
    if (buf_reserve(out, trace->end.size + PUT_PADDING)) {
        p = put_padded(out->data + out->size, trace->end);
        out->size = (size_t)(p - out->data);
    }
}

/* ---- gaps ---------------------------------------------------------------------------------------------- */

static void add_time(struct event_writer *writer, const char *key, uint64_t time, struct buf *out)
{
    buf_add_text(out, key);
    if (buf_reserve(out, PUT_MAX)) {
        uint8_t *p = out->data + out->size;
        p = event_put_time(writer, p, time);
        *p++ = '"';
        out->size = (size_t)(p - out->data);
    }
}

static void native_gap(struct event_writer *writer, const struct gap *gap, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    add_time(writer, "{\"@timestamp\":\"", now, out);
    buf_add_text(out, ",\"provider\":{\"name\":\"etwship\",\"guid\":"
                      "\"5db7de6b-6094-54a0-e757-044329f62f6d\",\"kind\":\"agent\"},"
                      "\"event\":{\"code\":1,\"name\":\"gap\",\"level\":3,"
                      "\"level_name\":\"Warning\"}");
    const struct event_trace_text *trace = event_trace_get(writer, gap->trace);
    buf_add_span(out, trace->start);
    buf_printf(out, "%llu", (unsigned long long)sequence);
    buf_add_span(out, trace->file);
    buf_printf(out, ",\"gap\":{\"stage\":\"%s\",\"reason\":\"%s\",\"unit\":\"%s\",\"count\":%llu",
        gap->stage, gap->reason, gap->unit, (unsigned long long)gap->count);
    buf_add_text(out, gap->exact ? ",\"exact\":true" : ",\"exact\":false");
    if (gap->from) {
        add_time(writer, ",\"from\":\"", gap->from, out);
    }
    if (gap->to) {
        add_time(writer, ",\"to\":\"", gap->to, out);
    }
    buf_printf(out, "},\"message\":\"%llu %s lost at stage %s (%s)\"",
        (unsigned long long)gap->count, gap->unit, gap->stage, gap->reason);
    buf_add_span(out, trace->end);
}

const struct event_format event_format_native = {
    .name = "native",
    .event = native_event,
    .gap = native_gap,
};
