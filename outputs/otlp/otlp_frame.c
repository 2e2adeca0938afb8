#include "outputs/otlp/otlp_frame.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/protobuf_buf.h"
#include "outputs/json_member.h"

/*
 * Records are linked by scope, scopes by resource; a hash of both texts finds them. Sizes are
 * computed before writing, so that each length has the shortest encoding.
 */
enum { BODY_MAX_BYTES = 512 * 1024 * 1024 };

static const uint32_t NONE = UINT32_MAX; /* no index */

/* Numbers of fields: opentelemetry/proto/logs/v1/logs.proto. */
enum { FIRST = 1, SECOND = 2 };

struct otlp_record {
    struct span bytes;
    uint32_t next; /* next record of the scope */
};

struct otlp_scope {
    struct span resource;
    struct span scope;
    uint64_t hash;
    uint32_t first; /* first record */
    uint32_t last;
    uint32_t same_resource; /* next scope of the resource; NONE: none */
    bool leads;             /* first scope of its resource */
    size_t size;            /* protobuf: size of the message */
};

/* A parsed record. */
struct parts {
    struct span resource;
    struct span scope;
    struct span record;
};

void otlp_frame_init(struct otlp_frame *frame, enum otlp_protocol protocol)
{
    frame->protocol = protocol;
    buf_init(&frame->body, BODY_MAX_BYTES);
}

void otlp_frame_fini(struct otlp_frame *frame)
{
    buf_fini(&frame->body);
    free(frame->records);
    free(frame->scopes);
    free(frame->slots);
}

/* ---- taking apart ---------------------------------------------------------------------------- */

static bool take(struct span *message, uint32_t number, struct span *ret_bytes)
{
    struct protobuf_field field;
    if (!protobuf_next(message, &field) || field.number != number || field.wire != PROTOBUF_BYTES) {
        return false;
    }
    *ret_bytes = field.bytes;
    return true;
}

/* A line break after a message would parse as the key of a field. */
static bool split_proto(struct span bytes, struct parts *ret_parts)
{
    struct span logs;
    struct span scopes;
    if (bytes.size == 0 || bytes.data[bytes.size - 1] != '\n') {
        return false;
    }
    bytes.size--;
    return take(&bytes, FIRST, &logs) && bytes.size == 0 &&
           take(&logs, FIRST, &ret_parts->resource) && take(&logs, SECOND, &scopes) &&
           logs.size == 0 && take(&scopes, FIRST, &ret_parts->scope) &&
           take(&scopes, SECOND, &ret_parts->record) && scopes.size == 0;
}

/* The content of a list, which begins with an object. */
static bool inside(struct span list, struct span *ret_inside)
{
    if (list.size < 4 || list.data[0] != '[' || list.data[1] != '{' ||
        list.data[list.size - 1] != ']') {
        return false;
    }
    *ret_inside = span_make(list.data + 1, list.size - 2);
    return true;
}

static bool split_json(struct span line, struct parts *ret_parts)
{
    struct span logs;
    struct span scopes;
    if (line.size == 0 || line.data[0] != '{' ||
        !inside(json_member_find(line, "resourceLogs"), &logs)) {
        return false;
    }
    ret_parts->resource = json_member_find(logs, "resource");
    if (!inside(json_member_find(logs, "scopeLogs"), &scopes)) {
        return false;
    }
    ret_parts->scope = json_member_find(scopes, "scope");
    return ret_parts->resource.size && ret_parts->scope.size &&
           inside(json_member_find(scopes, "logRecords"), &ret_parts->record);
}

/* ---- putting together ------------------------------------------------------------------------ */

