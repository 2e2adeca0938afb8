#include "base/protobuf.h"
#include "base/text/json_escape.h"
#include "base/utf.h"
#include "event/otel/otel_codec.h"

/*
 * OTLP in protobuf (opentelemetry/proto/{logs,common,resource}/v1). Written front to back, without
 * a tree of objects: lengths have a fixed width (base/protobuf.h) and are filled in after their
 * content.
 */

/* Numbers of fields. */
enum {
    LOGS_RESOURCE_LOGS = 1,
    RESOURCE_LOGS_RESOURCE = 1,
    RESOURCE_LOGS_SCOPE_LOGS = 2,
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_LOGS_SCOPE = 1,
    SCOPE_LOGS_RECORDS = 2,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    RECORD_TIME = 1,
    RECORD_SEVERITY_NUMBER = 2,
    RECORD_SEVERITY_TEXT = 3,
    RECORD_BODY = 5,
    RECORD_ATTRIBUTES = 6,
    RECORD_OBSERVED = 11,
    RECORD_EVENT_NAME = 12,
    PAIR_KEY = 1,
    PAIR_VALUE = 2,
    VALUE_STRING = 1,
    VALUE_BOOL = 2,
    VALUE_INT = 3,
    VALUE_DOUBLE = 4,
    VALUE_ARRAY = 5,
    VALUE_MEMBERS = 6,
    VALUE_BYTES = 7,
};

/* Keys, and lengths of full width, around a value. */
enum { AROUND_ROOM = 64 };

static const uint8_t place_keys[] = {
    [OTEL_RECORD] = PROTOBUF_KEY(RECORD_ATTRIBUTES, PROTOBUF_BYTES),
    [OTEL_RESOURCE] = PROTOBUF_KEY(RESOURCE_ATTRIBUTES, PROTOBUF_BYTES),
    [OTEL_MEMBER] = PROTOBUF_KEY(1, PROTOBUF_BYTES),
    [OTEL_ELEMENT] = PROTOBUF_KEY(1, PROTOBUF_BYTES),
    [OTEL_BODY] = PROTOBUF_KEY(RECORD_BODY, PROTOBUF_BYTES),
};

static bool has_key(enum otel_place place)
{
    return place != OTEL_ELEMENT && place != OTEL_BODY;
}

/* ---- texts without their escapes ------------------------------------------------------------- */

/* Not 0: some of the eight bytes of ${word} is a backslash. */
static inline uint64_t backslashes(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t zeros = word ^ ones * '\\';
    return (zeros - ones) & ~zeros & ones << 7;
}

/* Most texts are so short that a call would take longer. */
static inline bool has_escape(const uint8_t *text, size_t size)
{
    enum { SHORT = 64, WORD = 8, HALF = 4 };
    if (size > SHORT) {
        return memchr(text, '\\', size) != NULL;
    }
    if (size >= WORD) {
        uint64_t found = backslashes(load_le64(text + size - WORD));
        for (size_t at = 0; at + WORD < size; at += WORD) {
            found |= backslashes(load_le64(text + at));
        }
        return found != 0;
    }
    if (size >= HALF) {
        return backslashes(load_le32(text) | (uint64_t)load_le32(text + size - HALF) << 32) != 0;
    }
    for (size_t at = 0; at < size; at++) {
        if (text[at] == '\\') {
            return true;
        }
    }
    return false;
}

