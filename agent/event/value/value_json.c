#include "event/value/value_json.h"

#include "base/bytes.h"
#include "base/put.h"
#include "event/model/schema_parameters.h"
#include "event/value/status_names.h"
#include "event/value/value_put.h"

/*
 * Every member is written as `,"Name":value`; the first comma becomes the opening brace. Room is
 * reserved once per member, for its key and its value (value_put_room), then bytes are put without
 * further checks.
 */

/* ---- arrays ---------------------------------------------------------------------------------- */

/* An array of characters is one text. */
static uint8_t *put_packed(
    const struct value_context *context, uint8_t *p, const struct field *field)
{
    const struct schema_field *schema = field->schema;
    if (schema_is_text(schema)) {
        return value_put(context, p, schema, span_make(field->data, field->size));
    }
    const uint8_t *data = field->data;
    *p++ = '[';
    if (schema->form == FORM_UINT32) {
        for (uint32_t i = 0; i < field->count; i++, data += 4) {
            p = put_u64(p, load_le32(data));
            *p++ = ',';
        }
    } else {
        for (uint32_t i = 0; i < field->count; i++, data += field->value_bytes) {
            p = value_put(context, p, schema, span_make(data, field->value_bytes));
            *p++ = ',';
        }
    }
    p -= field->count > 0;
    *p++ = ']';
    return p;
}

void value_json_list(const struct value_context *context, const struct event *event, uint32_t index,
    value_json_one_fn *one, struct buf *out)
{
    const struct field *array = &event->fields[index];
    buf_add_byte(out, '[');
    for (uint32_t i = index + 1; i < array->end && !out->failed; i = event->fields[i].end) {
        if (i > index + 1) {
            buf_add_byte(out, ',');
        }
        one(context, event, i, out);
    }
    buf_add_byte(out, ']');
}

void value_json_one(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *field = &event->fields[index];
    if (field->shape == FIELD_ARRAY) {
        value_json_list(context, event, index, value_json_one, out);
    } else if (field->shape == FIELD_GROUP) {
        value_json_object(context, event, index + 1, field->end, out);
    } else if (buf_reserve(out, value_put_room(field->size))) {
        uint8_t *p = out->data + out->size;
        struct span bytes = span_make(field->data, field->size);
        p = field->shape == FIELD_PACKED ? put_packed(context, p, field)
                                         : value_put(context, p, field->schema, bytes);
        out->size = (size_t)(p - out->data);
    }
}

/* ---- names of values ------------------------------------------------------------------------- */

void value_json_string(struct span utf8, struct buf *out)
{
    if (buf_reserve(out, utf8_json_bound(utf8.size) + 2)) {
        uint8_t *start = out->data + out->size;
        uint8_t *p = start;
        *p++ = '"';
        p += utf8_to_json(utf8, p);
        *p++ = '"';
        out->size += (size_t)(p - start);
    }
}

static bool is_bit_map(const struct schema_map *map)
{
    return map && map->kind == MAP_BITS;
}

/* Names of the bits that are set, in the order of the map; other bits in hex. */
static void add_bit_names(const struct schema_map *map, uint64_t value, struct buf *out)
{
    uint64_t left = value;
    const char *separator = "";
    buf_add_byte(out, '[');
    for (size_t i = 0; i < map->entry_count && !out->failed; i++) {
        const struct schema_map_entry *entry = &map->entries[i];
        if (schema_map_entry_is_in(entry, value)) {
            buf_add_text(out, separator);
            value_json_string(entry->text, out);
            separator = ",";
            left &= ~entry->value;
        }
    }
    if (left) {
        buf_add_text(out, separator);
        uint8_t text[PUT_MAX];
        uint8_t *end = put_hex(text, left);
        value_json_string(span_make(text, (size_t)(end - text)), out);
    }
    buf_add_byte(out, ']');
}

/* Name of a status code, of NaN and the infinities, or NULL. */
static const char *code_name(const struct schema_field *schema, const uint8_t *data)
{
    switch (schema->form) {
    case FORM_NTSTATUS:
        return status_names_ntstatus(load_le32(data));
    case FORM_HRESULT:
        return status_names_hresult(load_le32(data));
    case FORM_WIN32_ERROR:
        return status_names_win32(load_le32(data));
    case FORM_FLOAT: {
        uint32_t bits = load_le32(data);
        if ((bits & 0x7f800000) != 0x7f800000) {
            return NULL;
        }
        return bits & 0x007fffff ? "NaN" : bits >> 31 ? "-Infinity" : "Infinity";
    }
    case FORM_DOUBLE: {
        uint64_t bits = load_le64(data);
        if ((bits >> 52 & 0x7ff) != 0x7ff) {
            return NULL;
        }
        return bits & 0xfffffffffffff ? "NaN" : bits >> 63 ? "-Infinity" : "Infinity";
    }
    default:
        return NULL;
    }
}

