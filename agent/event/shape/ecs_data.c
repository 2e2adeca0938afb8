#include "event/shape/ecs_data.h"

#include "base/put.h"
#include "event/shape/ecs_extended.h"
#include "event/shape/ecs_value.h"

/*
 * winlog.event_data: an object of strings, with lists and objects where the payload has arrays and
 * structs. Members are written as `,"Name":value`; the first comma becomes the opening brace. If a
 * number is shown as text, the number is in `<field>_raw`.
 */

static void add_value(const struct value_context *context, const struct event *event,
    uint32_t index, struct buf *out);
static void add_object(const struct value_context *context, const struct event *event,
    uint32_t first, uint32_t end, struct buf *out);

/* ---- arrays and structs ---------------------------------------------------------------------- */

/* The value itself, not its name. */
static void add_unnamed(const struct value_context *context, const struct schema_field *schema,
    struct span bytes, struct buf *out)
{
    if (buf_reserve(out, ecs_value_room(bytes.size))) {
        uint8_t *p = out->data + out->size;
        out->size += (size_t)(ecs_value_put(context, p, schema, bytes) - p);
    }
}

/* An array of characters is one text; a map has names for single characters only. */
static void add_packed(
    const struct value_context *context, const struct field *field, bool raw, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    if (schema_is_text(schema)) {
        add_unnamed(context, schema, span_make(field->data, field->size), out);
        return;
    }
    buf_add_byte(out, '[');
    const uint8_t *data = field->data;
    for (uint32_t i = 0; i < field->count && !out->failed; i++, data += field->value_bytes) {
        struct span bytes = span_make(data, field->value_bytes);
        if (i) {
            buf_add_byte(out, ',');
        }
        if (raw) {
            add_unnamed(context, schema, bytes, out);
        } else {
            ecs_value_add(context, schema, bytes, out);
        }
    }
    buf_add_byte(out, ']');
}

static void add_value(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *field = &event->fields[index];
    switch ((enum field_shape)field->shape) {
    case FIELD_VALUE:
        ecs_value_add(context, field->schema, span_make(field->data, field->size), out);
        break;
    case FIELD_PACKED:
        add_packed(context, field, false, out);
        break;
    case FIELD_ARRAY:
        value_json_list(context, event, index, add_value, out);
        break;
    case FIELD_GROUP:
        add_object(context, event, index + 1, field->end, out);
        break;
    }
}

/* `"Name_name":` of a text that refers to texts of its provider; it stays as it was logged. */
static void add_name(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    if (!schema->parameters || !schema->name_key.size || field->shape != FIELD_VALUE) {
        return;
    }
    struct span name = value_json_name(schema, span_make(field->data, field->size), context->names);
    if (name.data) {
        buf_add_span(out, schema->name_key);
        value_json_string(name, out);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

/* The number after the text. */
static void add_raw(const struct value_context *context, const struct field *field, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    if (field->shape == FIELD_PACKED && !schema_is_text(schema)) {
        buf_add_span(out, schema->raw_key);
        add_packed(context, field, true, out);
    } else if (field->shape == FIELD_VALUE &&
               buf_reserve(out, schema->raw_key.size + ecs_value_room(field->size))) {
        uint8_t *p = put_span(out->data + out->size, schema->raw_key);
        p = ecs_value_put(context, p, schema, span_make(field->data, field->size));
        out->size = (size_t)(p - out->data);
    }
}

static void add_member(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *field = &event->fields[index];
    const struct schema_field *schema = field->schema;
    bool plain = field->shape == FIELD_VALUE && !ecs_value_is_code(schema);
    if (!buf_reserve(out, schema->json_key.size + PUT_PADDING + ecs_value_room(field->size))) {
        return;
    }
    uint8_t *p = put_padded(out->data + out->size, schema->json_key);
    if (plain) {
        p = ecs_value_put(context, p, schema, span_make(field->data, field->size));
    }
    out->size = (size_t)(p - out->data);
    if (!plain) {
        add_value(context, event, index, out);
    }
}

static void add_object(const struct value_context *context, const struct event *event,
    uint32_t first, uint32_t end, struct buf *out)
{
    size_t start = out->size;
    for (uint32_t i = first; i < end && !out->failed; i = event->fields[i].end) {
        if (value_json_present(&event->fields[i])) {
            add_member(context, event, i, out);
            if (event->fields[i].schema->raw_key.size) {
                add_raw(context, &event->fields[i], out);
            }
            add_name(context, &event->fields[i], out);
        }
    }
    if (out->size == start) {
        buf_add_byte(out, '{');
    } else if (!out->failed) {
        out->data[start] = '{';
    }
    buf_add_byte(out, '}');
}

/* ---- top level ------------------------------------------------------------------------------- */

#define EXTENDED_KEY ",\"extended_data\":"

/* A payload field of this name is renamed as a duplicate would be: it gets the first free
 * number. */
static void rename_member(const struct event *event, size_t start, struct buf *out)
{
    enum { KEY_SIZE = sizeof(EXTENDED_KEY) - 1, LONGEST = 40 };
    uint8_t key[LONGEST];
    size_t size = 0;
    bool taken = true;
    for (unsigned n = 2; taken; n++) {
        uint8_t *end = put_u64(put_literal(key, ",\"extended_data_"), n);
        size = (size_t)(put_literal(end, "\":") - key);
        taken = false;
        for (uint32_t i = 0; i < event->field_count && !taken; i = event->fields[i].end) {
            taken = span_equal(event->fields[i].schema->json_key, span_make(key, size));
        }
    }
    size_t more = size - KEY_SIZE;
    if (buf_reserve(out, more)) {
        uint8_t *value = out->data + start + KEY_SIZE;
        memmove(value + more, value, out->size - start - KEY_SIZE);
        memcpy(out->data + start, key, size);
        out->size += more;
    }
}

/* Like Filebeat, leave out members that are empty strings; those inside lists and structs stay. */
static void add_fields(
    const struct value_context *context, const struct event *event, struct buf *out)
{
    for (uint32_t i = 0; i < event->field_count && !out->failed; i = event->fields[i].end) {
        const struct field *field = &event->fields[i];
        const struct schema_field *schema = field->schema;
        if (!value_json_present(field)) {
            continue;
        }
        size_t start = out->size;
        add_member(context, event, i, out);
        if (out->failed) {
            return;
        }
        const uint8_t *value = out->data + start + schema->json_key.size;
        if (out->size - start == schema->json_key.size + 2 && value[0] == '"' && value[1] == '"') {
            out->size = start;
        } else if (span_is(schema->json_key, EXTENDED_KEY)) {
            rename_member(event, start, out);
        }
        if (schema->raw_key.size) {
            add_raw(context, field, out);
        }
        add_name(context, field, out);
    }
}

/* A string event has its string as the message. */
static bool is_message(const struct event_schema *schema)
{
    return schema && schema->kind == SCHEMA_STRING && schema->message.size;
}

void ecs_data_add(const struct value_context *context, const struct event *event, struct buf *out)
{
    size_t start = out->size;
    buf_add_text(out, ",\"event_data\":");
    size_t first = out->size;
    if (!is_message(event->schema)) {
        add_fields(context, event, out);
    }
    ecs_extended_add(event, out);
    value_json_close(out, start, first);
}