/* Copy a text that is mostly short, in moves that may overlap. Has it a backslash? */
static inline bool copy_text(uint8_t *to, const uint8_t *from, size_t size)
{
    enum { LONG = 32, WORD = 8, HALF = 4 };
    if (size < HALF || size > LONG) {
        if (size) {
            memcpy(to, from, size);
        }
        return has_escape(from, size);
    }
    if (size < WORD) {
        uint32_t first = load_le32(from);
        uint32_t last = load_le32(from + size - HALF);
        store_le32(to, first);
        store_le32(to + size - HALF, last);
        return backslashes(first | (uint64_t)last << 32) != 0;
    }
    uint64_t first = load_le64(from);
    uint64_t last = load_le64(from + size - WORD);
    uint64_t found = backslashes(first) | backslashes(last);
    store_le64(to, first);
    store_le64(to + size - WORD, last);
    if (size > 2 * WORD) {
        first = load_le64(from + WORD);
        last = load_le64(from + size - 2 * WORD);
        found |= backslashes(first) | backslashes(last);
        store_le64(to + WORD, first);
        store_le64(to + size - 2 * WORD, last);
    }
    return found != 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A key is part of a definition, few of which have anything to escape. */
static inline uint8_t *put_key(uint8_t *p, struct span key)
{
    unsigned width = protobuf_width(key.size);
    *p++ = PROTOBUF_KEY(PAIR_KEY, PROTOBUF_BYTES);
    bool escaped = copy_text(p + width, key.data, key.size);
    size_t size = escaped ? json_escape_undo(p + width, key.size) : key.size;
    return protobuf_put_length(p, width, size) + size;
}

/* Write everything before a value of up to ${most} bytes, and reserve its lengths. NULL: no room
 * for it and ${room} more. */
static inline uint8_t *begin(struct buf *out, enum otel_place place, struct span key, size_t most,
    size_t room, struct otel_open *open)
{
    if (!buf_reserve(out, AROUND_ROOM + key.size + room)) {
        return NULL;
    }
    size_t around = key.size + AROUND_ROOM / 2;
    open->width = (uint8_t)protobuf_width(most < SIZE_MAX - around ? most + around : SIZE_MAX);
    open->is_plain = false;
    uint8_t *p = out->data + out->size;
    *p++ = place_keys[place];
    open->pair = (size_t)(p - out->data);
    open->value = open->pair;
    p += open->width;
    if (has_key(place)) {
        p = put_key(p, key);
        *p++ = PROTOBUF_KEY(PAIR_VALUE, PROTOBUF_BYTES);
        open->value = (size_t)(p - out->data);
        p += open->width;
    }
    return p;
}

static inline void fill(struct buf *out, size_t place, uint8_t width)
{
    protobuf_put_length(out->data + place, width, out->size - place - width);
}

/* The value ends at ${p}. */
static inline void end(struct buf *out, const uint8_t *p, const struct otel_open *open)
{
    out->size = (size_t)(p - out->data);
    fill(out, open->value, open->width);
    if (open->pair != open->value) {
        fill(out, open->pair, open->width);
    }
}

/* Begin a short pair, each length of which takes one byte. Returns where its value goes.
 * NULL: ${key} is too long, or there is no room. */
static inline uint8_t *begin_short(struct buf *out, enum otel_place place, struct span key)
{
    enum { SHORT = 64 };
    if (key.size > SHORT || !buf_reserve(out, AROUND_ROOM + SHORT)) {
        return NULL;
    }
    uint8_t *p = out->data + out->size;
    *p = place_keys[place];
    if (!has_key(place)) {
        return p + 2;
    }
    p = put_key(p + 2, key);
    *p = PROTOBUF_KEY(PAIR_VALUE, PROTOBUF_BYTES);
    return p + 2;
}

/* ${value}: what begin_short returned; it ends at ${p}. */
static inline void end_short(struct buf *out, uint8_t *value, const uint8_t *p)
{
    uint8_t *pair = out->data + out->size + 2;
    value[-1] = (uint8_t)(p - value);
    pair[-1] = (uint8_t)(p - pair);
    out->size = (size_t)(p - out->data);
}

static void proto_number(struct buf *out, enum otel_place place, struct span key, int64_t value)
{
    struct otel_open open = {.width = 1};
    uint8_t *start = begin_short(out, place, key);
    uint8_t *p = start ? start : begin(out, place, key, 0, 0, &open);
    if (!p) {
        return;
    }
    *p++ = PROTOBUF_KEY(VALUE_INT, PROTOBUF_VARINT);
    p = protobuf_put_varint(p, (uint64_t)value);
    if (start) {
        end_short(out, start, p);
    } else {
        end(out, p, &open);
    }
}

static void proto_real(struct buf *out, enum otel_place place, struct span key, double value)
{
    struct otel_open open;
    uint8_t *p = begin(out, place, key, 0, 0, &open);
    if (p) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof(bits));
        *p++ = PROTOBUF_KEY(VALUE_DOUBLE, PROTOBUF_FIXED64);
        store_le64(p, bits);
        end(out, p + sizeof(bits), &open);
    }
}

