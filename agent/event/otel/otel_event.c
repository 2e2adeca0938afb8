#include "event/otel/otel_event.h"

#include "base/bytes.h"
#include "base/filetime.h"
#include "base/protobuf.h"
#include "base/put.h"
#include "event/model/event_stack.h"
#include "event/otel/otel_extended.h"
#include "event/otel/otel_head.h"
#include "event/otel/otel_value.h"
#include "event/write/event_file.h"

/*
 * A log record: otel_head.c renders the constant parts, otel_value.c the payload's fields,
 * otel_extended.c items of the header; this file adds the values of one event. The body is empty,
 * as the specification's table for ETW says, except for WPP messages, which are text.
 */

/* ---- times ----------------------------------------------------------------------------------- */

uint64_t otel_event_nanos(uint64_t filetime)
{
    if (filetime < FILETIME_UNIX_EPOCH || filetime - FILETIME_UNIX_EPOCH > UINT64_MAX / 100) {
        return 0;
    }
    return (filetime - FILETIME_UNIX_EPOCH) * 100;
}

void otel_event_add_time(
    struct event_writer *writer, const char *key, uint64_t filetime, struct buf *out)
{
    struct otel_open open;
    if (writer->codec->open_text(out, OTEL_RECORD, span_text(key), PUT_MAX, PUT_MAX, &open)) {
        uint8_t *p = event_put_time(writer, out->data + out->size, filetime);
        out->size = (size_t)(p - out->data);
        writer->codec->close_text(out, &open);
    }
}

/* ---- header ---------------------------------------------------------------------------------- */

static inline void number(
    struct event_writer *writer, struct buf *out, const char *key, uint64_t value)
{
    otel_codec_number(writer->codec, out, OTEL_RECORD, key, value);
}

static void add_process(
    struct event_writer *writer, const struct event *event, struct span known, struct buf *out)
{
    const struct event_record *record = event->record;
    uint64_t start_key = event_process_start_key(record, event->process);
    if (record->present & RECORD_HAS_PROCESS) {
        number(writer, out, "etw.process.id", record->process_id);
    }
    if (record->present & RECORD_HAS_THREAD) {
        number(writer, out, "etw.thread.id", record->thread_id);
    }
    if (start_key) {
        number(writer, out, "etw.process.start_key", start_key);
    }
    if (!known.size || !(record->present & (RECORD_HAS_PROCESS | RECORD_HAS_THREAD))) {
        return;
    }
    if (record->present & RECORD_HAS_PROCESS) {
        number(writer, out, "process.pid", record->process_id);
    }
    buf_add_span(out, known);
}

static void add_numbers(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    number(writer, out, "etw.sequence", record->sequence);
    if (record->present & RECORD_OF_LOG) {
        number(writer, out, "etw.record.id", record->log_record_id);
    }
    if (record->present & RECORD_IS_CARVED) {
        writer->codec->truth(out, OTEL_RECORD, span_text("etw.record.carved"), true);
    }
    if (record->present & RECORD_HAS_QUALIFIERS) {
        number(writer, out, "etw.qualifiers", record->log_qualifiers);
    }
    number(writer, out, "etw.cpu", record->cpu);
    if (record_kernel_ticks(record)) {
        number(writer, out, "etw.kernel_ticks", record->kernel_ticks);
    }
    if (record_user_ticks(record)) {
        number(writer, out, "etw.user_ticks", record->user_ticks);
    }
    if (record->present & RECORD_HAS_PROCESSOR_TIME) {
        number(writer, out, "etw.processor_time", record->processor_time);
    }
    if (event->pointer_size != record->pointer_size) {
        number(writer, out, "etw.pointer_size", event->pointer_size);
    }
    if (record->present & RECORD_TIME_OF_BUFFER) {
        otel_codec_text(
            writer->codec, out, OTEL_RECORD, "etw.timestamp_source", span_text("buffer"));
    }
    if (otel_event_nanos(record->time) == 0) {
        otel_event_add_time(writer, "etw.timestamp", record->time, out);
    }
}

static void add_activity(
    struct event_writer *writer, const struct event_record *record, struct buf *out)
{
    static const uint8_t zero[16];
    if (!guid_is_zero(&record->activity_id)) {
        otel_codec_guid(
            writer->codec, out, OTEL_RECORD, "etw.activity.id", record->activity_id.bytes);
    }
    const struct extended_item *related =
        record->extended_count ? record_extended(record, EXTENDED_RELATED_ACTIVITY_ID) : NULL;
    if (related && related->data.size >= 16 && memcmp(related->data.data, zero, 16) != 0) {
        otel_codec_guid(
            writer->codec, out, OTEL_RECORD, "etw.activity.related_id", related->data.data);
    }
}

/* ---- payload --------------------------------------------------------------------------------- */

static void add_bytes(
    struct event_writer *writer, struct buf *out, const char *key, struct span bytes)
{
    if (bytes.size) {
        writer->codec->bytes(out, OTEL_RECORD, span_text(key), bytes);
    }
}

static void add_data(struct event_writer *writer, const struct event *event, struct buf *out)
{
    if (event->status == DECODE_RAW) {
        add_bytes(writer, out, "etw.payload", event->record->payload);
        add_bytes(writer, out, "etw.payload.schema", event_payload_schema(event));
    } else {
        otel_value_add_fields(writer->codec, &writer->values, event, out);
        add_bytes(writer, out, "etw.payload.rest", event->rest);
    }
    if (event->error) {
        otel_codec_text(
            writer->codec, out, OTEL_RECORD, "etw.decode_error", span_text(event->error));
    }
}

