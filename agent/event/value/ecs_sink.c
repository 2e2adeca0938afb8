#include "event/value/ecs_sink.h"

#include "base/put.h"
#include "base/utf.h"

static bool is_kept(const struct ecs_sink *sink, struct span value)
{
    for (uint32_t i = 0; i < sink->count && i < ECS_SINK_KEPT; i++) {
        if (span_equal(
                value, span_make(sink->out->data + sink->kept[i].start, sink->kept[i].size))) {
            return true;
        }
    }
    return false;
}

size_t ecs_sink_begin(struct ecs_sink *sink)
{
    if (sink->is_list && sink->count) {
        buf_add_byte(sink->out, ',');
    }
    return sink->out->size;
}

void ecs_sink_end(struct ecs_sink *sink, size_t start)
{
    struct buf *out = sink->out;
    if (!sink->is_list || out->failed) {
        return;
    }
    struct span value = span_make(out->data + start, out->size - start);
    if (is_kept(sink, value)) {
        out->size = start - 1; /* with its comma: it cannot be the first one */
        return;
    }
    if (sink->count < ECS_SINK_KEPT) {
        sink->kept[sink->count].start = start;
        sink->kept[sink->count].size = value.size;
    }
    sink->count++;
}

void ecs_sink_end_any(struct ecs_sink *sink)
{
    sink->count++;
}

void ecs_sink_string(struct buf *out, struct span utf8)
{
    if (buf_reserve(out, utf8_json_bound(utf8.size) + 2)) {
        out->data[out->size++] = '"';
        out->size += utf8_to_json(utf8, out->data + out->size);
        out->data[out->size++] = '"';
    }
}

bool ecs_sink_text(struct ecs_sink *sink, struct span utf8)
{
    if (utf8.size == 0 || span_is(utf8, "-")) {
        return false;
    }
    size_t start = ecs_sink_begin(sink);
    ecs_sink_string(sink->out, utf8);
    ecs_sink_end(sink, start);
    return true;
}

bool ecs_sink_number(struct ecs_sink *sink, uint64_t number)
{
    if (number > INT64_MAX) {
        return false;
    }
    size_t start = ecs_sink_begin(sink);
    if (buf_reserve(sink->out, PUT_MAX)) {
        uint8_t *p = sink->out->data + sink->out->size;
        sink->out->size += (size_t)(put_u64(p, number) - p);
    }
    ecs_sink_end(sink, start);
    return true;
}

bool ecs_sink_lower(struct ecs_sink *sink, struct span utf8)
{
    if (utf8.size == 0 || span_is(utf8, "-")) {
        return false;
    }
    size_t start = ecs_sink_begin(sink);
    ecs_sink_string(sink->out, utf8);
    /* Escapes are in lower case already. */
    for (size_t i = start; i < sink->out->size; i++) {
        uint8_t c = sink->out->data[i];
        sink->out->data[i] = c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
    }
    ecs_sink_end(sink, start);
    return true;
}

bool ecs_sink_truth(struct ecs_sink *sink, bool truth)
{
    size_t start = ecs_sink_begin(sink);
    buf_add_text(sink->out, truth ? "true" : "false");
    ecs_sink_end(sink, start);
    return true;
}
