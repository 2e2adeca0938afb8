#include "outputs/loki/loki_proto.h"

#include "base/protobuf.h"
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

/* The key of a message or text of up to ${most} bytes, and the place of its length. */
struct place {
    size_t at;
    unsigned width;
};

static struct place open_field(struct buf *out, unsigned number, size_t most)
{
    static const uint8_t zeros[PROTOBUF_MAX_WIDTH];
    struct place place = {.width = protobuf_width(most)};
    buf_add_byte(out, PROTOBUF_KEY(number, PROTOBUF_BYTES));
    place.at = out->size;
    buf_add(out, zeros, place.width);
    return place;
}

static void close_field(struct buf *out, struct place place)
{
    if (!out->failed) {
        protobuf_put_length(out->data + place.at, place.width, out->size - place.at - place.width);
    }
}

static void add_field(struct buf *out, unsigned number, struct span bytes)
{
    if (buf_reserve(out, 1 + PROTOBUF_VARINT_MAX + bytes.size)) {
        uint8_t *p = out->data + out->size;
        *p++ = PROTOBUF_KEY(number, PROTOBUF_BYTES);
        out->size = (size_t)(protobuf_put_bytes(p, bytes) - out->data);
    }
}

/* ---- entries ------------------------------------------------------------------------------------- */

static void add_time(struct buf *out, int64_t nanos)
{
    const int64_t second = 1000000000;
    uint8_t text[2 * (1 + PROTOBUF_VARINT_MAX)];
    uint8_t *p = text;
    *p++ = PROTOBUF_KEY(TIME_SECONDS, PROTOBUF_VARINT);
    p = protobuf_put_varint(p, (uint64_t)(nanos / second));
    *p++ = PROTOBUF_KEY(TIME_NANOS, PROTOBUF_VARINT);
    p = protobuf_put_varint(p, (uint64_t)(nanos % second));
    add_field(out, ENTRY_TIME, span_make(text, (size_t)(p - text)));
}

/* ${text} stands in JSON; without its escapes it is no longer. */
static void add_pair(struct buf *out, const char *name, struct span text)
{
    enum { AROUND = 2 * (1 + PROTOBUF_MAX_WIDTH) };
    struct place pair = open_field(out, ENTRY_METADATA, AROUND + strlen(name) + text.size);
    add_field(out, PAIR_NAME, span_text(name));
    struct place value = open_field(out, PAIR_VALUE, text.size);
    json_member_text(text, out);
    close_field(out, value);
    close_field(out, pair);
}

static void write_entry(struct loki_frame *frame, const struct loki_entry *entry)
{
    struct buf *out = &frame->body;
    struct span texts[LOKI_PLACE_COUNT];
    struct place place = open_field(out, STREAM_ENTRIES, SIZE_MAX);
    add_time(out, entry->nanos);
    add_field(out, ENTRY_LINE, entry->line);
    loki_event_texts(entry->line, texts);
    for (size_t i = 0; i < LOKI_PLACE_COUNT; i++) {
        if (texts[i].size && loki_frame_is_metadata(frame, entry->stream, i)) {
            add_pair(out, loki_event_name(i), texts[i]);
        }
    }
    close_field(out, place);
}

/* ---- streams ------------------------------------------------------------------------------------- */

/* `{job="etwship",host="PC"}`: names and texts of LogQL. What utf8_to_json escapes, and how, is what a string of
 * Go may have. */
static void add_labels(struct loki_frame *frame, struct span labels)
{
    struct buf *out = &frame->body;
    struct buf *text = &frame->labels_text;
    struct place place = open_field(out, STREAM_LABELS, SIZE_MAX);
    struct span name;
    struct span value;
    buf_reset(text);
    buf_add_byte(text, '{');
    buf_add_span(text, labels);
    buf_add_byte(text, '}');
    size_t object = text->size;
    buf_reserve(text, 3 * object); /* below, what it holds is read while it grows */
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
        if (buf_reserve(out, utf8_json_bound(plain.size))) {
            out->size += utf8_to_json(plain, out->data + out->size);
        }
        buf_add_byte(out, '"');
    }
    buf_add_byte(out, '}');
    out->failed = out->failed || text->failed;
    close_field(out, place);
}

/* A stream with entries [first, end). */
static void write_stream(struct loki_frame *frame, size_t first, size_t end)
{
    struct place place = open_field(&frame->body, PUSH_STREAMS, SIZE_MAX);
    add_labels(frame, frame->list[frame->entries[first].stream]->labels);
    for (size_t i = first; i < end; i++) {
        write_entry(frame, &frame->entries[i]);
    }
    close_field(&frame->body, place);
}

/* ---- Snappy ---------------------------------------------------------------------------------------- */

/*
 * How many bytes there are, a tag of a literal whose length has four bytes, and this length less one
 * (format_description.txt of Snappy, sections 1 and 2.1).
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
        buf_add_byte(&frame->body, 0); /* nothing, and no literal has it */
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
