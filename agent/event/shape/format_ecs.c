#include "base/put.h"
#include "event/shape/ecs_data.h"
#include "event/shape/ecs_head.h"
#include "event/shape/ecs_value.h"
#include "event/write/ecs_map.h"
#include "event/write/event_file.h"

/*
 * The shape of Filebeat's etw input, in the fields of the Elastic Common Schema. ecs.tsv is the
 * table of its fields, docs/reference/ecs-fields.md is generated from it. ecs_head.c renders
 * members that are constant per event type and per trace, ecs_data.c the payload's; this file adds
 * the values of one event.
 */

/* Key of the object with the payload's fields. */
#define PAYLOAD_PATH "winlog.event_data"

/* Room for everything of bounded size before the data: time, ids, numbers, flags. */
enum { FIXED_ROOM = 1536 };

static uint8_t *put_created(struct event_writer *writer, uint8_t *p)
{
    if (writer->read_at) {
        uint8_t *q = put_literal(p, ",\"created\":\"");
        if (put_clock_filetime(&writer->read_clock, &q, writer->read_at)) {
            *q++ = '"';
            p = q;
        }
    }
    return p;
}

/* The log object with a level and a file; either may be empty. */
static uint8_t *put_log(uint8_t *p, struct span level, struct span file)
{
    if (level.size || file.size) {
        p = put_literal(p, ",\"log\":{");
        p = put_span(p, level);
        if (level.size && file.size) {
            *p++ = ',';
        }
        p = put_span(p, file);
        *p++ = '}';
    }
    return p;
}

/* ${members}, ${user}: texts of the process from event_process.h. */
static uint8_t *put_process(
    uint8_t *p, const struct event *event, struct span members, struct span user)
{
    const struct event_record *record = event->record;
    uint64_t start_key = event_process_start_key(record, event->process);
    bool has_process = record->present & RECORD_HAS_PROCESS;
    bool has_thread = record->present & RECORD_HAS_THREAD;
    if (!has_process && !has_thread) {
        return p;
    }
    p = put_literal(p, ",\"process\":{");
    if (has_process) {
        p = put_literal(p, "\"pid\":");
        p = put_u64(p, record->process_id);
    }
    if (has_thread) {
        p = has_process ? put_literal(p, ",\"thread\":{\"id\":")
                        : put_literal(p, "\"thread\":{\"id\":");
        p = put_u64(p, record->thread_id);
        *p++ = '}';
    }
    if (start_key) {
        p = put_literal(p, ",\"entity_id\":");
        p = ecs_value_put_number(p, start_key);
    }
    p = put_span(p, members);
    *p++ = '}';
    return put_span(p, user);
}

/* The process object of an event with mapped fields: the event may be about another process, which
 * the thread does not belong to. */
static void add_mapped_process(struct event_writer *writer, const struct ecs_plan *plan,
    const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    size_t key = out->size;
    uint32_t pid;
    bool is_told = ecs_map_process(&writer->mapped, plan, event, &pid);
    buf_add_text(out, ",\"process\":");
    size_t start = out->size;
    if (!is_told && (record->present & RECORD_HAS_PROCESS)) {
        buf_add_text(out, ",\"pid\":");
        buf_add_u64(out, record->process_id);
    }
    if ((record->present & RECORD_HAS_THREAD) && (!is_told || ecs_map_is_own(record, pid)) &&
        !ecs_map_has_thread(plan)) {
        buf_add_text(out, ",\"thread\":{\"id\":");
        buf_add_u64(out, record->thread_id);
        buf_add_byte(out, '}');
    }
    ecs_map_add(&writer->mapped, plan, event, ECS_MAP_PROCESS, out);
    value_json_close(out, key, start);
}

/* ---- winlog ---------------------------------------------------------------------------------- */

