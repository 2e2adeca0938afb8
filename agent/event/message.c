#include "base/put.h"
#include "event/event_writer_internal.h"

/*
 * Message templates with FormatMessage inserts ("Message text files" and FormatMessage on
 * learn.microsoft.com): %1 … %99 is the n-th top-level property, optionally followed by !format!,
 * which says nothing here since inserts are text already. The template was JSON-escaped
 * beforehand: escaping leaves `%`, letters and digits alone.
 */

/* Index of the ${number}-th (from 1) top-level field, or UINT32_MAX. */
static uint32_t top_field(const struct event *event, unsigned number)
{
    uint32_t index = 0;
    for (unsigned n = 1; n < number && index < event->field_count; n++) {
        index = event->fields[index].end;
    }
    return index < event->field_count ? index : UINT32_MAX;
}

/* The insert that starts at at[1]; the first byte behind it. */
static const uint8_t *render_insert(const struct value_context *values, const struct event *event,
    const uint8_t *at, const uint8_t *end, struct buf *out)
{
    const uint8_t *start = at++;
    unsigned number = (unsigned)(*at++ - '0');
    if (at < end && *at >= '0' && *at <= '9') {
        number = number * 10 + (unsigned)(*at++ - '0');
    }
    if (at < end && *at == '!') {
        const uint8_t *close = memchr(at + 1, '!', (size_t)(end - at - 1));
        at = close ? close + 1 : at;
    }
    uint32_t index = top_field(event, number);
    if (index == UINT32_MAX) {
        buf_add(out, start, (size_t)(at - start));
    } else {
        value_json_text(values, event, index, out);
    }
    return at;
}

void event_message_render(const struct value_context *values, const struct event *event,
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
            /* The escape of whatever follows: not ours to split. */
            buf_add_byte(out, '%');
            at += 1;
            continue;
        default:
            buf_add_byte(out, code);
            break;
        }
        at += 2;
    }
}
