#include "event/value_json.h"

#include "base/bytes.h"
#include "base/put.h"
#include "event/status_names.h"
#include "event/value_put.h"

/*
 * Every member is written as `,"Name":value`; the first comma becomes the opening brace. Room is
 * reserved once per value, then bytes are put without further checks: value_room says how much.
 */

static void add_value(const struct value_context *context, const struct schema_field *schema,
    struct span bytes, struct buf *out)
{
    if (buf_reserve(out, value_put_room(schema->form, bytes.size))) {
        uint8_t *p = out->data + out->size;
        out->size += (size_t)(value_put(context, p, schema, bytes) - p);
    }
}

/* ---- arrays -------------------------------------------------------------------------------------- */

static bool is_text(const struct schema_field *schema)
{
    return schema->form == FORM_CHAR8 || schema->form == FORM_CHAR16;
}

/* Characters side by side are one text. */
static void add_packed(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    if (is_text(field->schema)) {
        add_value(context, field->schema, span_make(field->data, field->size), out);
        return;
    }
    const uint8_t *data = field->data;
    buf_add_byte(out, '[');
    for (uint32_t i = 0; i < field->count && !out->failed; i++) {
        if (i) {
            buf_add_byte(out, ',');
        }
        add_value(context, field->schema, span_make(data, field->value_bytes), out);
        data += field->value_bytes;
    }
    buf_add_byte(out, ']');
}

static void add_elements(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *array = &event->fields[index];
    buf_add_byte(out, '[');
    for (uint32_t i = index + 1; i < array->end && !out->failed; i = event->fields[i].end) {
        if (i > index + 1) {
            buf_add_byte(out, ',');
        }
        value_json_one(context, event, i, out);
    }
    buf_add_byte(out, ']');
}

void value_json_one(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *field = &event->fields[index];
    switch (field->shape) {
    case FIELD_VALUE:
        add_value(context, field->schema, span_make(field->data, field->size), out);
        break;
    case FIELD_PACKED:
        add_packed(context, field, out);
        break;
    case FIELD_ARRAY:
        add_elements(context, event, index, out);
        break;
    default:
        value_json_object(context, event, index + 1, field->end, out);
        break;
    }
}

/* ---- names of values -------------------------------------------------------------------------- */

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

