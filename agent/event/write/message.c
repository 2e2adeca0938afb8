#include "base/put.h"
#include "event/write/event_writer_state.h"

/*
 * Message templates with FormatMessage inserts ("Message text files" and FormatMessage on
 * learn.microsoft.com): %1 … %99 is the n-th top-level property, optionally followed by !format!,
 * which is ignored, since inserts are text already. The template is JSON-escaped already: escaping
 * does not change `%`, letters and digits.
 */

/* A struct, also one that a rule has replaced: its members follow it still,
 * but are not to be shown. */
static bool is_struct(const struct field *field)
{
    return field->shape == FIELD_GROUP ||
           (field->shape == FIELD_VALUE && (field->schema->flags & FIELD_STRUCT) &&
               !field->schema->is_array);
}

/* Index of the ${number}-th (from 1) value, where a struct counts as its members; of one that a
 * rule has replaced, the struct's index. UINT32_MAX: there are fewer. */
static uint32_t leaf_field(const struct event *event, unsigned number)
{
    uint32_t replaced = 0;
    uint32_t replaced_end = 0;
    uint32_t index = 0;
    while (index < event->field_count) {
        const struct field *field = &event->fields[index];
        bool has_members = is_struct(field);
        if (!has_members && --number == 0) {
            return index < replaced_end ? replaced : index;
        }
        if (has_members && field->shape != FIELD_GROUP && index >= replaced_end) {
            replaced = index;
            replaced_end = field->end;
        }
        index = has_members ? index + 1 : field->end;
    }
    return UINT32_MAX;
}

/* Index of the ${number}-th (from 1) top-level field, or UINT32_MAX. */
static uint32_t top_field(const struct event *event, unsigned number)
{
    if (event->schema->inserts_are_leaves) {
        return leaf_field(event, number);
    }
    uint32_t index = 0;
    for (unsigned n = 1; n < number && index < event->field_count; n++) {
        index = event->fields[index].end;
    }
    return index < event->field_count ? index : UINT32_MAX;
}

/* What follows `!format!` at ${at}, a few characters of printf; ${at} if there is none. */
static const uint8_t *skip_format(const uint8_t *at, const uint8_t *end)
{
    enum { LONGEST = 16 };
    if (at == end || *at != '!') {
        return at;
    }
    size_t left = (size_t)(end - at - 1);
    const uint8_t *close = memchr(at + 1, '!', left < LONGEST ? left : LONGEST);
    for (const uint8_t *p = at + 1; close && p < close; p++) {
        bool fits = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
                    (*p >= 'A' && *p <= 'Z') || strchr("#+-. *", *p);
        close = fits ? close : NULL;
    }
    return close ? close + 1 : at;
}

/* Number of the insert whose `%` is at ${at}; ${ret_next} is the first byte after it. */
static unsigned parse_insert(const uint8_t *at, const uint8_t *end, const uint8_t **ret_next)
{
    unsigned number = (unsigned)(at[1] - '0');
    at += 2;
    if (at < end && *at >= '0' && *at <= '9') {
        number = number * 10 + (unsigned)(*at++ - '0');
    }
    *ret_next = skip_format(at, end);
    return number;
}

/* The text of an insert; false if the event has no such field. */
static bool add_insert(
    const struct value_context *values, const struct event *event, unsigned number, struct buf *out)
{
    uint32_t index = top_field(event, number);
    if (index != UINT32_MAX) {
        value_json_text(values, event, index, out);
    }
    return index != UINT32_MAX;
}

static const uint8_t *render_insert(const struct value_context *values, const struct event *event,
    const uint8_t *at, const uint8_t *end, struct buf *out)
{
    const uint8_t *next;
    unsigned number = parse_insert(at, end, &next);
    if (!add_insert(values, event, number, out)) {
        buf_add(out, at, (size_t)(next - at));
    }
    return next;
}