static uint8_t *put_ids(uint8_t *p, const struct event_record *record)
{
    if (record->present & RECORD_HAS_PROCESS) {
        p = put_literal(p, ",\"process_id\":");
        p = ecs_value_put_number(p, record->process_id);
    }
    if (record->present & RECORD_HAS_THREAD) {
        p = put_literal(p, ",\"thread_id\":");
        p = ecs_value_put_number(p, record->thread_id);
    }
    if (!guid_is_zero(&record->activity_id)) {
        p = put_literal(p, ",\"activity_id\":");
        p = ecs_value_put_guid(p, record->activity_id.bytes);
    }
    if (record->present & RECORD_OF_LOG) {
        p = put_literal(p, ",\"record_id\":");
        p = ecs_value_put_number(p, record->log_record_id);
    }
    if (record->present & RECORD_IS_CARVED) {
        p = put_literal(p, ",\"carved\":true");
    }
    if (record->extended_count) {
        static const uint8_t zero[16];
        const struct extended_item *related = record_extended(record, EXTENDED_RELATED_ACTIVITY_ID);
        if (related && related->data.size >= 16 && memcmp(related->data.data, zero, 16) != 0) {
            p = put_literal(p, ",\"related_activity_id\":");
            p = ecs_value_put_guid(p, related->data.data);
        }
    }
    return p;
}

/* Windows derives a flag from the type of a record's header in a file. For files this reader does
 * so too. */
static uint16_t flags_of(const struct event_record *record)
{
    enum { WIDTHS = EVENT_FLAG_32_BIT | EVENT_FLAG_64_BIT };
    uint16_t width = record->pointer_size == 4 ? EVENT_FLAG_32_BIT : EVENT_FLAG_64_BIT;
    return record->flags & WIDTHS ? record->flags : record->flags | width;
}

#define WINLOG_KEY ",\"winlog\":"

static void add_winlog(struct event_writer *writer, const struct event *event,
    const struct event_head *shape, struct span session, struct buf *out)
{
    const struct event_record *record = event->record;
    uint8_t *p = out->data + out->size;
    size_t key = out->size;
    size_t start = key + sizeof(WINLOG_KEY) - 1;
    p = put_literal(p, WINLOG_KEY);
    p = put_span(p, span_from(shape->head, shape->cuts.at[1]));
    p = put_span(p, session);
    p = put_ids(p, record);
    if (record->kind == RECORD_EVENT && !(record->present & RECORD_OF_LOG)) {
        p = put_span(p, ecs_head_flags(writer, flags_of(record)));
    }
    out->size = (size_t)(p - out->data);
    ecs_data_add(&writer->values, event, out);
    if (ecs_map_has(shape->plan, ECS_MAP_WINLOG)) {
        ecs_map_add(&writer->mapped, shape->plan, event, ECS_MAP_WINLOG, out);
    }
    value_json_close(out, key, start);
}

/* ---- what could not be decoded --------------------------------------------------------------- */

static void add_bytes_member(struct buf *out, const char *key, struct span bytes)
{
    buf_add_text(out, key);
    if (buf_reserve(out, bytes.size * 2 + PUT_MAX)) {
        uint8_t *p = out->data + out->size;
        out->size += (size_t)(ecs_value_put_bytes(p, bytes) - p);
    }
}

/* Why the event could not be decoded, and an error that its own fields report. */
static void add_error(struct event_writer *writer, const struct ecs_plan *plan,
    const struct event *event, struct buf *out)
{
    size_t key = out->size;
    buf_add_text(out, ",\"error\":");
    size_t start = out->size;
    if (event->error) {
        buf_add_text(out, ",\"message\":");
        value_json_string(span_text(event->error), out);
    }
    if (ecs_map_has(plan, ECS_MAP_ERROR)) {
        ecs_map_add(&writer->mapped, plan, event, ECS_MAP_ERROR, out);
    }
    value_json_close(out, key, start);
}

