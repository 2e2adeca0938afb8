#include "event/otel/otel_value.h"

#include "base/bytes.h"
#include "base/put.h"
#include "event/value/value_put.h"

/* How and where a value is written. */
struct target {
    const struct otel_codec *codec;
    const struct value_context *context;
    const struct event *event;
    struct buf *out;
};

/* The name in a JSON key of a schema, `,"Name":`. */
static struct span bare(struct span json_key)
{
    enum { BEFORE = 2, BEHIND = 2 };
    return span_make(json_key.data + BEFORE, json_key.size - BEFORE - BEHIND);
}

/* ---- one value ------------------------------------------------------------------------------- */

static void add_text(
    const struct target *t, enum otel_place place, struct span key, struct span utf8)
{
    struct otel_open open;
    if (t->codec->open_text(t->out, place, key, utf8.size * 3, utf8_json_bound(utf8.size), &open)) {
        t->out->size += utf8_to_json(utf8, t->out->data + t->out->size);
        t->codec->close_text(t->out, &open);
    }
}

/* As the native event shows it, without quotes. */
static void add_shown(const struct target *t, enum otel_place place, struct span key,
    const struct schema_field *schema, struct span bytes, size_t most, bool is_plain)
{
    struct otel_open open;
    if (t->codec->open_text(t->out, place, key, most, value_put_room(bytes.size), &open)) {
        uint8_t *p = t->out->data + t->out->size;
        p = value_put_text(t->context, p, schema, bytes);
        t->out->size = (size_t)(p - t->out->data);
        open.is_plain = is_plain;
        t->codec->close_text(t->out, &open);
    }
}

static void add_utf16(const struct target *t, enum otel_place place, struct span key,
    const struct schema_field *schema, struct span bytes)
{
    struct otel_open open;
    if (schema->may_hold_nul) {
        bytes.size = utf16_until_nul(bytes);
    }
    if (t->codec->open_text(
            t->out, place, key, bytes.size / 2 * 3, utf16_json_bound(bytes.size), &open)) {
        t->out->size += t->codec->put_utf16(bytes, t->out->data + t->out->size);
        open.is_plain = true;
        t->codec->close_text(t->out, &open);
    }
}

