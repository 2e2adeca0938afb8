#include "outputs/loki/loki_frame.h"

#include <stdlib.h>

#include "base/put.h"
#include "base/rfc3339.h"
#include "base/utf.h"
#include "outputs/json_member.h"

enum {
    BODY_MAX_BYTES = 512 * 1024 * 1024,
    LABELS_MAX_BYTES = 16 * 1024,
    TEXTS_MAX_BYTES = 64 * 1024 * 1024,
    LABEL_MAX_BYTES = 1024, /* of a value: Loki takes 2048 */
};

struct loki_stream {
    struct span labels; /* `"job":"etwship",…` */
    uint32_t index;
};

static const char overflow_labels[] = "\"job\":\"etwship\",\"overflow\":\"true\"";

bool loki_frame_init(struct loki_frame *frame, unsigned labels, size_t max_streams)
{
    *frame = (struct loki_frame){.labels = labels, .max_streams = max_streams};
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

/* ---- what an event says ------------------------------------------------------------------------------ */

/* Where labels and metadata stand in the native event. */
static const struct place {
    const char *object;
    const char *member;
    const char *name; /* at Loki */
} places[] = {
    [LOKI_HOST] = {"host", "name", "host"},
    [LOKI_PROVIDER] = {"provider", "name", "provider"},
    [LOKI_CHANNEL] = {"event", "channel_name", "channel"},
    [LOKI_LEVEL] = {"event", "level", "level"},
    [LOKI_SESSION] = {"etw", "session", "session"},
    {"provider", "guid", "provider_guid"},
    {"event", "code", "event_code"},
    {"event", "name", "event_name"},
    {"event", "task_name", "task"},
    {"event", "opcode_name", "opcode"},
    {"process", "pid", "process_pid"},
    {"process", "name", "process_name"},
    {"etw", "sequence", "sequence"},
};

enum { PLACE_COUNT = sizeof(places) / sizeof(places[0]) };

static const char *const objects[] = {"host", "provider", "event", "etw", "process"};

enum { OBJECT_COUNT = sizeof(objects) / sizeof(objects[0]) };

/* Words that Grafana knows. */
static struct span level_word(struct span level)
{
    static const char *const words[] = {"critical", "error", "warning", "info", "debug"};
    unsigned number = level.size == 1 ? (unsigned)(level.data[0] - '1') : UINT32_MAX;
    return number < sizeof(words) / sizeof(words[0]) ? span_text(words[number])
                                                     : span_make(NULL, 0);
}

/* The text of a string or number, escaped as it stands there, cut so that no escape and no character is. */
static struct span text_of(struct span value)
{
    struct span text = value;
    json_member_inner(value, &text);
    if (text.size > LABEL_MAX_BYTES) {
        size_t size = LABEL_MAX_BYTES - 12; /* two \uXXXX */
        for (size_t back = 0; back < 12 && (text.data[size] & 0xc0) == 0x80; back++) {
            size--;
        }
        for (size_t i = size < 6 ? 0 : size - 6; i < size; i++) {
            if (text.data[i] == '\\') {
                size = i;
                while (size && text.data[size - 1] == '\\') {
                    size--;
                }
            }
        }
        text.size = size;
    }
    return text;
}

/* The texts of all places; empty ones where there is none. */
static void read_places(struct span line, struct span ret_texts[PLACE_COUNT])
{
    struct span found[OBJECT_COUNT];
    for (size_t i = 0; i < OBJECT_COUNT; i++) {
        found[i] = json_member_find(line, objects[i]);
    }
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        size_t object = 0;
        while (strcmp(objects[object], places[i].object) != 0) {
            object++;
        }
        ret_texts[i] = text_of(json_member_find(found[object], places[i].member));
    }
    ret_texts[LOKI_LEVEL] = level_word(ret_texts[LOKI_LEVEL]);
}

static void add_member(struct buf *out, const char *name, struct span text)
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

/* Nanoseconds since 1970, as far as Loki has them; 0 before that. */
static bool time_of(struct span line, int64_t *ret_nanos)
{
    const uint64_t epoch = UINT64_C(116444736000000000);
    struct span text;
    uint64_t time = 0;
    if (!json_member_inner(json_member_find(line, "@timestamp"), &text)) {
        return false;
    }
    rfc3339_parse(
        text, &time); /* of a time that is none, as above the year 9999, there is no other */
    uint64_t ticks = time > epoch ? time - epoch : 0;
    *ret_nanos = ticks > INT64_MAX / 100 ? INT64_MAX : (int64_t)(ticks * 100);
    return true;
}

/* ---- streams ----------------------------------------------------------------------------------------- */