/* Names of the bits that are set, in the order of the map; what no entry explains in hex. */
static void add_bit_names(const struct schema_map *map, uint64_t value, struct buf *out)
{
    uint64_t left = value;
    const char *separator = "";
    buf_add_byte(out, '[');
    for (size_t i = 0; i < map->entry_count && !out->failed; i++) {
        uint64_t mask = map->entries[i].value;
        if (mask ? (value & mask) == mask : value == 0) {
            buf_add_text(out, separator);
            value_json_string(map->entries[i].text, out);
            separator = ",";
            left &= ~mask;
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

/* The text for one value, or a NULL span. */
static struct span value_name(const struct schema_field *schema, struct span bytes)
{
    if (schema->map && schema->map->kind == MAP_VALUE && bytes.size <= 8) {
        struct span text = schema_map_find(schema->map, load_le(bytes.data, bytes.size));
        if (text.data) {
            return text;
        }
    }
    return span_text(code_name(schema, bytes.data));
}

/* A list of names as long as the array of values; a value without name stands as it is. */
static void add_name_list(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    buf_add_byte(out, '[');
    for (uint32_t i = 0; i < field->count && !out->failed; i++) {
        struct span bytes = span_make(
            field->data + (size_t)i * field->value_bytes, field->value_bytes);
        if (i) {
            buf_add_byte(out, ',');
        }
        struct span name = value_name(field->schema, bytes);
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

static bool any_named(const struct field *field)
{
    for (uint32_t i = 0; i < field->count; i++) {
        const uint8_t *data = field->data + (size_t)i * field->value_bytes;
        if (value_name(field->schema, span_make(data, field->value_bytes)).data) {
            return true;
        }
    }
    return false;
}

/* `,"<field>_name":…` where something is known. */
static void add_name(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    struct span bytes = span_make(field->data, field->size);
    if (field->shape == FIELD_PACKED) {
        if (!(schema->map && schema->map->kind == MAP_BITS) && !is_text(schema) &&
            any_named(field)) {
            buf_add_span(out, schema->name_key);
            add_name_list(context, field, out);
        }
        return;
    }
    if (field->shape != FIELD_VALUE) {
        return;
    }
    if (schema->map && schema->map->kind == MAP_BITS && bytes.size <= 8) {
        buf_add_span(out, schema->name_key);
        add_bit_names(schema->map, load_le(bytes.data, bytes.size), out);
        return;
    }
    struct span name = value_name(schema, bytes);
    if (name.data) {
        buf_add_span(out, schema->name_key);
        value_json_string(name, out);
    }
}

/* ---- members -------------------------------------------------------------------------------------- */

bool value_json_present(const struct field *field)
{
    return field->size || field->schema->form != FORM_SID || field->shape != FIELD_VALUE;
}

/* Keys have 32 readable bytes behind them (schema_finish), and there is room for as
 * many: the common copy is two moves. */
static uint8_t *put_key(uint8_t *p, struct span key)
{
    memcpy(p, key.data, 32);
    if (key.size > 32) {
        memcpy(p + 32, key.data + 32, key.size - 32);
    }
    return p + key.size;
}

/* Is there more to say than the value? For most fields that may have a name there is not. */
static bool needs_name(const struct field *field)
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

static void add_member(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *field = &event->fields[index];
    const struct schema_field *schema = field->schema;
    if (field->shape != FIELD_VALUE) {
        buf_add_span(out, schema->json_key);
        value_json_one(context, event, index, out);
    } else if (value_json_present(field) &&
               buf_reserve(
                   out, schema->json_key.size + 33 + value_put_room(schema->form, field->size))) {
        uint8_t *p = put_key(out->data + out->size, schema->json_key);
        p = value_put(context, p, schema, span_make(field->data, field->size));
        out->size = (size_t)(p - out->data);
    }
    if (needs_name(field) && value_json_present(field)) {
        add_name(context, field, out);
    }
}

/* Remember field ${n}'s text, between ${start} and the end of ${out}, without its quotes. */
static void mark_value(struct value_marks *marks, unsigned n, const struct field *field,
    size_t start, const struct buf *out)
{
    if (field->schema->form == FORM_SOCKET_ADDRESS) {
        return;
    }
    size_t size = out->size - start;
    bool quoted = size >= 2 && out->data[start] == '"';
    marks->at[n].start = start + quoted;
    marks->at[n].size = size - 2 * quoted;
    marks->marked |= UINT64_C(1) << n;
}

/* The same for the name behind the value, if there is one: people read that. */
static void mark_name(struct value_marks *marks, unsigned n, const struct field *field,
    size_t start, const struct buf *out)
{
    const struct schema_field *schema = field->schema;
    size_t before = schema->name_key.size + 1;
    if (out->size > start + before && !(schema->map && schema->map->kind == MAP_BITS)) {
        marks->at[n].start = start + before;
        marks->at[n].size = out->size - start - before - 1;
    }
}

/* Everything about a member but its value: its mark, its name. */
static void add_beside(const struct value_context *context, const struct field *field, unsigned n,
    bool wanted, size_t value_start, struct buf *out)
{
    if (wanted) {
        mark_value(context->marks, n, field, value_start, out);
    }
    if (needs_name(field)) {
        size_t name_start = out->size;
        add_name(context, field, out);
        if (wanted && context->marks->marked >> n & 1) {
            mark_name(context->marks, n, field, name_start, out);
        }
    }
}

/* An event of scalars alone, as most are. */
static void add_flat(
    const struct value_context *context, const struct event *event, struct buf *out)
{
    size_t room = event->schema->scalars_room + event->record->payload.size * 6;
    if (!buf_reserve(out, room)) {
        return;
    }
    uint8_t *p = out->data + out->size;
    uint64_t wanted = context->marks ? context->marks->wanted : 0;
    unsigned n = 0;
    const struct field *end = event->fields + event->field_count;
    for (const struct field *field = event->fields; field < end; field++, n++, wanted >>= 1) {
        const struct schema_field *schema = field->schema;
        if (!value_json_present(field)) {
            continue;
        }
        p = put_key(p, schema->json_key);
        size_t value_start = (size_t)(p - out->data);
        p = value_put(context, p, schema, span_make(field->data, field->size));
        if (schema->name_key.size || (wanted & 1)) {
            out->size = (size_t)(p - out->data);
            add_beside(context, field, n, wanted & 1, value_start, out);
            if (!buf_reserve(out, room)) {
                return;
            }
            p = out->data + out->size;
        }
    }
    out->size = (size_t)(p - out->data);
}

void value_json_object(const struct value_context *context, const struct event *event,
    uint32_t first, uint32_t end, struct buf *out)
{
    size_t start = out->size;
    if (event->schema && event->schema->scalars_room && first == 0) {
        add_flat(context, event, out);
    } else {
        for (uint32_t i = first; i < end && !out->failed; i = event->fields[i].end) {
            add_member(context, event, i, out);
        }
    }
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

/* ---- text ---------------------------------------------------------------------------------------- */

void value_json_text(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *field = &event->fields[index];
    if (field->shape == FIELD_VALUE) {
        if (!value_json_present(field)) {
            return;
        }
        struct span name = value_name(field->schema, span_make(field->data, field->size));
        if (name.data) {
            if (buf_reserve(out, utf8_json_bound(name.size))) {
                out->size += utf8_to_json(name, out->data + out->size);
            }
            return;
        }
        if (buf_reserve(out, value_put_room(field->schema->form, field->size))) {
            uint8_t *p = out->data + out->size;
            struct span bytes = span_make(field->data, field->size);
            out->size += (size_t)(value_put_text(context, p, field->schema, bytes) - p);
        }
        return;
    }
    size_t start = out->size;
    value_json_one(context, event, index, out);
    if (out->failed) {
        return;
    }
    size_t size = out->size - start;
    if (is_text(field->schema) && field->shape == FIELD_PACKED) {
        memmove(out->data + start, out->data + start + 1, size - 2);
        out->size -= 2;
        return;
    }
    /* Structure inside a string: its quotes need escapes of their own. */
    struct buf copy;
    buf_init(&copy, size);
    buf_add(&copy, out->data + start, size);
    out->size = start;
    if (!copy.failed && buf_reserve(out, utf8_json_bound(size))) {
        out->size += utf8_to_json(buf_span(&copy), out->data + out->size);
    }
    buf_fini(&copy);
}
