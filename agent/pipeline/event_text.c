#include "pipeline/event_text.h"

#include "event/event_edits.h"

static bool write_once(const struct event_format *format, struct event_writer *writer,
    const struct event *event, struct buf *out)
{
    size_t start = out->size;
    size_t max = out->max;
    if (max > start && max - start > EVENT_TEXT_MAX_BYTES) {
        buf_set_max(out, start + EVENT_TEXT_MAX_BYTES);
    }
    format->event(writer, event, out);
    buf_set_max(out, max);
    if (out->failed) {
        out->failed = false;
        out->size = start;
        return false;
    }
    return true;
}

/* Its header, as rules have made it. ${edits}: room for what they have made of the rest. */
static struct event without_values(const struct event *event, struct event_edits *edits)
{
    struct event shorter = *event;
    shorter.fields = NULL;
    shorter.field_count = 0;
    shorter.status = DECODE_PARTIAL;
    shorter.error = "its values are too long to ship";
    shorter.rest = span_make(NULL, 0);
    shorter.stack_count = 0;
    if (event->edits && event->edits->has_message) { /* it was made of the values */
        *edits = *event->edits;
        edits->message = span_make(NULL, 0);
        shorter.edits = edits;
    }
    return shorter;
}

bool event_text_add(const struct event_format *format, struct event_writer *writer,
    const struct event *event, struct buf *out)
{
    if (write_once(format, writer, event, out)) {
        return true;
    }
    struct event_edits edits;
    struct event shorter = without_values(event, &edits);
    return write_once(format, writer, &shorter, out);
}