static void proto_truth(struct buf *out, enum otel_place place, struct span key, bool value)
{
    struct otel_open open;
    uint8_t *p = begin(out, place, key, 0, 0, &open);
    if (p) {
        *p++ = PROTOBUF_KEY(VALUE_BOOL, PROTOBUF_VARINT);
        *p++ = value;
        end(out, p, &open);
    }
}

static void proto_bytes(struct buf *out, enum otel_place place, struct span key, struct span value)
{
    struct otel_open open;
    uint8_t *p = begin(out, place, key, value.size, value.size, &open);
    if (p) {
        *p++ = PROTOBUF_KEY(VALUE_BYTES, PROTOBUF_BYTES);
        end(out, protobuf_put_bytes(p, value), &open);
    }
}

static bool proto_open_text(struct buf *out, enum otel_place place, struct span key, size_t most,
    size_t room, struct otel_open *ret_open)
{
    uint8_t *p = begin(out, place, key, most, room, ret_open);
    if (p) {
        *p++ = PROTOBUF_KEY(VALUE_STRING, PROTOBUF_BYTES);
        ret_open->content = (size_t)(p - out->data);
        out->size = ret_open->content + ret_open->width;
    }
    return p != NULL;
}

static void proto_close_text(struct buf *out, const struct otel_open *open)
{
    if (out->failed) {
        return;
    }
    size_t start = open->content + open->width;
    if (!open->is_plain) {
        out->size = start + json_escape_undo(out->data + start, out->size - start);
    }
    fill(out, open->content, open->width);
    end(out, out->data + out->size, open);
}

static void open_values(struct buf *out, enum otel_place place, struct span key, uint8_t number,
    struct otel_open *ret_open)
{
    uint8_t *p = begin(out, place, key, SIZE_MAX, 0, ret_open);
    if (p) {
        *p++ = PROTOBUF_KEY(number, PROTOBUF_BYTES);
        ret_open->content = (size_t)(p - out->data);
        out->size = ret_open->content + ret_open->width;
    }
}

static void proto_open_list(
    struct buf *out, enum otel_place place, struct span key, struct otel_open *ret_open)
{
    open_values(out, place, key, VALUE_ARRAY, ret_open);
}

static void proto_open_members(
    struct buf *out, enum otel_place place, struct span key, struct otel_open *ret_open)
{
    open_values(out, place, key, VALUE_MEMBERS, ret_open);
}

static void proto_close(struct buf *out, const struct otel_open *open)
{
    if (!out->failed) {
        fill(out, open->content, open->width);
        end(out, out->data + out->size, open);
    }
}

/* ---- the frame ------------------------------------------------------------------------------- */

/* The key of a message, and the place of its length. */
static void add_place(struct buf *out, unsigned number)
{
    static const uint8_t place[PROTOBUF_MAX_WIDTH];
    buf_add_byte(out, PROTOBUF_KEY(number, PROTOBUF_BYTES));
    buf_add(out, place, sizeof(place));
}

static void proto_open_resource(struct buf *out, struct otel_open *ret_open)
{
    add_place(out, LOGS_RESOURCE_LOGS);
    add_place(out, RESOURCE_LOGS_RESOURCE);
    *ret_open = (struct otel_open){
        .value = out->size - PROTOBUF_MAX_WIDTH, .width = PROTOBUF_MAX_WIDTH};
}

static void proto_close_resource(struct buf *out, const struct otel_open *open)
{
    if (!out->failed) {
        fill(out, open->value, open->width);
        add_place(out, RESOURCE_LOGS_SCOPE_LOGS);
    }
}

static void add_text(struct buf *out, unsigned number, struct span utf8)
{
    unsigned width = protobuf_width(utf8.size * 3);
    if (buf_reserve(out, AROUND_ROOM + utf8_json_bound(utf8.size))) {
        uint8_t *p = out->data + out->size;
        *p++ = PROTOBUF_KEY(number, PROTOBUF_BYTES);
        size_t size = json_escape_undo(p + width, utf8_to_json(utf8, p + width));
        p = protobuf_put_length(p, width, size) + size;
        out->size = (size_t)(p - out->data);
    }
}

