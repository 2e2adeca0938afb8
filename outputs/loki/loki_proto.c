#include "outputs/loki/loki_proto.h"

#include "base/protobuf_buf.h"
#include "base/utf.h"
#include "outputs/json_member.h"
#include "outputs/loki/loki_event.h"

/* Numbers of fields: pkg/push/push.proto. */
enum {
    PUSH_STREAMS = 1,
    STREAM_LABELS = 1,
    STREAM_ENTRIES = 2,
    ENTRY_TIME = 1,
    ENTRY_LINE = 2,
    ENTRY_METADATA = 3,
    TIME_SECONDS = 1,
    TIME_NANOS = 2,
    PAIR_NAME = 1,
    PAIR_VALUE = 2,
};

/* ---- entries --------------------------------------------------------------------------------- */

static void add_time(struct buf *out, int64_t nanos)
{
    const int64_t second = 1000000000;
    struct protobuf_place place = protobuf_buf_open(out, ENTRY_TIME, 2 * (1 + PROTOBUF_VARINT_MAX));
    protobuf_buf_varint(out, TIME_SECONDS, (uint64_t)(nanos / second));
    protobuf_buf_varint(out, TIME_NANOS, (uint64_t)(nanos % second));
    protobuf_buf_close(out, place);
}

/* ${text} is escaped JSON; unescaped it is not longer. */
static void add_pair(struct buf *out, const char *name, struct span text)
{
    enum { AROUND = 2 * (1 + PROTOBUF_MAX_WIDTH) };
    struct protobuf_place pair = protobuf_buf_open(
        out, ENTRY_METADATA, AROUND + strlen(name) + text.size);
    protobuf_buf_bytes(out, PAIR_NAME, span_text(name));
    struct protobuf_place value = protobuf_buf_open(out, PAIR_VALUE, text.size);
    json_member_text(text, out);
    protobuf_buf_close(out, value);
    protobuf_buf_close(out, pair);
}

static void write_entry(struct loki_frame *frame, const struct loki_entry *entry)
{
    struct buf *out = &frame->body;
    struct span texts[LOKI_PLACE_COUNT];
    struct protobuf_place place = protobuf_buf_open(out, STREAM_ENTRIES, SIZE_MAX);
    add_time(out, entry->nanos);
    protobuf_buf_bytes(out, ENTRY_LINE, entry->line);
    loki_event_texts(entry->line, texts);
    for (size_t i = 0; i < LOKI_PLACE_COUNT; i++) {
        if (texts[i].size && loki_frame_is_metadata(frame, entry->stream, i)) {
            add_pair(out, loki_event_name(i), texts[i]);
        }
    }
    protobuf_buf_close(out, place);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* `{job="etwship",host="PC"}`: names and texts of LogQL. The escapes of utf8_to_json are valid in
 * strings of Go. */
static void add_labels(struct loki_frame *frame, struct span labels)
{
    struct buf *out = &frame->body;
    struct buf *text = &frame->labels_text;
    struct protobuf_place place = protobuf_buf_open(out, STREAM_LABELS, SIZE_MAX);
    struct span name;
    struct span value;
    buf_reset(text);
    buf_add_byte(text, '{');
    buf_add_span(text, labels);
    buf_add_byte(text, '}');
    size_t object = text->size;
    buf_reserve(text, 3 * object); /* the loop reads and appends to it: it must not move */
    buf_add_byte(out, '{');
    for (size_t at = 0; json_member_next(span_first(buf_span(text), object), &at, &name, &value);) {
        struct span inner = value;
        json_member_inner(value, &inner);
        if (out->size && out->data[out->size - 1] != '{') {
            buf_add_byte(out, ',');
        }
        buf_add_span(out, name);
        buf_add_text(out, "=\"");
        text->size = object;
        json_member_text(inner, text);
        struct span plain = span_from(buf_span(text), object);
        buf_add_json(out, plain);
        buf_add_byte(out, '"');
    }
    buf_add_byte(out, '}');
    out->failed = out->failed || text->failed;
    protobuf_buf_close(out, place);
}

/* A stream with entries [first, end). */
static void write_stream(struct loki_frame *frame, size_t first, size_t end)
{
    struct protobuf_place place = protobuf_buf_open(&frame->body, PUSH_STREAMS, SIZE_MAX);
    add_labels(frame, frame->list[frame->entries[first].stream]->labels);
    for (size_t i = first; i < end; i++) {
        write_entry(frame, &frame->entries[i]);
    }
    protobuf_buf_close(&frame->body, place);
}

/* ---- Snappy ---------------------------------------------------------------------------------- */

/*
 * Snappy without compression: the size, the tag of a literal whose length has four bytes, and that
 * length minus one (format_description.txt of Snappy, sections 1 and 2.1).
 */
enum {
    SNAPPY_LITERAL = 63 << 2,
    SNAPPY_LENGTH = sizeof(uint32_t),
    SNAPPY_HEAD = 5 + 1 + SNAPPY_LENGTH
};

static void put_head(struct buf *out)
{
    size_t size = out->size - SNAPPY_HEAD;
    uint8_t *p = out->data;
    p = protobuf_put_length(p, 5, size);
    *p++ = SNAPPY_LITERAL;
    store_le32(p, (uint32_t)(size - 1));
}

void loki_proto_write(struct loki_frame *frame, size_t first, size_t end)
{
    static const uint8_t head[SNAPPY_HEAD];
    if (first == end) {
        buf_add_byte(&frame->body, 0); /* no bytes: a literal holds at least one */
        return;
    }
    buf_add(&frame->body, head, sizeof(head));
    for (size_t at = first, next = first; at < end; at = next) {
        while (next < end && frame->entries[next].stream == frame->entries[at].stream) {
            next++;
        }
        write_stream(frame, at, next);
    }
    if (!frame->body.failed) {
        put_head(&frame->body);
    }
}
