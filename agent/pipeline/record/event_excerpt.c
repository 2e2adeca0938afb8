#include "pipeline/record/event_excerpt.h"

#include "event/write/event_edits.h"
#include "pipeline/record/event_text.h"

void event_excerpt_read_at(const struct event_excerpt *excerpt, uint64_t now)
{
    if (excerpt->details) {
        event_writer_read_at(excerpt->details, now);
    }
}

/* The line that names the event, and the fields below. */
static bool add_lines(const struct event_excerpt *excerpt, const struct event_format *format,
    struct event_writer *writer, const struct event *event, struct buf *out)
{
    static const struct event_edits silent = {.has_message = true};
    struct event_record record = *event->record;
    struct event head = {
        .record = &record, .schema = event->schema, .status = DECODE_RAW, .edits = &silent};
    record.payload.size = 0;
    record.extended_count = 0;
    if (!event_text_add(format, writer, &head, out, NULL)) {
        return false;
    }
    size_t start = out->size;
    bool good = event_text_add(excerpt->details_format, excerpt->details, event, out, NULL);
    event_fields_list(excerpt->fields, start, out);
    return good;
}

bool event_excerpt_add(const struct event_excerpt *excerpt, const struct event_format *format,
    struct event_writer *writer, const struct event *event, struct buf *out)
{
    size_t start = out->size;
    bool good;
    event = event_fields_narrow(excerpt->fields, event);
    if (excerpt->details) {
        good = add_lines(excerpt, format, writer, event, out);
    } else {
        good = event_text_add(format, writer, event, out, NULL);
        event_fields_keep(excerpt->fields, start, out);
    }
    if (!good || out->failed) {
        out->failed = false;
        out->size = start;
        return false;
    }
    return true;
}
