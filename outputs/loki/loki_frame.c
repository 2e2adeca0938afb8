#include "outputs/loki/loki_frame.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/order.h"
#include "outputs/loki/loki_event.h"
#include "outputs/loki/loki_json.h"
#include "outputs/loki/loki_proto.h"

enum {
    BODY_MAX_BYTES = 512 * 1024 * 1024,
    LABELS_MAX_BYTES = 32 * 1024,
    TEXTS_MAX_BYTES = 64 * 1024 * 1024,
};

#define SLICE_NS (INT64_C(1800) * 1000000000)

static const char overflow_labels[] = "\"job\":\"etwship\",\"overflow\":\"true\"";

bool loki_frame_init(
    struct loki_frame *frame, enum loki_encoding encoding, unsigned labels, size_t max_streams)
{
    *frame = (struct loki_frame){
        .encoding = encoding, .labels = labels, .max_streams = max_streams};
    arena_init(&frame->texts, TEXTS_MAX_BYTES);
    map_init(&frame->streams, max_streams + 1);
    buf_init(&frame->labels_text, LABELS_MAX_BYTES);
    buf_init(&frame->body, BODY_MAX_BYTES);
    frame->list = calloc(max_streams + 1, sizeof(struct loki_stream *));
    return frame->list != NULL;
}

void loki_frame_fini(struct loki_frame *frame)
{
    arena_fini(&frame->texts);
    map_fini(&frame->streams);
    buf_fini(&frame->labels_text);
    buf_fini(&frame->body);
    free(frame->entries);
    free(frame->list);
}

/* ---- streams --------------------------------------------------------------------------------- */

static struct loki_stream *add_stream(struct loki_frame *frame, struct span labels)
{
    struct span kept;
    struct loki_stream *stream = arena_alloc(&frame->texts, sizeof(*stream));
    if (!stream || !arena_copy(&frame->texts, labels, &kept) ||
        !map_put(&frame->streams, kept, stream)) {
        return NULL;
    }
    *stream = (struct loki_stream){.labels = kept,
        .index = (uint32_t)frame->stream_count,
        .has_overflowed = span_is(labels, overflow_labels)};
    frame->list[frame->stream_count++] = stream;
    return stream;
}

/* The stream with these labels; beyond the limit, the overflow stream. */
static struct loki_stream *stream_of(
    struct loki_frame *frame, const struct span texts[LOKI_PLACE_COUNT])
{
    struct buf *out = &frame->labels_text;
    struct span overflow = span_text(overflow_labels);
    buf_reset(out);
    buf_add_text(out, "\"job\":\"etwship\"");
    for (unsigned i = 0; i < LOKI_LABEL_COUNT; i++) {
        if (frame->labels >> i & 1) {
            loki_json_member(out, loki_event_name(i), texts[i]);
        }
    }
    struct loki_stream *stream = out->failed ? NULL : map_get(&frame->streams, buf_span(out));
    if (!stream && !out->failed && frame->stream_count < frame->max_streams) {
        stream = add_stream(frame, buf_span(out));
    }
    if (!stream) {
        frame->has_overflowed = true;
        stream = map_get(&frame->streams, overflow);
    }
    return stream ? stream : add_stream(frame, overflow);
}

static int by_slice_stream_and_time(const void *a_, const void *b_)
{
    const struct loki_entry *a = a_;
    const struct loki_entry *b = b_;
    int order = order_u64(a->slice, b->slice);
    order = order ? order : order_u64(a->stream, b->stream);
    order = order ? order : (a->nanos > b->nanos) - (a->nanos < b->nanos);
    return order ? order : order_u64(a->record, b->record);
}

static bool reserve(struct loki_frame *frame, size_t count)
{
    frame->entry_count = 0;
    return grow_to(&frame->entries, count, &frame->entry_capacity, sizeof(*frame->entries));
}

static struct span without_end(struct span line)
{
    line.size -= line.size && line.data[line.size - 1] == '\n';
    return line;
}

/* Slices are counted from the earliest entry. */
static void cut_into_slices(struct loki_frame *frame)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < frame->entry_count; i++) {
        first = frame->entries[i].nanos < first ? frame->entries[i].nanos : first;
    }
    for (size_t i = 0; i < frame->entry_count; i++) {
        frame->entries[i].slice = (uint32_t)((frame->entries[i].nanos - first) / SLICE_NS);
    }
}

bool loki_frame_sort(struct loki_frame *frame, const struct http_piece *piece,
    const enum loki_state *states, size_t *ret_actor)
{
    const struct delivery *delivery = piece->delivery;
    struct span texts[LOKI_PLACE_COUNT];
    *ret_actor = HTTP_PIECES_UNKNOWN;
    if (!reserve(frame, piece->count)) {
        return false;
    }
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        if (!http_piece_holds(piece, i) || states[i] != LOKI_OPEN) {
            continue;
        }
        uint32_t start = i ? delivery->record_ends[i - 1] : 0;
        struct loki_entry entry = {.record = (uint32_t)i,
            .line = without_end(
                span_make(delivery->bytes.data + start, delivery->record_ends[i] - start))};
        if (!loki_event_time(entry.line, &entry.nanos)) {
            *ret_actor = i;
            return false;
        }
        loki_event_texts(entry.line, texts);
        struct loki_stream *stream = stream_of(frame, texts);
        if (!stream) {
            return false;
        }
        entry.stream = stream->index;
        frame->entries[frame->entry_count++] = entry;
    }
    if (frame->entry_count) {
        cut_into_slices(frame);
        qsort(
            frame->entries, frame->entry_count, sizeof(*frame->entries), by_slice_stream_and_time);
    }
    return true;
}

size_t loki_frame_slice_end(const struct loki_frame *frame, size_t first)
{
    size_t end = first;
    while (end < frame->entry_count && frame->entries[end].slice == frame->entries[first].slice) {
        end++;
    }
    return end;
}

size_t loki_frame_stream_end(const struct loki_frame *frame, size_t first)
{
    size_t end = first;
    while (end < frame->entry_count && frame->entries[end].slice == frame->entries[first].slice &&
           frame->entries[end].stream == frame->entries[first].stream) {
        end++;
    }
    return end;
}

bool loki_frame_is_metadata(const struct loki_frame *frame, uint32_t stream, size_t place)
{
    bool is_label = place < LOKI_LABEL_COUNT && (frame->labels >> place & 1);
    return !is_label || frame->list[stream]->has_overflowed;
}

bool loki_frame_write(struct loki_frame *frame, size_t first, size_t end)
{
    buf_reset(&frame->body);
    (frame->encoding == LOKI_JSON ? loki_json_write : loki_proto_write)(frame, first, end);
    return !frame->body.failed;
}
