#include <math.h>

#include "base/put.h"
#include "base/text/base64.h"
#include "base/utf.h"
#include "event/otel/otel_codec.h"

/*
 * OTLP/JSON ("OTLP Specification", JSON Protobuf Encoding; ProtoJSON of protobuf.dev): names in
 * lowerCamelCase, numbers of 64 bits as strings, bytes as base64, enums as numbers.
 *
 * Each member of a list is written after a comma; the first comma becomes the bracket.
 */
enum { AROUND_ROOM = 128 };

#define END_OF_RECORD "}]}]}]}\n"

static bool has_key(enum otel_place place)
{
    return place != OTEL_ELEMENT && place != OTEL_BODY;
}

/* Everything before a value. NULL: no room for it and ${room} more. */
static uint8_t *begin(struct buf *out, enum otel_place place, struct span key, size_t room)
{
    if (!buf_reserve(out, AROUND_ROOM + key.size + room)) {
        return NULL;
    }
    uint8_t *p = out->data + out->size;
    if (place == OTEL_BODY) {
        return put_literal(p, ",\"body\":");
    }
    if (place == OTEL_ELEMENT) {
        *p++ = ',';
        return p;
    }
    p = put_literal(p, ",{\"key\":\"");
    p = put_span(p, key);
    return put_literal(p, "\",\"value\":");
}

static void end(struct buf *out, uint8_t *p, enum otel_place place)
{
    *p++ = '}';
    if (has_key(place)) {
        *p++ = '}';
    }
    out->size = (size_t)(p - out->data);
}

static void json_number(struct buf *out, enum otel_place place, struct span key, int64_t value)
{
    uint8_t *p = begin(out, place, key, PUT_MAX);
    if (p) {
        p = put_literal(p, "{\"intValue\":\"");
        p = put_i64(p, value);
        *p++ = '"';
        end(out, p, place);
    }
}

static uint8_t *put_real(uint8_t *p, double value)
{
    if (isfinite(value)) {
        return put_double(p, value);
    }
    return isnan(value) ? put_literal(p, "\"NaN\"")
           : value < 0  ? put_literal(p, "\"-Infinity\"")
                        : put_literal(p, "\"Infinity\"");
}

static void json_real(struct buf *out, enum otel_place place, struct span key, double value)
{
    uint8_t *p = begin(out, place, key, PUT_MAX);
    if (p) {
        p = put_literal(p, "{\"doubleValue\":");
        end(out, put_real(p, value), place);
    }
}

static void json_truth(struct buf *out, enum otel_place place, struct span key, bool value)
{
    uint8_t *p = begin(out, place, key, PUT_MAX);
    if (p) {
        p = put_literal(p, "{\"boolValue\":");
        end(out, value ? put_literal(p, "true") : put_literal(p, "false"), place);
    }
}

static void json_bytes(struct buf *out, enum otel_place place, struct span key, struct span value)
{
    uint8_t *p = begin(out, place, key, 0);
    if (p) {
        p = put_literal(p, "{\"bytesValue\":\"");
        out->size = (size_t)(p - out->data);
        base64_write(out, value);
        buf_add_text(out, has_key(place) ? "\"}}" : "\"}");
    }
}

static bool json_open_text(struct buf *out, enum otel_place place, struct span key, size_t most,
    size_t room, struct otel_open *ret_open)
{
    (void)most;
    uint8_t *p = begin(out, place, key, room);
    if (!p) {
        return false;
    }
    p = put_literal(p, "{\"stringValue\":\"");
    out->size = (size_t)(p - out->data);
    *ret_open = (struct otel_open){.width = has_key(place)};
    return true;
}

static void json_close_text(struct buf *out, const struct otel_open *open)
{
    buf_add_text(out, open->width ? "\"}}" : "\"}");
}

static void open_values(struct buf *out, enum otel_place place, struct span key, const char *start,
    struct otel_open *ret_open)
{
    uint8_t *p = begin(out, place, key, 0);
    if (p) {
        out->size = (size_t)(p - out->data);
    }
    buf_add_text(out, start);
    *ret_open = (struct otel_open){.content = out->size, .width = has_key(place)};
}

static void json_open_list(
    struct buf *out, enum otel_place place, struct span key, struct otel_open *ret_open)
{
    open_values(out, place, key, "{\"arrayValue\":{\"values\":", ret_open);
}