struct span value_json_name(const struct schema_field *schema, struct span bytes, struct buf *names)
{
    if (schema->parameters) {
        return schema->form == FORM_UTF16
                   ? schema_parameters_expand(schema->parameters, bytes, names)
                   : span_make(NULL, 0);
    }
    if (schema->map && schema->map->kind == MAP_VALUE && bytes.size <= 8) {
        struct span text = schema_map_find(schema->map, load_le(bytes.data, bytes.size));
        if (text.data) {
            return text;
        }
    }
    return span_text(code_name(schema, bytes.data));
}

/* A list of names as long as the array of values; a value without a name is written itself. */
static void add_name_list(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    buf_add_byte(out, '[');
    for (uint32_t i = 0; i < field->count && !out->failed; i++) {
        struct span bytes = event_element(field, i);
        if (i) {
            buf_add_byte(out, ',');
        }
        struct span name = value_json_name(field->schema, bytes, NULL);
        uint8_t text[2 * PUT_MAX + UTF_SLACK]; /* characters need more than numbers */
        if (!name.data) {
            uint8_t *end = value_put(context, text, field->schema, bytes);
            name = span_make(text, (size_t)(end - text));
            if (name.size > 1 && text[0] == '"') {
                name = span_make(text + 1, name.size - 2);
            }
        }
        value_json_string(name, out);
    }
    buf_add_byte(out, ']');
}

bool value_json_any_named(const struct field *field)
{
    for (uint32_t i = 0; i < field->count; i++) {
        if (value_json_name(field->schema, event_element(field, i), NULL).data) {
            return true;
        }
    }
    return false;
}