static double real_of(const struct schema_field *schema, const uint8_t *data)
{
    if (schema->form == FORM_FLOAT) {
        uint32_t bits = load_le32(data);
        float value;
        memcpy(&value, &bits, sizeof(value));
        return (double)value;
    }
    uint64_t bits = load_le64(data);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* SOCKADDR_IN and SOCKADDR_IN6 as value_put.c shows them: an object. */
static void add_socket(
    const struct target *t, enum otel_place place, struct span key, struct span bytes)
{
    enum { INET = 2, INET6 = 23 };
    struct otel_open open;
    struct otel_open text;
    unsigned family = bytes.size >= 2 ? load_le16(bytes.data) : bytes.size ? bytes.data[0] : 0;
    bool is_inet = family == INET && bytes.size >= 8;
    bool is_known = is_inet || (family == INET6 && bytes.size >= 24);
    t->codec->open_members(t->out, place, key, &open);
    if (is_known &&
        t->codec->open_text(t->out, OTEL_MEMBER, span_text("address"), PUT_MAX, PUT_MAX, &text)) {
        uint8_t *p = t->out->data + t->out->size;
        p = is_inet ? put_ipv4(p, bytes.data + 4) : put_ipv6(p, bytes.data + 8);
        t->out->size = (size_t)(p - t->out->data);
        t->codec->close_text(t->out, &text);
        t->codec->number(
            t->out, OTEL_MEMBER, span_text("port"), (int64_t)load_be16(bytes.data + 2));
    }
    if (bytes.size) {
        t->codec->number(t->out, OTEL_MEMBER, span_text("family"), (int64_t)family);
    }
    uint32_t scope_id = is_known && !is_inet && bytes.size >= 28 ? load_le32(bytes.data + 24) : 0;
    if (scope_id) {
        t->codec->number(t->out, OTEL_MEMBER, span_text("scope_id"), (int64_t)scope_id);
    }
    if (bytes.size && !is_known) {
        t->codec->bytes(t->out, OTEL_MEMBER, span_text("raw"), bytes);
    }
    t->codec->close(t->out, &open);
}

/* Values that are text if they are valid for their type, else bytes. */
static bool is_sound(const struct schema_field *schema, struct span bytes)
{
    uint8_t text[256];
    uint8_t *end = text;
    switch (schema->form) {
    case FORM_SID:
        return put_sid(&end, bytes);
    case FORM_SYSTEMTIME:
    case FORM_SYSTEMTIME_UTC:
        return put_systemtime(&end, bytes.data);
    case FORM_IPV6:
        return bytes.size == 16;
    default:
        return true;
    }
}

static int64_t signed_of(const struct schema_field *schema, struct span bytes)
{
    uint64_t value = load_le(bytes.data, bytes.size);
    switch (bytes.size) {
    case 1:
        return (int8_t)value;
    case 2:
        return (int16_t)value;
    case 4:
        return (int32_t)value;
    default:
        (void)schema;
        return (int64_t)value;
    }
}

static void add_other(const struct target *t, enum otel_place place, struct span key,
    const struct schema_field *schema, struct span bytes)
{
    enum { LONGEST_FIXED = 200 }; /* a SID of 15 subauthorities */
    switch (schema->form) {
    case FORM_UTF16:
    case FORM_CHAR16:
        add_utf16(t, place, key, schema, bytes);
        return;
    case FORM_UTF8:
    case FORM_ANSI:
    case FORM_CHAR8:
        add_shown(t, place, key, schema, bytes, bytes.size * 3, false);
        return;
    case FORM_FLOAT:
    case FORM_DOUBLE:
        t->codec->real(t->out, place, key, real_of(schema, bytes.data));
        return;
    case FORM_SOCKET_ADDRESS:
        add_socket(t, place, key, bytes);
        return;
    case FORM_WMI_TIME:
        if (!t->context->clock) {
            otel_codec_unsigned(t->codec, t->out, place, key, load_le64(bytes.data), false);
            return;
        }
        break;
    case FORM_NONE:
    case FORM_BINARY:
        t->codec->bytes(t->out, place, key, bytes);
        return;
    default:
        if (!is_sound(schema, bytes)) {
            t->codec->bytes(t->out, place, key, bytes);
            return;
        }
        break;
    }
    add_shown(t, place, key, schema, bytes, LONGEST_FIXED, true);
}

static inline void add_value(const struct target *t, enum otel_place place, struct span key,
    const struct schema_field *schema, struct span bytes)
{
    const uint8_t *data = bytes.data;
    switch (schema->form) {
    case FORM_UINT8:
    case FORM_UINT16:
    case FORM_UINT32:
    case FORM_NTSTATUS:
    case FORM_WIN32_ERROR:
        t->codec->number(t->out, place, key, (int64_t)load_le(data, bytes.size));
        return;
    case FORM_PORT:
        t->codec->number(t->out, place, key, (int64_t)load_be16(data));
        return;
    case FORM_UINT64:
    case FORM_POINTER_INT:
        otel_codec_unsigned(
            t->codec, t->out, place, key, load_le(data, bytes.size), t->context->uint64_strings);
        return;
    case FORM_INT8:
    case FORM_INT16:
    case FORM_INT32:
    case FORM_INT64:
    case FORM_POINTER_SINT:
        t->codec->number(t->out, place, key, signed_of(schema, bytes));
        return;
    case FORM_HRESULT:
        t->codec->number(t->out, place, key,
            schema->in_type == IN_INT32 ? (int32_t)load_le32(data) : (int64_t)load_le32(data));
        return;
    case FORM_BOOL8:
    case FORM_BOOL16:
    case FORM_BOOL32:
        t->codec->truth(t->out, place, key, load_le(data, bytes.size) != 0);
        return;
    case FORM_HEX8:
    case FORM_HEX16:
    case FORM_HEX32:
    case FORM_HEX64:
    case FORM_POINTER:
        otel_codec_hex(t->codec, t->out, place, key, load_le(data, bytes.size));
        return;
    default:
        add_other(t, place, key, schema, bytes);
    }
}

/* ---- names of values ------------------------------------------------------------------------- */

static bool is_bit_map(const struct schema_map *map)
{
    return map && map->kind == MAP_BITS;
}

/* Names of the bits that are set, in the order of the map; other bits in hex. */
static void add_bit_names(const struct target *t, enum otel_place place, struct span key,
    const struct schema_map *map, uint64_t value)
{
    struct otel_open open;
    uint64_t left = value;
    t->codec->open_list(t->out, place, key, &open);
    for (size_t i = 0; i < map->entry_count && !t->out->failed; i++) {
        const struct schema_map_entry *entry = &map->entries[i];
        if (schema_map_entry_is_in(entry, value)) {
            add_text(t, OTEL_ELEMENT, span_make(NULL, 0), entry->text);
            left &= ~entry->value;
        }
    }
    if (left) {
        otel_codec_hex(t->codec, t->out, OTEL_ELEMENT, span_make(NULL, 0), left);
    }
    t->codec->close(t->out, &open);
}

/* A list of names as long as the array of values; a value without a name is written itself. */
static void add_name_list(
    const struct target *t, enum otel_place place, struct span key, const struct field *field)
{
    struct otel_open open;
    t->codec->open_list(t->out, place, key, &open);
    for (uint32_t i = 0; i < field->count && !t->out->failed; i++) {
        struct span bytes = event_element(field, i);
        struct span name = value_json_name(field->schema, bytes, NULL);
        if (name.data) {
            add_text(t, OTEL_ELEMENT, span_make(NULL, 0), name);
        } else {
            add_shown(t, OTEL_ELEMENT, span_make(NULL, 0), field->schema, bytes, PUT_MAX, false);
        }
    }
    t->codec->close(t->out, &open);
}

/* Not for doubles: those encode NaN and the infinities themselves. */
static void add_name(const struct target *t, enum otel_place place, const struct field *field)
{
    const struct schema_field *schema = field->schema;
    struct span bytes = span_make(field->data, field->size);
    struct span key = bare(schema->name_key);
    if (schema->form == FORM_FLOAT || schema->form == FORM_DOUBLE) {
        return;
    }
    if (field->shape == FIELD_PACKED) {
        if (!is_bit_map(schema->map) && !schema_is_text(schema) && value_json_any_named(field)) {
            add_name_list(t, place, key, field);
        }
        return;
    }
    if (is_bit_map(schema->map) && bytes.size <= 8) {
        add_bit_names(t, place, key, schema->map, load_le(bytes.data, bytes.size));
        return;
    }
    struct span name = value_json_name(schema, bytes, t->context->names);
    if (name.data) {
        add_text(t, place, key, name);
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void add_packed(
    const struct target *t, enum otel_place place, struct span key, const struct field *field)
{
    struct otel_open open;
    t->codec->open_list(t->out, place, key, &open);
    for (uint32_t i = 0; i < field->count && !t->out->failed; i++) {
        add_value(t, OTEL_ELEMENT, span_make(NULL, 0), field->schema, event_element(field, i));
    }
    t->codec->close(t->out, &open);
}

static void add_fields(const struct target *t, enum otel_place place, uint32_t first, uint32_t end);

/* fields[${index}] of any shape, without a member for its name. Recursion is limited by
 * SCHEMA_MAX_DEPTH. */
static void add_shape(
    const struct target *t, enum otel_place place, struct span key, uint32_t index)
{
    const struct field *field = &t->event->fields[index];
    struct otel_open open;
    switch (field->shape) {
    case FIELD_VALUE:
        add_value(t, place, key, field->schema, span_make(field->data, field->size));
        return;
    case FIELD_PACKED:
        if (schema_is_text(field->schema)) {
            add_value(t, place, key, field->schema, span_make(field->data, field->size));
        } else {
            add_packed(t, place, key, field);
        }
        return;
    case FIELD_ARRAY:
        t->codec->open_list(t->out, place, key, &open);
        for (uint32_t i = index + 1; i < field->end && !t->out->failed;
             i = t->event->fields[i].end) {
            add_shape(t, OTEL_ELEMENT, span_make(NULL, 0), i);
        }
        t->codec->close(t->out, &open);
        return;
    default:
        t->codec->open_members(t->out, place, key, &open);
        add_fields(t, OTEL_MEMBER, index + 1, field->end);
        t->codec->close(t->out, &open);
    }
}

static void add_fields(const struct target *t, enum otel_place place, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end && !t->out->failed; i = t->event->fields[i].end) {
        const struct field *field = &t->event->fields[i];
        if (!field->size && !value_json_present(field)) {
            continue;
        }
        struct span key = bare(field->schema->json_key);
        if (field->shape == FIELD_VALUE) {
            add_value(t, place, key, field->schema, span_make(field->data, field->size));
        } else {
            add_shape(t, place, key, i);
        }
        bool is_one = field->shape == FIELD_VALUE || field->shape == FIELD_PACKED;
        if (is_one && field->schema->name_key.size) {
            add_name(t, place, field);
        }
    }
}

void otel_value_add_fields(const struct otel_codec *codec, const struct value_context *context,
    const struct event *event, struct buf *out)
{
    const struct target target = {codec, context, event, out};
    add_fields(&target, OTEL_RECORD, 0, event->field_count);
}