static void json_open_members(
    struct buf *out, enum otel_place place, struct span key, struct otel_open *ret_open)
{
    open_values(out, place, key, "{\"kvlistValue\":{\"values\":", ret_open);
}

/* The first comma of the list that begins at ${at} becomes the bracket. */
static void close_list(struct buf *out, size_t at)
{
    if (out->failed) {
        return;
    }
    if (out->size == at) {
        buf_add_byte(out, '[');
    } else {
        out->data[at] = '[';
    }
    buf_add_byte(out, ']');
}

static void json_close(struct buf *out, const struct otel_open *open)
{
    close_list(out, open->content);
    buf_add_text(out, open->width ? "}}}" : "}}");
}

static void json_open_resource(struct buf *out, struct otel_open *ret_open)
{
    buf_add_text(out, "{\"resourceLogs\":[{\"resource\":{\"attributes\":");
    *ret_open = (struct otel_open){.content = out->size};
}

static void json_close_resource(struct buf *out, const struct otel_open *open)
{
    close_list(out, open->content);
    buf_add_text(out, "},\"scopeLogs\":[{\"scope\":");
}

/* `"key":"text"`, escaped. */
static void add_member(struct buf *out, const char *key, struct span utf8)
{
    if (buf_reserve(out, AROUND_ROOM + utf8_json_bound(utf8.size))) {
        buf_add_text(out, key);
        out->size += utf8_to_json(utf8, out->data + out->size);
        buf_add_byte(out, '"');
    }
}

static void json_scope(struct buf *out, struct span name, struct span version)
{
    add_member(out, "{\"name\":\"", name);
    if (version.size) {
        add_member(out, ",\"version\":\"", version);
    }
    buf_add_text(out, "},\"logRecords\":[{");
}

static void json_times(struct buf *out, uint64_t time, uint64_t observed)
{
    if (!buf_reserve(out, AROUND_ROOM)) {
        return;
    }
    uint8_t *p = put_literal(out->data + out->size, "\"timeUnixNano\":\"");
    p = put_u64(p, time);
    if (observed) {
        p = put_literal(p, "\",\"observedTimeUnixNano\":\"");
        p = put_u64(p, observed);
    }
    *p++ = '"';
    out->size = (size_t)(p - out->data);
}

static void json_severity(struct buf *out, unsigned number, struct span text)
{
    if (number) {
        buf_add_text(out, ",\"severityNumber\":");
        buf_add_u64(out, number);
    }
    if (text.size) {
        add_member(out, ",\"severityText\":\"", text);
    }
}

static void json_event_name(struct buf *out, struct span name)
{
    if (name.size) {
        add_member(out, ",\"eventName\":\"", name);
    }
}

static void json_open_attributes(struct buf *out, struct otel_frame *frame)
{
    buf_add_text(out, ",\"attributes\":");
    frame->attributes = out->size;
}

static void json_end(struct buf *out, const struct otel_frame *frame)
{
    if (frame->attributes) {
        close_list(out, frame->attributes);
    } else {
        buf_add_byte(out, ']');
    }
    buf_add_text(out, END_OF_RECORD);
}

/* Every record has attributes, which are its last member. */
static bool json_reopen(struct buf *out, struct otel_frame *ret_frame)
{
    static const char tail[] = "]" END_OF_RECORD;
    size_t size = sizeof(tail) - 1;
    if (out->failed || out->size < size || memcmp(out->data + out->size - size, tail, size) != 0) {
        return false;
    }
    out->size -= size;
    *ret_frame = (struct otel_frame){.attributes = 0}; /* the list has its bracket */
    return true;
}

const struct otel_codec otel_json = {
    .number = json_number,
    .real = json_real,
    .truth = json_truth,
    .bytes = json_bytes,
    .put_utf16 = utf16_to_json,
    .open_text = json_open_text,
    .close_text = json_close_text,
    .open_list = json_open_list,
    .open_members = json_open_members,
    .close = json_close,
    .open_resource = json_open_resource,
    .close_resource = json_close_resource,
    .scope = json_scope,
    .times = json_times,
    .severity = json_severity,
    .event_name = json_event_name,
    .open_attributes = json_open_attributes,
    .end = json_end,
    .reopen = json_reopen,
};