static uint64_t hash_of(uint64_t hash, struct span bytes)
{
    const uint8_t *p = bytes.data;
    size_t left = bytes.size;
    for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), p += sizeof(uint64_t)) {
        hash = (hash ^ load_le64(p)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    for (; left; left--) {
        hash = (hash ^ *p++) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash ^ hash >> 29;
}

static bool is_of(const struct otlp_scope *scope, const struct parts *parts, uint64_t hash)
{
    return scope->hash == hash && span_equal(scope->resource, parts->resource) &&
           span_equal(scope->scope, parts->scope);
}

static bool reserve(struct otlp_frame *frame, size_t records)
{
    if (records > frame->record_capacity) {
        size_t slot_count = 64;
        while (slot_count < 2 * records) {
            slot_count *= 2;
        }
        if (!grow_array(&frame->records, records, sizeof(*frame->records)) ||
            !grow_array(&frame->scopes, records, sizeof(*frame->scopes)) ||
            !grow_array(&frame->slots, slot_count, sizeof(*frame->slots))) {
            return false;
        }
        frame->slot_count = slot_count;
        frame->record_capacity = records;
    }
    memset(frame->slots, 0, frame->slot_count * sizeof(*frame->slots));
    frame->scope_count = 0;
    frame->count = 0;
    return true;
}

/* Add a scope, linked to those of its resource. Only the latest resources are searched; a resource
 * that is not found is written again, which is valid. */
static struct otlp_scope *add_scope(
    struct otlp_frame *frame, const struct parts *parts, uint64_t hash)
{
    enum { LOOKED_AT = 64 };
    size_t index = frame->scope_count++;
    struct otlp_scope *scope = &frame->scopes[index];
    *scope = (struct otlp_scope){.resource = parts->resource,
        .scope = parts->scope,
        .hash = hash,
        .first = NONE,
        .last = NONE,
        .same_resource = NONE,
        .leads = true};
    for (size_t i = index; i-- > 0 && index - i <= LOOKED_AT;) {
        struct otlp_scope *before = &frame->scopes[i];
        if (span_equal(before->resource, parts->resource)) {
            scope->same_resource = before->same_resource;
            scope->leads = false;
            before->same_resource = (uint32_t)index;
            break;
        }
    }
    return scope;
}

static struct otlp_scope *find_scope(struct otlp_frame *frame, const struct parts *parts)
{
    uint64_t hash = hash_of(hash_of(parts->resource.size, parts->resource), parts->scope);
    for (size_t i = hash & (frame->slot_count - 1);; i = (i + 1) & (frame->slot_count - 1)) {
        if (!frame->slots[i]) {
            struct otlp_scope *scope = add_scope(frame, parts, hash);
            frame->slots[i] = (uint32_t)frame->scope_count;
            return scope;
        }
        struct otlp_scope *scope = &frame->scopes[frame->slots[i] - 1];
        if (is_of(scope, parts, hash)) {
            return scope;
        }
    }
}

static void add_record(struct otlp_frame *frame, struct otlp_scope *scope, struct span bytes)
{
    uint32_t index = (uint32_t)frame->count++;
    frame->records[index] = (struct otlp_record){.bytes = bytes, .next = NONE};
    if (scope->last == NONE) {
        scope->first = index;
    } else {
        frame->records[scope->last].next = index;
    }
    scope->last = index;
}

/* ---- protobuf -------------------------------------------------------------------------------- */

/* Bytes of a field that is ${size} bytes long. */
static size_t field_size(size_t size)
{
    return 1 + protobuf_varint_size(size) + size;
}

static void add_head(struct buf *out, unsigned number, size_t size)
{
    uint8_t head[1 + PROTOBUF_VARINT_MAX] = {PROTOBUF_KEY(number, PROTOBUF_BYTES)};
    buf_add(out, head, (size_t)(protobuf_put_varint(head + 1, size) - head));
}

static void measure(struct otlp_frame *frame, struct otlp_scope *scope)
{
    scope->size = field_size(scope->scope.size);
    for (uint32_t i = scope->first; i != NONE; i = frame->records[i].next) {
        scope->size += field_size(frame->records[i].bytes.size);
    }
}

static void write_proto(struct otlp_frame *frame, const struct otlp_scope *lead)
{
    struct buf *out = &frame->body;
    size_t size = field_size(lead->resource.size);
    for (const struct otlp_scope *s = lead;; s = &frame->scopes[s->same_resource]) {
        size += field_size(s->size);
        if (s->same_resource == NONE) {
            break;
        }
    }
    add_head(out, FIRST, size);
    protobuf_buf_bytes(out, FIRST, lead->resource);
    for (const struct otlp_scope *s = lead;; s = &frame->scopes[s->same_resource]) {
        add_head(out, SECOND, s->size);
        protobuf_buf_bytes(out, FIRST, s->scope);
        for (uint32_t i = s->first; i != NONE; i = frame->records[i].next) {
            protobuf_buf_bytes(out, SECOND, frame->records[i].bytes);
        }
        if (s->same_resource == NONE) {
            break;
        }
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_json(struct otlp_frame *frame, const struct otlp_scope *lead)
{
    struct buf *out = &frame->body;
    buf_add_text(out, out->size ? ",{\"resource\":" : "{\"resourceLogs\":[{\"resource\":");
    buf_add_span(out, lead->resource);
    buf_add_text(out, ",\"scopeLogs\":[");
    for (const struct otlp_scope *s = lead;; s = &frame->scopes[s->same_resource]) {
        buf_add_text(out, s == lead ? "{\"scope\":" : ",{\"scope\":");
        buf_add_span(out, s->scope);
        buf_add_text(out, ",\"logRecords\":[");
        for (uint32_t i = s->first; i != NONE; i = frame->records[i].next) {
            buf_add_text(out, i == s->first ? "" : ",");
            buf_add_span(out, frame->records[i].bytes);
        }
        buf_add_text(out, "]}");
        if (s->same_resource == NONE) {
            break;
        }
    }
    buf_add_text(out, "]}");
}

/* ---- a piece --------------------------------------------------------------------------------- */

static enum otlp_frame_result collect(
    struct otlp_frame *frame, const struct http_piece *piece, size_t *ret_actor)
{
    const struct delivery *delivery = piece->delivery;
    struct parts parts;
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        if (!http_piece_holds(piece, i)) {
            continue;
        }
        uint32_t start = i ? delivery->record_ends[i - 1] : 0;
        struct span bytes = span_make(
            delivery->bytes.data + start, delivery->record_ends[i] - start);
        if (!(frame->protocol == OTLP_JSON ? split_json(bytes, &parts)
                                           : split_proto(bytes, &parts))) {
            *ret_actor = i;
            return OTLP_NO_RECORD;
        }
        add_record(frame, find_scope(frame, &parts), parts.record);
    }
    return OTLP_FRAMED;
}

enum otlp_frame_result otlp_frame_write(
    struct otlp_frame *frame, const struct http_piece *piece, size_t *ret_actor)
{
    buf_reset(&frame->body);
    if (!reserve(frame, piece->count)) {
        return OTLP_NO_MEMORY;
    }
    enum otlp_frame_result result = collect(frame, piece, ret_actor);
    if (result != OTLP_FRAMED) {
        return result;
    }
    bool is_json = frame->protocol == OTLP_JSON;
    for (size_t i = 0; !is_json && i < frame->scope_count; i++) {
        measure(frame, &frame->scopes[i]);
    }
    for (size_t i = 0; i < frame->scope_count; i++) {
        if (frame->scopes[i].leads) {
            (is_json ? write_json : write_proto)(frame, &frame->scopes[i]);
        }
    }
    if (is_json) {
        buf_add_text(&frame->body, frame->scope_count ? "]}" : "{}");
    }
    return frame->body.failed ? OTLP_NO_MEMORY : OTLP_FRAMED;
}
