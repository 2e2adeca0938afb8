#include <stdio.h>

#include "base/put.h"
#include "base/text/calendar.h"
#include "base/visible.h"
#include "event/model/event_stack.h"
#include "event/write/event_file.h"
#include "event/write/event_writer_state.h"

/*
 * For people at a terminal: a line that names the event, and a line per value.
 *
 *   09:30:00.1234567  Microsoft-Windows-DNS-Client/3008  Information  pid 1234  tid 5678  cpu 3
 *       QueryName     example.org
 *       QueryType     1
 */
enum { MAX_COLUMN = 28 };

struct palette {
    const char *dim;
    const char *provider;
    const char *key;
    const char *warning;
    const char *error;
    const char *off;
};

static const struct palette colored = {
    "\x1b[2m", "\x1b[1;36m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[0m"};
static const struct palette plain = {"", "", "", "", "", ""};

static const struct palette *palette_of(const struct event_writer *writer)
{
    return writer->colors ? &colored : &plain;
}

/* Undo the JSON escapes of `"` and `\\` after ${start}: people read paths as they are. Escapes of
 * control characters stay, so that nothing in an event can drive the terminal. */
static void show_plain(struct buf *out, size_t start)
{
    size_t to = start;
    for (size_t from = start; from < out->size; from++, to++) {
        bool escaped = out->data[from] == '\\' && from + 1 < out->size &&
                       (out->data[from + 1] == '\\' || out->data[from + 1] == '"');
        from += escaped;
        out->data[to] = out->data[from];
    }
    out->size = to;
    visible_make(out, start);
}

static void add_name(const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    const struct event_schema *schema = event->schema;
    struct span provider = event_provider_name(event);
    if (provider.size) {
        visible_add(out, provider);
    } else {
        char text[GUID_TEXT_SIZE];
        struct guid guid = event_provider_guid(event);
        guid_write(&guid, text);
        buf_add(out, text, sizeof(text));
    }
    buf_add_byte(out, '/');
    if (schema && schema->event_name.size) {
        visible_add(out, schema->event_name);
    } else if (record->kind == RECORD_EVENT || record->kind == RECORD_MESSAGE) {
        buf_printf(out, "%u", record->descriptor.id);
    } else {
        buf_printf(out, "0x%x", record->descriptor.opcode);
    }
    if (schema && schema->task_name.size && schema->kind == SCHEMA_MANIFEST) {
        buf_add_byte(out, ' ');
        visible_add(out, schema->task_name);
    }
}

static uint8_t *put_two(uint8_t *p, unsigned number)
{
    *p++ = (uint8_t)('0' + number / 10);
    *p++ = (uint8_t)('0' + number % 10);
    return p;
}

/* `2026-11-21T11:30:00.1234567+02:00`: RFC 3339, so that it can be used for --start as it is. */
static uint8_t *put_time(
    struct event_writer *writer, uint8_t *p, const struct trace_info *trace, uint64_t filetime)
{
    int32_t offset = event_zone_offset(&writer->zone, trace, filetime);
    int64_t local = (int64_t)filetime + (int64_t)offset * CALENDAR_TICKS_PER_SECOND;
    uint8_t *end = p;
    if (offset == 0 || local < 0 || !put_filetime(&end, (uint64_t)local)) {
        return event_put_time(writer, p, filetime);
    }
    unsigned minutes = (unsigned)(offset < 0 ? -offset : offset) / 60;
    end[-1] = offset < 0 ? '-' : '+'; /* in place of the Z */
    end = put_two(end, minutes / 60);
    *end++ = ':';
    return put_two(end, minutes % 60);
}

/* In a dim color that the caller ends. */
static void add_time(
    struct event_writer *writer, const struct trace_info *trace, uint64_t filetime, struct buf *out)
{
    uint8_t time[PUT_MAX];
    uint8_t *end = put_time(writer, time, trace, filetime);
    buf_add_text(out, palette_of(writer)->dim);
    buf_add(out, time, (size_t)(end - time));
}

static void add_head(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct palette *color = palette_of(writer);
    const struct event_record *record = event->record;
    add_time(writer, record->trace, record->time, out);
    buf_printf(out, "%s  %s", color->off, color->provider);
    add_name(event, out);
    buf_add_text(out, color->off);
    const char *level = schema_level_name(record->descriptor.level);
    if (level) {
        const char *paint = record->descriptor.level <= 2   ? color->error
                            : record->descriptor.level == 3 ? color->warning
                                                            : "";
        buf_printf(out, "  %s%s%s", paint, level, *paint ? color->off : "");
    }
    buf_add_text(out, color->dim);
    if (record->present & RECORD_HAS_PROCESS) {
        buf_printf(out, "  pid %lu", (unsigned long)record->process_id);
        if (event->process && event->process->name.size) {
            buf_add_text(out, " (");
            visible_add(out, event->process->name);
            buf_add_byte(out, ')');
        }
    }
    if (record->present & RECORD_HAS_THREAD) {
        buf_printf(out, "  tid %lu", (unsigned long)record->thread_id);
    }
    buf_printf(out, "  cpu %u%s\n", record->cpu, color->off);
}

/* At least two spaces stand between key and value. */
static void add_key(const struct palette *color, struct span key, size_t column, struct buf *out)
{
    column = key.size > column ? key.size : column;
    buf_printf(out, "    %s", color->key);
    visible_add(out, key);
    buf_add_text(out, color->off);
    for (size_t i = key.size; i < column + 2; i++) {
        buf_add_byte(out, ' ');
    }
}