static struct loki_stream *add_stream(struct loki_frame *frame, struct span labels)
{
    struct span kept;
    struct loki_stream *stream = arena_alloc(&frame->texts, sizeof(*stream));
    if (!stream || !arena_copy(&frame->texts, labels, &kept) ||
        !map_put(&frame->streams, kept, stream)) {
        return NULL;
    }
    *stream = (struct loki_stream){.labels = kept, .index = (uint32_t)frame->stream_count};
    frame->list[frame->stream_count++] = stream;
    return stream;
}

/* The stream with these labels; where there are too many, that of overflow. */
static struct loki_stream *stream_of(struct loki_frame *frame, const struct span texts[PLACE_COUNT])
{
    struct buf *out = &frame->labels_text;
    struct span overflow = span_text(overflow_labels);
    buf_reset(out);
    buf_add_text(out, "\"job\":\"etwship\"");
    for (unsigned i = 0; i < LOKI_LABEL_COUNT; i++) {
        if (frame->labels >> i & 1) {
            add_member(out, places[i].name, texts[i]);
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

static int by_stream_and_time(const void *a_, const void *b_)
{
    const struct loki_entry *a = a_;
    const struct loki_entry *b = b_;
    if (a->stream != b->stream) {
        return a->stream < b->stream ? -1 : 1;
    }
    if (a->nanos != b->nanos) {
        return a->nanos < b->nanos ? -1 : 1;
    }
    return (a->record > b->record) - (a->record < b->record);
}

static bool reserve(struct loki_frame *frame, size_t count)
{
    if (count > frame->entry_capacity) {
        struct loki_entry *entries = realloc(frame->entries, count * sizeof(*entries));
        if (!entries) {
            return false;
        }
        frame->entries = entries;
        frame->entry_capacity = count;
    }
    frame->entry_count = 0;
    return true;
}

static struct span without_end(struct span line)
{
    line.size -= line.size && line.data[line.size - 1] == '\n';
    return line;
}

bool loki_frame_sort(struct loki_frame *frame, const struct http_piece *piece, size_t *ret_culprit)
{
    const struct delivery *delivery = piece->delivery;
    struct span texts[PLACE_COUNT];
    *ret_culprit = HTTP_PIECES_UNKNOWN;
    if (!reserve(frame, piece->count)) {
        return false;
    }
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        if (piece->statuses[i] != RECORD_RETRY) {
            continue;
        }
        uint32_t start = i ? delivery->record_ends[i - 1] : 0;
        struct loki_entry entry = {.record = (uint32_t)i,
            .line = without_end(
                span_make(delivery->bytes.data + start, delivery->record_ends[i] - start))};
        if (!time_of(entry.line, &entry.nanos)) {
            *ret_culprit = i;
            return false;
        }
        read_places(entry.line, texts);
        struct loki_stream *stream = stream_of(frame, texts);
        if (!stream) {
            return false;
        }
        entry.stream = stream->index;
        frame->entries[frame->entry_count++] = entry;
    }
    if (frame->entry_count) {
        qsort(frame->entries, frame->entry_count, sizeof(*frame->entries), by_stream_and_time);
    }
    return true;
}

size_t loki_frame_stream_end(const struct loki_frame *frame, size_t first)
{
    size_t end = first;
    while (end < frame->entry_count && frame->entries[end].stream == frame->entries[first].stream) {
        end++;
    }
    return end;
}

/* ---- writing ----------------------------------------------------------------------------------------- */

/* `["<nanoseconds>","<line>",{"<name>":"<text>"}]` */
static void write_entry(struct loki_frame *frame, const struct loki_entry *entry)
{
    enum { AROUND = 64 };
    struct buf *out = &frame->body;
    struct span texts[PLACE_COUNT];
    if (!buf_reserve(out, PUT_MAX + utf8_json_bound(entry->line.size) + AROUND)) {
        return;
    }
    uint8_t *p = put_literal(out->data + out->size, "[\"");
    p = put_i64(p, entry->nanos);
    p = put_literal(p, "\",\"");
    p += utf8_to_json(entry->line, p);
    p = put_literal(p, "\",{");
    out->size = (size_t)(p - out->data);
    bool has_overflowed = span_is(frame->list[entry->stream]->labels, overflow_labels);
    read_places(entry->line, texts);
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        bool is_label = i < LOKI_LABEL_COUNT && (frame->labels >> i & 1) && !has_overflowed;
        if (!is_label) {
            add_member(out, places[i].name, texts[i]);
        }
    }
    buf_add_text(out, "}]");
}

bool loki_frame_write(struct loki_frame *frame, size_t first, size_t end)
{
    struct buf *out = &frame->body;
    buf_reset(out);
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
    return !out->failed;
}