void event_message_compile(struct span message, struct message_parts *ret_parts)
{
    struct message_parts parts = {.count = 0};
    const uint8_t *at = message.data;
    const uint8_t *end = at + message.size;
    ret_parts->count = 0;
    ret_parts->wanted = 0;
    while (at < end) {
        const uint8_t *percent = memchr(at, '%', (size_t)(end - at));
        const uint8_t *stop = percent ? percent : end;
        bool is_insert = percent && end - percent >= 2 && percent[1] >= '1' && percent[1] <= '9';
        if ((percent && !is_insert) || parts.count == MESSAGE_MAX_PARTS) {
            return;
        }
        struct message_part *part = &parts.list[parts.count++];
        part->start = (uint32_t)(at - message.data);
        part->size = (uint32_t)(stop - at);
        at = stop;
        if (is_insert) {
            part->insert = parse_insert(stop, end, &at);
            part->end = (uint32_t)(at - message.data);
            parts.wanted |= part->insert <= VALUE_MARKS_MAX ? UINT64_C(1) << (part->insert - 1) : 0;
        }
    }
    *ret_parts = parts;
}

/* Add the text of a part, then that of its insert, which is in ${out} from ${start} to ${end}
 * already, without its quotes. */
static inline void add_marked(struct span text, size_t start, size_t end, struct buf *out)
{
    if (!buf_reserve(out, text.size + (end - start) + PUT_PADDING)) {
        return;
    }
    bool quoted = out->data[start] == '"';
    struct span insert = span_make(out->data + start + quoted, end - start - 2 * quoted);
    uint8_t *p = put_padded(put_padded(out->data + out->size, text), insert);
    out->size = (size_t)(p - out->data);
}

/* The message from a parsed template; fields in value_context.marks are copied. */
static void fill(const struct value_context *values, const struct event *event, struct span message,
    const struct message_parts *parts, struct buf *out)
{
    const struct value_marks *marks = values->marks;
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct message_part *part = &parts->list[i];
        struct span text = span_make(message.data + part->start, part->size);
        uint32_t n = part->insert - 1;
        if (n < VALUE_MARKS_MAX && (marks->marked >> n & 1)) {
            add_marked(text, marks->start[n], marks->end[n], out);
            continue;
        }
        buf_add_span(out, text);
        if (part->insert && !add_insert(values, event, part->insert, out)) {
            uint32_t written = part->start + part->size;
            buf_add(out, message.data + written, part->end - written);
        }
    }
}

/* The message from the template's text. */
static void render(const struct value_context *values, const struct event *event,
    struct span message, struct buf *out)
{
    const uint8_t *at = message.data;
    const uint8_t *end = at + message.size;
    while (at < end && !out->failed) {
        const uint8_t *percent = memchr(at, '%', (size_t)(end - at));
        const uint8_t *stop = percent ? percent : end;
        buf_add(out, at, (size_t)(stop - at));
        at = stop;
        if (at == end) {
            break;
        }
        if (end - at < 2) {
            buf_add_byte(out, '%');
            break;
        }
        uint8_t code = at[1];
        if (code == '0') {
            break;
        }
        if (code >= '1' && code <= '9') {
            at = render_insert(values, event, at, end, out);
            continue;
        }
        switch (code) {
        case 'n':
            buf_add_text(out, "\\n");
            break;
        case 't':
            buf_add_text(out, "\\t");
            break;
        case 'r':
            buf_add_text(out, "\\r");
            break;
        case 'b':
        case ' ':
            buf_add_byte(out, ' ');
            break;
        case '\\':
            /* The JSON escape that follows stays whole. */
            at += 1;
            continue;
        default:
            buf_add_byte(out, code);
            break;
        }
        at += 2;
    }
}

void event_message_add(const struct value_context *values, const struct event *event,
    const struct event_head *head, struct buf *out)
{
    struct span log_message = record_log_message(event->record);
    bool is_set = event->edits && event->edits->has_message;
    if (is_set || log_message.size) {
        struct span message = is_set ? event->edits->message : log_message;
        buf_add_json(out, message);
    } else if (event->schema->wpp) {
        wpp_format_render(values, event, out);
    } else if (head->parts && head->parts->count && values->marks &&
               !event->schema->inserts_are_leaves) {
        fill(values, event, head->message, head->parts, out);
    } else {
        render(values, event, head->message, out);
    }
}
