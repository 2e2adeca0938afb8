#include "pipeline/record/event_cut.h"

#include <stdio.h>
#include <stdlib.h>

void event_cut_init(struct event_cut *cut, const struct event *event)
{
    *cut = (struct event_cut){.whole = event};
}

void event_cut_fini(struct event_cut *cut)
{
    free(cut->fields);
    cut->fields = NULL;
}

bool event_cut_has_message(const struct event_cut *cut)
{
    const struct event *event = cut->whole;
    if (event->edits && event->edits->has_message) {
        return event->edits->message.size > 0;
    }
    return event->schema && (event->schema->message.size || event->schema->wpp);
}

/* The event as it came, without its message, and a note. */
static struct event *begin(struct event_cut *cut, const char *note)
{
    const struct event *whole = cut->whole;
    snprintf(cut->note, sizeof(cut->note), "%s%s%s", whole->error ? whole->error : "",
        whole->error ? "; " : "", note);
    cut->edits = whole->edits ? *whole->edits : (struct event_edits){0};
    cut->edits.has_message = true;
    cut->edits.message = span_make(NULL, 0);
    cut->event = *whole;
    cut->event.edits = &cut->edits;
    cut->event.status = DECODE_PARTIAL;
    cut->event.error = cut->note;
    return &cut->event;
}

const struct event *event_cut_message(struct event_cut *cut)
{
    return begin(cut, "its message is too long to ship");
}

/* Children of the field number ${index}, which ends in front of ${end}. */
static uint32_t count_children(const struct field *fields, uint32_t index, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t i = index + 1; i < end; i = fields[i].end) {
        count++;
    }
    return count;
}

/* End lists and groups that continue after the first ${count} fields there. */
static void close_fields(struct field *fields, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        if (fields[i].end > count) {
            fields[i].end = count;
            fields[i].count = count_children(fields, i, count);
        }
    }
}

/* The payload after the first ${count} fields. A length in front of the next value, and a NUL after
 * the last one, are part of it. */
static struct span rest_behind(const struct event *event, uint32_t count)
{
    struct span payload = event->record->payload;
    for (uint32_t i = count; i-- > 0;) {
        const struct field *field = &event->fields[i];
        bool is_whole = field->end <= count;
        uintptr_t start = (uintptr_t)payload.data;
        uintptr_t at = (uintptr_t)field->data;
        if (payload.data && field->data && at >= start && at <= start + payload.size) {
            size_t offset = at - start + (is_whole ? field->size : 0);
            return span_from(payload, offset);
        }
    }
    return payload;
}

const struct event *event_cut_values(struct event_cut *cut, uint32_t count)
{
    const struct event *whole = cut->whole;
    count = count < whole->field_count ? count : whole->field_count;
    if (!cut->fields) {
        cut->fields = malloc((whole->field_count + 1) * sizeof(*cut->fields));
    }
    if (!cut->fields) {
        return NULL;
    }
    if (count) {
        memcpy(cut->fields, whole->fields, count * sizeof(*cut->fields));
    }
    close_fields(cut->fields, count);
    struct event *event = begin(cut, "its values are too long to ship whole");
    event->fields = cut->fields;
    event->field_count = count;
    event->rest = whole->edits ? span_make(NULL, 0) : rest_behind(whole, count);
    return event;
}

const struct event *event_cut_all(struct event_cut *cut)
{
    struct event *event = begin(cut, "its values are too long to ship");
    event->fields = NULL;
    event->field_count = 0;
    event->rest = span_make(NULL, 0);
    event->stack_count = 0;
    return event;
}
