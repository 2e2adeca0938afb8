#include "pipeline/event_text.h"

static bool write_once(const struct event_format *format, struct event_writer *writer,
    const struct event *event, struct buf *out)
{
    size_t start = out->size;
    size_t max = out->max;
    if (max - start > EVENT_TEXT_MAX_BYTES) {
        out->max = start + EVENT_TEXT_MAX_BYTES;
    }
    format->event(writer, event, out);
    out->max = max;
    if (out->failed) {
        out->failed = false;
        out->size = start;
        return false;
    }
    return true;
}

bool event_text_add(const struct event_format *format, struct event_writer *writer,
    const struct event *event, struct buf *out)
{
    if (write_once(format, writer, event, out)) {
        return true;
    }
    struct event shorter = *event;
    shorter.fields = NULL;
    shorter.field_count = 0;
    shorter.status = DECODE_PARTIAL;
    shorter.error = "its values are too long to ship";
    shorter.rest = span_make(NULL, 0);
    shorter.stack_count = 0;
    return write_once(format, writer, &shorter, out);
}