static void add_undecoded(const struct event *event, struct buf *out)
{
    if (event->status == DECODE_RAW && event->record->payload.size) {
        struct span schema = event_payload_schema(event);
        add_bytes_member(out, ",\"etw\":{\"payload\":", event->record->payload);
        if (schema.size) {
            add_bytes_member(out, ",\"payload_schema\":", schema);
        }
        buf_add_byte(out, '}');
    } else if (event->rest.size) {
        add_bytes_member(out, ",\"etw\":{\"payload_rest\":", event->rest);
        buf_add_byte(out, '}');
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void add_message(struct event_writer *writer, const struct event *event,
    const struct event_head *head, struct buf *out)
{
    static const char key[] = ",\"message\":\"";
    size_t start = out->size;
    buf_add(out, key, sizeof(key) - 1);
    event_message_add(&writer->values, event, head, out);
    if (out->size == start + sizeof(key) - 1) {
        out->size = start;
    } else {
        buf_add_byte(out, '"');
    }
}

static void ecs_event(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    size_t record_start = out->size;
    const struct event_head *head = event_head_get_as(writer, event, &ecs_head_shape);
    const struct event_trace_text *trace = event_trace_of(writer, event, ecs_head_trace);
    event_writer_begin(writer, event, &writer->marks);
    writer->marks.wanted = head->parts ? head->parts->wanted : 0;
    writer->mapped.clock = writer->values.clock;
    const struct ecs_plan *plan = head->plan;
    struct span process = event_process_text(
        writer, event->process, EVENT_PROCESS_MEMBERS, event_process_ecs);
    struct span user = event_process_text(
        writer, event->process, EVENT_PROCESS_USER, event_process_ecs_user);
    size_t given = trace->start.size + trace->file.size + process.size + user.size;
    size_t room = FIXED_ROOM + head->head.size + given;
    writer->given_bytes = given + event_file_room(event->file) + trace->end.size;
    if (head->failed || !trace->valid || !buf_reserve(out, room)) {
        out->failed = true;
        return;
    }
    struct span level = span_make(
        head->head.data + head->cuts.at[0], head->cuts.at[1] - head->cuts.at[0]);
    uint8_t *p = put_literal(out->data + out->size, "{\"@timestamp\":\"");
    p = event_put_time(writer, p, record->time);
    p = put_span(p, span_first(head->head, head->cuts.at[0]));
    p = put_u64(p, record->sequence);
    p = put_created(writer, p);
    if (plan) {
        out->size = (size_t)(p - out->data);
        ecs_map_add(&writer->mapped, plan, event, ECS_MAP_EVENT, out);
        if (!buf_reserve(out, room)) {
            return;
        }
        p = out->data + out->size;
    }
    *p++ = '}';
    p = put_log(p, level, trace->file);
    if (!plan) {
        p = put_process(p, event, process, user);
    }
    out->size = (size_t)(p - out->data);
    if (plan) {
        size_t before = out->size;
        add_mapped_process(writer, plan, event, out);
        writer->given_bytes += out->size - before;
        if (!buf_reserve(out, room)) {
            return;
        }
    }
    add_winlog(writer, event, head, trace->start, out);
    if (event->error || ecs_map_has(plan, ECS_MAP_ERROR)) {
        add_error(writer, plan, event, out);
    }
    if (event->status != DECODE_COMPLETE) {
        add_undecoded(event, out);
    }
    if (!plan && event->file) {
        event_file_ecs(&writer->mapped, event->file, out);
    }
    if (ecs_map_has(plan, ECS_MAP_REST)) {
        ecs_map_add(&writer->mapped, plan, event, ECS_MAP_REST, out);
    }
    if (event_has_message(event, head->message)) {
        add_message(writer, event, head, out);
    }
    buf_add_span(out, trace->end);
    event_writer_end(writer, PAYLOAD_PATH, event->schema, record->time, record_start, out);
}

/* ---- events of the agent --------------------------------------------------------------------- */

/* Everything of an event of the agent before its report. */
static void add_agent_head(struct event_writer *writer, const char *action, unsigned code,
    uint8_t level, const struct event_trace_text *trace, uint64_t now, uint64_t sequence,
    struct buf *out)
{
    struct buf *head = &writer->scratch;
    struct event_head_cuts cuts;
    buf_reset(head);
    ecs_head_agent(writer, action, code, level, head, &cuts);
    if (!trace->valid || head->failed ||
        !buf_reserve(out, FIXED_ROOM + head->size + trace->start.size + trace->file.size)) {
        out->failed = true;
        return;
    }
    uint8_t *p = put_literal(out->data + out->size, "{\"@timestamp\":\"");
    p = event_put_time(writer, p, now);
    if (sequence) {
        p = put_span(p, span_make(head->data, cuts.at[0]));
        p = put_u64(p, sequence);
    } else {
        p = put_span(p, span_make(head->data, cuts.at[0] - (sizeof(",\"sequence\":") - 1)));
    }
    p = put_created(writer, p);
    *p++ = '}';
    p = put_log(p, span_make(head->data + cuts.at[0], cuts.at[1] - cuts.at[0]), trace->file);
    size_t start = (size_t)(p - out->data) + sizeof(WINLOG_KEY) - 1;
    p = put_literal(p, WINLOG_KEY);
    p = put_span(p, span_from(buf_span(head), cuts.at[1]));
    p = put_span(p, trace->start);
    *p++ = '}';
    out->data[start] = '{';
    out->size = (size_t)(p - out->data);
}

static void ecs_gap(struct event_writer *writer, const struct gap *gap, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    size_t record_start = out->size;
    enum { CODE = 1, WARNING = 3 };
    const struct event_trace_text *trace = event_trace_get_as(writer, gap->trace, ecs_head_trace);
    add_agent_head(writer, "gap", CODE, WARNING, trace, now, sequence, out);
    buf_add_text(out, ",\"etw\":{\"gap\":");
    event_gap_object(writer, gap, out);
    buf_add_text(out, "},\"message\":\"");
    event_gap_message(writer, gap, out);
    buf_add_byte(out, '"');
    buf_add_span(out, trace->end);
    event_writer_end(writer, PAYLOAD_PATH, NULL, now, record_start, out);
}

static void ecs_guard(
    struct event_writer *writer, const struct guard_report *report, struct buf *out)
{
    size_t record_start = out->size;
    enum { CODE = 3 };
    const struct event_trace_text *trace = event_trace_get_as(
        writer, report->trace, ecs_head_trace);
    add_agent_head(writer, "guard", CODE, event_guard_level(report), trace, report->time, 0, out);
    buf_add_text(out, ",\"etw\":{\"guard\":");
    event_guard_object(report, out);
    buf_add_text(out, "},\"message\":\"");
    event_guard_message(report, out);
    buf_add_byte(out, '"');
    buf_add_span(out, trace->end);
    event_writer_end(writer, PAYLOAD_PATH, NULL, report->time, record_start, out);
}

static void ecs_status(struct event_writer *writer, const struct status *status, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    size_t record_start = out->size;
    enum { CODE = 2, INFORMATION = 4 };
    const struct event_trace_text *trace = event_trace_get_as(writer, NULL, ecs_head_trace);
    add_agent_head(writer, "status", CODE, INFORMATION, trace, now, sequence, out);
    buf_add_text(out, ",\"etw\":{\"status\":");
    buf_add_span(out, status->counters);
    buf_add_byte(out, '}');
    if (status->message.size) {
        buf_add_text(out, ",\"message\":");
        value_json_string(status->message, out);
    }
    buf_add_span(out, trace->end);
    event_writer_end(writer, PAYLOAD_PATH, NULL, now, record_start, out);
}

const struct event_format event_format_ecs = {
    .name = "ecs",
    .event = ecs_event,
    .gap = ecs_gap,
    .guard = ecs_guard,
    .status = ecs_status,
    .rollup = event_rollup_json,
};
