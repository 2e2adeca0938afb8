#include "outputs/loki/loki_json.h"

#include "base/put.h"
#include "base/utf.h"
#include "outputs/loki/loki_event.h"

void loki_json_member(struct buf *out, const char *name, struct span text)
{
    if (text.size && buf_reserve(out, text.size + strlen(name) + 8)) {
        if (out->size && out->data[out->size - 1] != '{') {
            buf_add_byte(out, ',');
        }
        buf_printf(out, "\"%s\":\"", name);
        buf_add_span(out, text);
        buf_add_byte(out, '"');
    }
}

/* `["<nanoseconds>","<line>",{"<name>":"<text>"}]` */
static void write_entry(struct loki_frame *frame, const struct loki_entry *entry)
{
    enum { AROUND = 64 };
    struct buf *out = &frame->body;
    struct span texts[LOKI_PLACE_COUNT];
    if (!buf_reserve(out, PUT_MAX + utf8_json_bound(entry->line.size) + AROUND)) {
        return;
    }
    uint8_t *p = put_literal(out->data + out->size, "[\"");
    p = put_i64(p, entry->nanos);
    p = put_literal(p, "\",\"");
    p += utf8_to_json(entry->line, p);
    p = put_literal(p, "\",{");
    out->size = (size_t)(p - out->data);
    loki_event_texts(entry->line, texts);
    for (size_t i = 0; i < LOKI_PLACE_COUNT; i++) {
        if (loki_frame_is_metadata(frame, entry->stream, i)) {
            loki_json_member(out, loki_event_name(i), texts[i]);
        }
    }
    buf_add_text(out, "}]");
}

void loki_json_write(struct loki_frame *frame, size_t first, size_t end)
{
    struct buf *out = &frame->body;
    buf_add_text(out, "{\"streams\":[");
    for (size_t i = first; i < end; i++) {
        bool begins = i == first || frame->entries[i].stream != frame->entries[i - 1].stream;
        if (begins) {
            buf_add_text(out, i == first ? "{\"stream\":{" : "]},{\"stream\":{");
            buf_add_span(out, frame->list[frame->entries[i].stream]->labels);
            buf_add_text(out, "},\"values\":[");
        } else {
            buf_add_byte(out, ',');
        }
        write_entry(frame, &frame->entries[i]);
    }
    buf_add_text(out, first < end ? "]}]}" : "]}");
}