static void add_values(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct palette *color = palette_of(writer);
    size_t column = 0;
    for (uint32_t i = 0; i < event->field_count; i = event->fields[i].end) {
        size_t size = event->fields[i].schema->name.size;
        column = size > column && size <= MAX_COLUMN ? size : column;
    }
    for (uint32_t i = 0; i < event->field_count && !out->failed; i = event->fields[i].end) {
        const struct field *field = &event->fields[i];
        if (!value_json_present(field)) {
            continue;
        }
        add_key(color, field->schema->name, column, out);
        if (field->shape == FIELD_VALUE) {
            size_t start = out->size;
            value_json_text(&writer->values, event, i, out);
            show_plain(out, start);
        } else {
            size_t start = out->size;
            value_json_one(&writer->values, event, i, out);
            visible_make(out, start);
        }
        buf_add_byte(out, '\n');
    }
}

static void add_hex_line(
    const struct palette *color, const char *key, struct span bytes, struct buf *out)
{
    enum { SHOWN_BYTES = 64 };
    struct span shown = span_first(bytes, SHOWN_BYTES);
    add_key(color, span_text(key), 0, out);
    if (buf_reserve(out, shown.size * 2)) {
        uint8_t *p = out->data + out->size;
        out->size += (size_t)(put_hex_bytes(p, shown) - p);
    }
    if (shown.size < bytes.size) {
        buf_printf(out, "… (%zu bytes)", bytes.size);
    }
    buf_add_byte(out, '\n');
}

/* A line for each frame, the innermost first, as extended.stack has them. */
static void add_stack(const struct palette *color, const struct event *event, struct buf *out)
{
    struct event_frames frames = {.event = event};
    uint64_t frame;
    size_t count = 0;
    while (event_stack_next(&frames, &frame)) {
        count++;
    }
    if (count == 0) {
        return;
    }
    buf_printf(
        out, "    %sstack%s  %zu frame%s\n", color->key, color->off, count, count == 1 ? "" : "s");
    frames = (struct event_frames){.event = event};
    while (event_stack_next(&frames, &frame)) {
        buf_add_text(out, "        ");
        if (buf_reserve(out, PUT_MAX)) {
            out->size = (size_t)(put_hex(out->data + out->size, frame) - out->data);
        }
        buf_add_byte(out, '\n');
    }
}

static void pretty_event(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct palette *color = palette_of(writer);
    event_writer_begin(writer, event, NULL);
    writer->given_bytes = 0;
    add_head(writer, event, out);
    struct span message = event->schema ? event->schema->message : span_make(NULL, 0);
    if (event_has_message(event, message)) {
        const struct event_head *head = event_head_get(writer, event);
        buf_add_text(out, "    ");
        size_t start = out->size;
        event_message_add(&writer->values, event, head, out);
        show_plain(out, start);
        buf_add_byte(out, '\n');
    }
    add_values(writer, event, out);
    if (event->status == DECODE_RAW && event->record->payload.size) {
        add_hex_line(color, "payload", event->record->payload, out);
        if (event_payload_schema(event).size) {
            add_hex_line(color, "payload_schema", event_payload_schema(event), out);
        }
    } else if (event->rest.size) {
        add_hex_line(color, "payload_rest", event->rest, out);
    }
    if (event->error) {
        add_key(color, span_text("decode_error"), 0, out);
        visible_add(out, span_text(event->error));
        buf_add_byte(out, '\n');
    }
    if (event->file && event->file->path.size) {
        add_key(color, span_text("file.path"), 0, out);
        size_t start = out->size;
        visible_add(out, event->file->path);
        show_plain(out, start);
        buf_add_byte(out, '\n');
    }
    add_stack(color, event, out);
}

static void pretty_gap(struct event_writer *writer, const struct gap *gap, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    (void)sequence;
    const struct palette *color = palette_of(writer);
    add_time(writer, gap->trace, now, out);
    buf_printf(out, "%s  %setwship/gap%s  %llu %s lost at stage %s (%s)", color->off,
        color->warning, color->off, (unsigned long long)gap->count, gap->unit, gap->stage,
        gap->reason);
    if (gap->output) {
        buf_add_text(out, " of ");
        visible_add(out, span_text(gap->output));
    }
    if (gap->provider) {
        buf_add_text(out, ": provider ");
        visible_add(out, span_text(gap->provider));
    }
    buf_add_byte(out, '\n');
}

static void pretty_guard(
    struct event_writer *writer, const struct guard_report *report, struct buf *out)
{
    const struct palette *color = palette_of(writer);
    add_time(writer, NULL, report->time, out);
    buf_printf(out, "%s  %setwship/guard%s  %s (%s): ", color->off, color->warning, color->off,
        report->kind, event_guard_action_name(report->action));
    visible_add(out, report->detail);
    buf_add_byte(out, '\n');
}

static void pretty_status(struct event_writer *writer, const struct status *status, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    (void)sequence;
    const struct palette *color = palette_of(writer);
    add_time(writer, NULL, now, out);
    buf_printf(out, "  etwship/status%s  ", color->off);
    if (status->message.size) {
        visible_add(out, status->message);
    } else {
        buf_add_span(out, status->counters);
    }
    buf_add_byte(out, '\n');
}

const struct event_format event_format_pretty = {
    .name = "pretty",
    .event = pretty_event,
    .gap = pretty_gap,
    .guard = pretty_guard,
    .status = pretty_status,
    .rollup = event_rollup_pretty,
};