static void add_wpp(struct event_writer *writer, const struct event_record *record, struct buf *out)
{
    if (record->present & RECORD_HAS_MESSAGE_FLAGS) {
        otel_codec_hex(writer->codec, out, OTEL_RECORD, span_text("etw.wpp.message_flags"),
            record->message_flags);
    }
    if (record->present & RECORD_HAS_SEQUENCE) {
        number(writer, out, "etw.wpp.sequence", record->message_sequence);
    }
    if (record->present & RECORD_HAS_COMPONENT) {
        number(writer, out, "etw.wpp.component_id", record->message_component);
    }
}

static void add_message(struct event_writer *writer, const struct event *event,
    const struct event_head *head, enum otel_place place, struct buf *out)
{
    struct otel_open open;
    if (writer->codec->open_text(out, place, span_text("etw.message"), SIZE_MAX, 0, &open)) {
        event_message_add(&writer->values, event, head, out);
        writer->codec->close_text(out, &open);
    }
}

/* ---- the record ------------------------------------------------------------------------------ */

/* The parts from the head and the trace. */
struct parts {
    const struct event_head *head;
    const struct event_trace_text *trace;
    struct span process;
};

static void begin(struct event_writer *writer, const struct event *event, const struct parts *parts,
    struct buf *out, struct otel_frame *frame)
{
    const uint32_t *cuts = parts->head->cuts.at;
    struct span head = parts->head->head;
    frame->start = out->size;
    out->size = (size_t)(put_padded(out->data + out->size, parts->trace->start) - out->data);
    frame->scope_logs = out->size - PROTOBUF_MAX_WIDTH;
    buf_add_span(out, span_first(head, cuts[0]));
    frame->record = out->size - PROTOBUF_MAX_WIDTH;
    writer->codec->times(
        out, otel_event_nanos(event->record->time), otel_event_nanos(writer->read_at));
    buf_add_span(out, span_first(span_from(head, cuts[0]), cuts[1] - cuts[0]));
}

void otel_event_write(struct event_writer *writer, const struct otel_codec *codec,
    const struct event *event, struct buf *out)
{
    writer->codec = codec;
    const struct event_record *record = event->record;
    const struct parts parts = {.head = event_head_get_as(writer, event, &otel_head_shape),
        .trace = event_trace_of(writer, event, otel_head_trace),
        .process = event_process_text(
            writer, event->process, EVENT_PROCESS_MEMBERS, otel_head_process)};
    const struct event_head *head = parts.head;
    bool is_message = record->kind == RECORD_MESSAGE;
    bool has_text = event_has_message(event, head->message);
    struct otel_frame frame;
    event_writer_begin(writer, event, NULL);
    writer->values.uint64_strings = writer->options.uint64_strings;
    size_t given = parts.process.size + event_file_room(event->file) + parts.trace->start.size +
                   parts.trace->file.size;
    writer->given_bytes = given;
    if (head->failed || !parts.trace->valid ||
        !buf_reserve(out, head->head.size + given + PUT_PADDING)) {
        out->failed = true;
        return;
    }
    begin(writer, event, &parts, out, &frame);
    if (has_text && is_message) {
        add_message(writer, event, head, OTEL_BODY, out);
    }
    codec->open_attributes(out, &frame);
    buf_add_span(out, span_from(head->head, head->cuts.at[1]));
    add_process(writer, event, parts.process, out);
    buf_add_span(out, parts.trace->file);
    add_numbers(writer, event, out);
    add_activity(writer, record, out);
    if (event->file) {
        otel_codec_text(codec, out, OTEL_RECORD, "file.path", event->file->path);
    }
    add_data(writer, event, out);
    otel_extended_add(writer, event, out);
    if (is_message) {
        add_wpp(writer, record, out);
    } else if (has_text) {
        add_message(writer, event, head, OTEL_RECORD, out);
    }
    codec->end(out, &frame);
}

/* ---- several in one -------------------------------------------------------------------------- */

static void add_rollup_time(
    const struct otel_codec *codec, const char *key, uint64_t time, struct buf *out)
{
    struct otel_open open;
    if (codec->open_text(out, OTEL_RECORD, span_text(key), PUT_MAX, PUT_MAX, &open)) {
        uint8_t *p = put_filetime_or_hex(out->data + out->size, time);
        out->size = (size_t)(p - out->data);
        codec->close_text(out, &open);
    }
}

void otel_event_rollup(
    const struct otel_codec *codec, const struct event_rollup *rollup, struct buf *out)
{
    enum { MOST_BYTES = 1024 };
    struct otel_frame frame;
    if (!buf_reserve(out, MOST_BYTES) || !codec->reopen(out, &frame)) { /* all of it or none */
        return;
    }
    otel_codec_number(codec, out, OTEL_RECORD, "etwship.rollup.count", rollup->count);
    add_rollup_time(codec, "etwship.rollup.first", rollup->first, out);
    add_rollup_time(codec, "etwship.rollup.last", rollup->last, out);
    codec->end(out, &frame);
}
