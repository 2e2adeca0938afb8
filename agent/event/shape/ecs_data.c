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
        out->size += (size_t)(ecs_value_put_fast(context, p, schema, bytes) - p);
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
    raw |= !ecs_value_is_code(schema);
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

/* Like Filebeat, leave out members at the top that are empty strings; those inside lists and
 * structs stay. */
static bool is_left_out(size_t value_size, const uint8_t *value)
{
    return value_size == 2 && *value == '"';
}

/* One member of any kind, and what stands beside it. */
static void add_member(const struct value_context *context, const struct event *event,
    const struct field *field, bool is_top, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    size_t start = out->size;
    buf_add_span(out, schema->json_key);
    size_t value = out->size;
    add_value(context, event, (uint32_t)(field - event->fields), out);
    if (out->failed) {
        return;
    }
    if (is_top && is_left_out(out->size - value, out->data + value)) {
        out->size = start;
    } else if (is_top && span_is(schema->json_key, EXTENDED_KEY)) {
        rename_member(event, start, out);
    }
    if (schema->raw_key.size) {
        add_raw(context, field, out);
    }
    add_name(context, field, out);
}

/* True if the member is nothing but its key and a single value. */
static inline bool is_simple(const struct field *field)
{
    const struct schema_field *schema = field->schema;
    return !(field->shape | schema->is_special) && !ecs_value_is_code(schema) &&
           !span_is(schema->json_key, EXTENDED_KEY);
}

/* The text of the ${n}-th member stands from ${start} to ${end} of the output: a message can copy
 * it. */
static void mark(struct value_marks *marks, unsigned n, size_t start, size_t end)
{
    marks->start[n] = start;
    marks->end[n] = end;
    marks->marked |= UINT64_C(1) << n;
}

/* The members [first, end) of ${event} that are siblings, each after a comma. Simple ones, which
 * most are, are put here without touching ${out}, the others by add_member. */
static void add_members(const struct value_context *context, const struct event *event,
    uint32_t first, uint32_t end, bool is_top, struct buf *out)
{
    const struct field *fields = event->fields;
    uint64_t wanted = is_top && context->marks ? context->marks->wanted : 0;
    uint8_t *p = out->data + out->size;
    const uint8_t *limit = out->data + out->capacity;
    unsigned n = 0;
    for (uint32_t i = first; i < end; i = fields[i].end, n++, wanted >>= 1) {
        const struct field *field = &fields[i];
        const struct schema_field *schema = field->schema;
        size_t room = schema->json_key.size + PUT_PADDING + ecs_value_room(field->size);
        if (!is_simple(field) || room > (size_t)(limit - p)) {
            out->size = (size_t)(p - out->data);
            if (value_json_present(field)) {
                add_member(context, event, field, is_top, out);
            }
            p = out->data + out->size;
            limit = out->data + out->capacity;
            continue;
        }
        uint8_t *value = put_padded(p, schema->json_key);
        uint8_t *value_end = ecs_value_put_fast(
            context, value, schema, span_make(field->data, field->size));
        if (is_top && is_left_out((size_t)(value_end - value), value)) {
            continue;
        }
        if ((wanted & 1) && ecs_value_is_alike(schema)) {
            mark(context->marks, n, (size_t)(value - out->data), (size_t)(value_end - out->data));
        }
        p = value_end;
    }
    out->size = (size_t)(p - out->data);
}

static void add_object(const struct value_context *context, const struct event *event,
    uint32_t first, uint32_t end, struct buf *out)
{
    if (!buf_reserve(out, 2)) {
        return;
    }
    size_t start = out->size;
    add_members(context, event, first, end, false, out);
    if (out->size == start) {
        buf_add_byte(out, '{');
    } else if (!out->failed) {
        out->data[start] = '{';
    }
    buf_add_byte(out, '}');
}

/* ---- top level ------------------------------------------------------------------------------- */

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
        add_members(context, event, 0, event->field_count, true, out);
    }
    ecs_extended_add(event, out);
    value_json_close(out, start, first);
}