/* `,"<field>_name":…` if there is a name. */
static void add_name(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    struct span bytes = span_make(field->data, field->size);
    if (field->shape == FIELD_PACKED) {
        if (!is_bit_map(schema->map) && !schema_is_text(schema) && value_json_any_named(field)) {
            buf_add_span(out, schema->name_key);
            add_name_list(context, field, out);
        }
        return;
    }
    if (field->shape != FIELD_VALUE) {
        return;
    }
    if (is_bit_map(schema->map) && bytes.size <= 8) {
        buf_add_span(out, schema->name_key);
        add_bit_names(schema->map, load_le(bytes.data, bytes.size), out);
        return;
    }
    struct span name = value_json_name(schema, bytes, context->names);
    if (name.data) {
        buf_add_span(out, schema->name_key);
        value_json_string(name, out);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

bool value_json_present(const struct field *field)
{
    uint8_t form = field->schema->form;
    return field->size || (form != FORM_SID && form != FORM_ABSENT) || field->shape != FIELD_VALUE;
}

/* True if the value has a name. Most values of fields that may have names have none. */
static inline bool needs_name(const struct field *field)
{
    const struct schema_field *schema = field->schema;
    if (schema->name_key.size == 0) {
        return false;
    }
    if (schema->form == FORM_DOUBLE && field->shape == FIELD_VALUE) {
        return (load_le64(field->data) >> 52 & 0x7ff) == 0x7ff;
    }
    return true;
}

/* True if a message shows the value as JSON does, except for quotes. */
static bool reads_alike(const struct field *field)
{
    return field->shape == FIELD_VALUE && field->schema->form != FORM_SOCKET_ADDRESS;
}

/* After the value of the ${n}-th member, which starts at ${start}: add its name, and mark the text
 * for people: the name if there is one. */
static void add_beside(const struct value_context *context, const struct field *field, unsigned n,
    bool wanted, size_t start, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    size_t end = out->size;
    if (needs_name(field)) {
        size_t name_start = out->size + schema->name_key.size;
        add_name(context, field, out);
        if (out->size > name_start && !is_bit_map(schema->map)) {
            start = name_start;
            end = out->size;
        }
    }
    if (wanted && reads_alike(field)) {
        context->marks->start[n] = start;
        context->marks->end[n] = end;
        context->marks->marked |= UINT64_C(1) << n;
    }
}

/* One member of any shape, the ${n}-th of its object. Returns the next field. */
static const struct field *add_member(const struct value_context *context,
    const struct event *event, const struct field *field, unsigned n, bool wanted, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    const struct field *next = event->fields + field->end;
    if (!value_json_present(field) ||
        !buf_reserve(out, schema->json_key.size + PUT_PADDING + value_put_room(field->size))) {
        return next;
    }
    uint8_t *p = put_padded(out->data + out->size, schema->json_key);
    size_t start = (size_t)(p - out->data);
    if (field->shape == FIELD_VALUE) {
        p = value_put(context, p, schema, span_make(field->data, field->size));
    } else if (field->shape == FIELD_PACKED) {
        p = put_packed(context, p, field);
    }
    out->size = (size_t)(p - out->data);
    if (field->shape == FIELD_GROUP) {
        value_json_object(context, event, (uint32_t)(field - event->fields) + 1, field->end, out);
    } else if (field->shape == FIELD_ARRAY) {
        value_json_list(context, event, (uint32_t)(field - event->fields), value_json_one, out);
    }
    if (wanted || schema->name_key.size) {
        add_beside(context, field, n, wanted, start, out);
    }
    return next;
}

/* The members, each after a comma. Frequent shapes are put here without touching ${out}, the others
 * by add_member. */
static void add_members(const struct value_context *context, const struct event *event,
    uint32_t first, uint32_t end, struct buf *out)
{
    if (first == end) { /* there may be no fields at all */
        return;
    }
    const struct field *field = event->fields + first;
    const struct field *stop = event->fields + end;
    uint64_t wanted = first == 0 && context->marks ? context->marks->wanted : 0;
    uint8_t *p = out->data + out->size;
    const uint8_t *limit = out->data + out->capacity;
    for (unsigned n = 0; field < stop; n++, wanted >>= 1) {
        const struct schema_field *schema = field->schema;
        size_t room = schema->json_key.size + PUT_PADDING + value_put_room(field->size);
        if ((field->shape | schema->is_special) || room > (size_t)(limit - p)) {
            out->size = (size_t)(p - out->data);
            field = add_member(context, event, field, n, wanted & 1, out);
            p = out->data + out->size;
            limit = out->data + out->capacity;
            continue;
        }
        p = put_padded(p, schema->json_key);
        uint8_t *start = p;
        p = value_put_fast(context, p, schema, span_make(field->data, field->size));
        if (wanted & 1) {
            context->marks->start[n] = (size_t)(start - out->data);
            context->marks->end[n] = (size_t)(p - out->data);
            context->marks->marked |= UINT64_C(1) << n;
        }
        field++;
    }
    out->size = (size_t)(p - out->data);
}

void value_json_object(const struct value_context *context, const struct event *event,
    uint32_t first, uint32_t end, struct buf *out)
{
    if (!buf_reserve(out, 2)) {
        return;
    }
    size_t start = out->size;
    add_members(context, event, first, end, out);
    if (out->failed) {
        return;
    }
    if (out->size == start) {
        buf_add_text(out, "{}");
        return;
    }
    out->data[start] = '{';
    buf_add_byte(out, '}');
}

void value_json_close(struct buf *out, size_t key, size_t members)
{
    if (out->failed) {
        return;
    }
    if (out->size == members) {
        out->size = key;
        return;
    }
    out->data[members] = '{';
    buf_add_byte(out, '}');
}

/* ---- text ------------------------------------------------------------------------------------ */

void value_json_text(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *field = &event->fields[index];
    if (field->shape == FIELD_VALUE) {
        if (!value_json_present(field)) {
            return;
        }
        struct span name = value_json_name(
            field->schema, span_make(field->data, field->size), context->names);
        if (name.data) {
            buf_add_json(out, name);
            return;
        }
        if (buf_reserve(out, value_put_room(field->size))) {
            uint8_t *p = out->data + out->size;
            struct span bytes = span_make(field->data, field->size);
            out->size += (size_t)(value_put_text(context, p, field->schema, bytes) - p);
        }
        return;
    }
    size_t start = out->size;
    value_json_one(context, event, index, out);
    if (out->failed) { /* no text yet that could have escapes */
        out->size = start;
        return;
    }
    size_t size = out->size - start;
    if (schema_is_text(field->schema) && field->shape == FIELD_PACKED) {
        memmove(out->data + start, out->data + start + 1, size - 2);
        out->size -= 2;
        return;
    }
    /* Structure inside a string: its quotes need escapes of their own. */
    struct buf copy;
    buf_init(&copy, size);
    buf_add(&copy, out->data + start, size);
    out->size = start;
    if (!copy.failed) {
        buf_add_json(out, buf_span(&copy));
    }
    buf_fini(&copy);
}
