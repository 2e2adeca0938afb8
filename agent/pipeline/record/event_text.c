#include "pipeline/record/event_text.h"

#include "pipeline/record/event_cut.h"

/* A text is judged when it is written, so what reserves room for the longest text that a value
 * could have finds it; what goes on for much longer ends early. */
enum { SLACK_BYTES = 256 * 1024 };

struct call {
    const struct event_format *format;
    struct event_writer *writer;
    struct buf *out;
    size_t start;
    size_t own_bytes; /* of text that the event may have by what it brings */
};

/* ---- how long a text may be ------------------------------------------------------------------ */

/* No definition, nothing that could make more of the bytes than their hex. */
static size_t own_bytes(const struct event *event)
{
    const struct event_record *record = event->record;
    if (!event->schema) {
        return EVENT_TEXT_MAX_BYTES;
    }
    size_t brings = record->payload.size + event->stack_count * sizeof(event->stack[0]);
    for (size_t i = 0; i < record->extended_count; i++) {
        brings += record->extended[i].data.size;
    }
    enum { MOST = (EVENT_TEXT_MAX_BYTES - EVENT_TEXT_FREE_BYTES) / EVENT_TEXT_MAX_RATIO };
    return brings < MOST ? EVENT_TEXT_FREE_BYTES + brings * EVENT_TEXT_MAX_RATIO
                         : EVENT_TEXT_MAX_BYTES;
}

/* As far as the last event that was written is like this one. */
static size_t max_bytes(const struct call *call)
{
    size_t given = event_writer_given_bytes(call->writer);
    return given < EVENT_TEXT_MAX_BYTES - call->own_bytes ? call->own_bytes + given
                                                          : EVENT_TEXT_MAX_BYTES;
}

/* ---- tries ----------------------------------------------------------------------------------- */

static void take_back(const struct call *call)
{
    call->out->failed = false;
    call->out->size = call->start;
}

/* Write ${event}; the size of its text, or 0, with nothing written, if it is longer than ${max}. */
static inline size_t write_within(const struct call *call, const struct event *event, size_t max)
{
    struct buf *out = call->out;
    size_t old_max = out->max;
    size_t most = max < EVENT_TEXT_MAX_BYTES - SLACK_BYTES ? max + SLACK_BYTES
                                                           : EVENT_TEXT_MAX_BYTES;
    if (old_max - call->start > most) {
        buf_set_max(out, call->start + most);
    }
    call->format->event(call->writer, event, out);
    buf_set_max(out, old_max);
    size_t size = out->size - call->start;
    if (out->failed) {
        take_back(call);
        return 0;
    }
    return size;
}

/* The text has more than the event's own bytes (${size}; 0: it is not there): is it long by the
 * facts of this machine, which are looked up while it is written? */
static bool write_longer(const struct call *call, const struct event *event, size_t size)
{
    size_t max = max_bytes(call);
    if (size == 0 && max > call->own_bytes + SLACK_BYTES) {
        size = write_within(call, event, max);
    }
    if (size && size <= max) {
        return true;
    }
    take_back(call);
    return false;
}

/* Write the event with all that is known of it. */
static inline bool write_whole(const struct call *call, const struct event *event)
{
    size_t size = write_within(call, event, call->own_bytes);
    return (size && size <= call->own_bytes) || write_longer(call, event, size);
}

/* Write as many fields as there is room for, and are easily found: a text that takes half of the
 * room will do. */
static bool write_some(const struct call *call, struct event_cut *cut)
{
    enum { USUAL_FIELD_BYTES = 128 };
    size_t max = max_bytes(call);
    uint32_t fitting = 0;
    uint32_t too_many = cut->whole->field_count;
    uint32_t count = (uint32_t)(max / USUAL_FIELD_BYTES);
    while (fitting + 1 < too_many) {
        uint32_t middle = fitting + (too_many - fitting) / 2;
        count = count > fitting && count < middle ? count : middle;
        const struct event *event = event_cut_values(cut, count);
        size_t size = event ? write_within(call, event, max) : 0;
        if (size && size <= max && size >= max / 2) {
            return true;
        }
        take_back(call);
        bool fits = size && size <= max;
        *(fits ? &fitting : &too_many) = count;
        count = fits ? count * 2 : fitting + (count - fitting) / 4;
    }
    const struct event *event = event_cut_values(cut, fitting);
    return event && write_whole(call, event);
}

static bool write_shorter(const struct call *call, const struct event *event)
{
    struct event_cut cut;
    event_cut_init(&cut, event);
    bool has_parts = event->schema != NULL;
    bool good = (has_parts && event_cut_has_message(&cut) &&
                    write_whole(call, event_cut_message(&cut))) ||
                (has_parts && write_some(call, &cut)) ||
                write_within(call, event_cut_all(&cut), EVENT_TEXT_MAX_BYTES) != 0;
    event_cut_fini(&cut);
    return good;
}

bool event_text_add(const struct event_format *format, struct event_writer *writer,
    const struct event *event, struct buf *out, bool *ret_cut)
{
    const struct call call = {.format = format,
        .writer = writer,
        .out = out,
        .start = out->size,
        .own_bytes = own_bytes(event)};
    bool is_whole = write_whole(&call, event);
    if (ret_cut) {
        *ret_cut = !is_whole;
    }
    return is_whole || write_shorter(&call, event);
}