static void proto_scope(struct buf *out, struct span name, struct span version)
{
    add_place(out, SCOPE_LOGS_SCOPE);
    size_t place = out->size - PROTOBUF_MAX_WIDTH;
    add_text(out, SCOPE_NAME, name);
    if (version.size) {
        add_text(out, SCOPE_VERSION, version);
    }
    if (!out->failed) {
        fill(out, place, PROTOBUF_MAX_WIDTH);
        add_place(out, SCOPE_LOGS_RECORDS);
    }
}

static uint8_t *put_time(uint8_t *p, unsigned number, uint64_t time)
{
    *p++ = PROTOBUF_KEY(number, PROTOBUF_FIXED64);
    store_le64(p, time);
    return p + sizeof(time);
}

static void proto_times(struct buf *out, uint64_t time, uint64_t observed)
{
    if (buf_reserve(out, AROUND_ROOM)) {
        uint8_t *p = put_time(out->data + out->size, RECORD_TIME, time);
        p = observed ? put_time(p, RECORD_OBSERVED, observed) : p;
        out->size = (size_t)(p - out->data);
    }
}

static void proto_severity(struct buf *out, unsigned number, struct span text)
{
    if (number) {
        buf_add_byte(out, PROTOBUF_KEY(RECORD_SEVERITY_NUMBER, PROTOBUF_VARINT));
        buf_add_byte(out, (uint8_t)number);
    }
    if (text.size) {
        add_text(out, RECORD_SEVERITY_TEXT, text);
    }
}

static void proto_event_name(struct buf *out, struct span name)
{
    if (name.size) {
        add_text(out, RECORD_EVENT_NAME, name);
    }
}

static void proto_open_attributes(struct buf *out, struct otel_frame *frame)
{
    frame->attributes = out->size;
}

static void proto_end(struct buf *out, const struct otel_frame *frame)
{
    if (!out->failed) {
        fill(out, frame->record, PROTOBUF_MAX_WIDTH);
        fill(out, frame->scope_logs, PROTOBUF_MAX_WIDTH);
        fill(out, frame->start + 1, PROTOBUF_MAX_WIDTH);
        buf_add_byte(out, '\n');
    }
}

/* Remove the field ${number}, the first one, from ${message}. */
static bool take(struct span *message, uint32_t number, struct span *ret_bytes)
{
    struct protobuf_field field;
    bool good = protobuf_next(message, &field) && field.number == number &&
                field.wire == PROTOBUF_BYTES;
    *ret_bytes = good ? field.bytes : span_make(NULL, 0);
    return good;
}

static bool proto_reopen(struct buf *out, struct otel_frame *ret_frame)
{
    struct span rest = buf_span(out);
    struct span logs;
    struct span resource;
    struct span scope_logs;
    struct span scope;
    struct span record;
    if (out->failed || !take(&rest, LOGS_RESOURCE_LOGS, &logs) || !span_is(rest, "\n") ||
        !take(&logs, RESOURCE_LOGS_RESOURCE, &resource) ||
        !take(&logs, RESOURCE_LOGS_SCOPE_LOGS, &scope_logs)) {
        return false;
    }
    struct span inner = scope_logs;
    if (!take(&inner, SCOPE_LOGS_SCOPE, &scope) || !take(&inner, SCOPE_LOGS_RECORDS, &record)) {
        return false;
    }
    out->size--;
    *ret_frame = (struct otel_frame){
        .scope_logs = (size_t)(scope_logs.data - out->data) - PROTOBUF_MAX_WIDTH,
        .record = (size_t)(record.data - out->data) - PROTOBUF_MAX_WIDTH};
    return true;
}

const struct otel_codec otel_proto = {
    .number = proto_number,
    .real = proto_real,
    .truth = proto_truth,
    .bytes = proto_bytes,
    .put_utf16 = utf16_to_utf8,
    .open_text = proto_open_text,
    .close_text = proto_close_text,
    .open_list = proto_open_list,
    .open_members = proto_open_members,
    .close = proto_close,
    .open_resource = proto_open_resource,
    .close_resource = proto_close_resource,
    .scope = proto_scope,
    .times = proto_times,
    .severity = proto_severity,
    .event_name = proto_event_name,
    .open_attributes = proto_open_attributes,
    .end = proto_end,
    .reopen = proto_reopen,
};
