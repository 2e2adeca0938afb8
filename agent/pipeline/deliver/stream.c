#include "pipeline/deliver/stream.h"

#include <stdlib.h>

#include "event/select/event_fields.h"
#include "event/write/event_edits.h"
#include "pipeline/record/event_text.h"
#include "platform/plat_system.h"

enum { MAX_HOSTS = 64 };

struct stream {
    const struct event_format *format;
    struct event_writer *writer;
    struct event_fields *fields;
    struct event_writer *details;
    const struct event_format *details_format;
    struct delivery_host *hosts[MAX_HOSTS];
    size_t host_count;
    struct buf bytes;
    uint32_t ends[STREAM_BATCH_RECORDS];
    size_t count;
};

struct stream *stream_create(const struct stream_settings *settings, struct error *err)
{
    struct stream *stream = settings->host_count <= MAX_HOSTS ? calloc(1, sizeof(*stream)) : NULL;
    if (!stream) {
        error_set(err, ERR_LIMIT, "no memory for a stream, or more than %d outputs", MAX_HOSTS);
        return NULL;
    }
    stream->format = settings->format;
    stream->writer = settings->writer;
    stream->fields = settings->fields;
    stream->details = settings->details;
    stream->details_format = settings->details_format ? settings->details_format
                                                      : &event_format_native;
    stream->host_count = settings->host_count;
    for (size_t i = 0; i < settings->host_count; i++) {
        stream->hosts[i] = settings->hosts[i];
    }
    buf_init(&stream->bytes, STREAM_BATCH_BYTES + EVENT_TEXT_MAX_BYTES);
    return stream;
}

void stream_destroy(struct stream *stream)
{
    if (stream) {
        buf_fini(&stream->bytes);
        free(stream);
    }
}

bool stream_flush(struct stream *stream)
{
    struct delivery delivery = {.bytes = buf_span(&stream->bytes),
        .record_ends = stream->ends,
        .record_count = stream->count};
    bool any = stream->host_count == 0;
    for (size_t i = 0; i < stream->host_count; i++) {
        any |= delivery_host_deliver(stream->hosts[i], &delivery);
    }
    stream->count = 0;
    buf_reset(&stream->bytes);
    return any;
}

static bool add_record(struct stream *stream)
{
    stream->ends[stream->count++] = (uint32_t)stream->bytes.size;
    if (stream->bytes.size >= STREAM_BATCH_BYTES || stream->count == STREAM_BATCH_RECORDS) {
        return stream_flush(stream);
    }
    return true;
}

/* The clock is read once per batch. */
static void begin_record(struct stream *stream)
{
    struct event_writer *writers[] = {stream->writer, stream->details};
    for (size_t i = 0; i < 2 && stream->count == 0; i++) {
        if (writers[i]) {
            event_writer_read_at(writers[i], plat_now_filetime());
        }
    }
}

/* The line that names the event, and the fields below. */
static bool add_pretty(struct stream *stream, const struct event *event)
{
    static const struct event_edits silent = {.has_message = true};
    struct event_record record = *event->record;
    struct event head = {
        .record = &record, .schema = event->schema, .status = DECODE_RAW, .edits = &silent};
    record.payload.size = 0;
    record.extended_count = 0;
    if (!event_text_add(stream->format, stream->writer, &head, &stream->bytes, NULL)) {
        return false;
    }
    size_t start = stream->bytes.size;
    bool good = event_text_add(
        stream->details_format, stream->details, event, &stream->bytes, NULL);
    event_fields_list(stream->fields, start, &stream->bytes);
    return good;
}

static bool add_text(struct stream *stream, const struct event *event)
{
    struct buf *out = &stream->bytes;
    size_t start = out->size;
    if (!stream->fields) {
        return event_text_add(stream->format, stream->writer, event, out, NULL);
    }
    event = event_fields_narrow(stream->fields, event);
    bool good = stream->details ? add_pretty(stream, event)
                                : event_text_add(stream->format, stream->writer, event, out, NULL);
    if (!stream->details) {
        event_fields_keep(stream->fields, start, out);
    }
    if (!good || out->failed) {
        out->failed = false;
        out->size = start;
        return false;
    }
    return true;
}

static bool on_event(void *self, const struct event *event)
{
    struct stream *stream = self;
    begin_record(stream);
    if (!add_text(stream, event)) {
        /* No memory beside what is gathered. */
        if (!stream_flush(stream) || !add_text(stream, event)) {
            return false;
        }
    }
    return add_record(stream);
}

static bool on_gap(void *self, const struct gap *gap, uint64_t now, uint64_t sequence)
{
    struct stream *stream = self;
    begin_record(stream);
    stream->format->gap(stream->writer, gap, now, sequence, &stream->bytes);
    return add_record(stream);
}

struct flow_consumer stream_consumer(struct stream *stream)
{
    return (struct flow_consumer){.self = stream, .event = on_event, .gap = on_gap};
}
