#include "base/bytes.h"
#include "base/put.h"
#include "event/value/value_json.h"
#include "event/write/event_path_own.h"

/*
 * Paths into the field array (event.h): by name through structs, by `[*]` through arrays, and at
 * the end to the value or to the names beside it, as value_json.c writes them.
 */
struct walk {
    const struct event_path *path;
    const struct event *event;
    struct event_path_context *context;
    const struct event_path_sink *sink;
};

static bool give(const struct walk *walk, struct event_value value)
{
    return event_path_give(walk->sink, &value);
}

static bool give_type(const struct walk *walk, enum event_value_type type)
{
    return give(walk, event_value_plain(type));
}

static bool is_last(const struct walk *walk, unsigned step)
{
    return step + 1u == walk->path->step_count;
}

/* True if the path selects elements, not the list. */
static bool wants_each(const struct walk *walk, unsigned step)
{
    return walk->path->steps[step].each || (is_last(walk, step) && walk->path->each);
}

/* ---- names beside a value -------------------------------------------------------------------- */

static struct event_value text_value(struct span text)
{
    return (struct event_value){.type = EVENT_VALUE_TEXT, .bytes = text};
}

static bool give_bit_names(const struct walk *walk, const struct schema_map *map, uint64_t value)
{
    uint64_t left = value;
    for (size_t i = 0; i < map->entry_count; i++) {
        const struct schema_map_entry *entry = &map->entries[i];
        if (schema_map_entry_is_in(entry, value)) {
            left &= ~entry->value;
            if (!give(walk, text_value(entry->text))) {
                return false;
            }
        }
    }
    return left == 0 || give(walk, event_value_hex(left));
}

/* A list as long as the array of values; a value without a name is written as text. */
static bool give_name_list(const struct walk *walk, const struct field *field)
{
    struct event_value_context *values = &walk->context->values;
    for (uint32_t i = 0; i < field->count; i++) {
        struct span bytes = event_element(field, i);
        struct span name = value_json_name(field->schema, bytes, NULL);
        if (!name.data) {
            struct event_value value = event_value_of(values, field->schema, bytes);
            name = event_value_text(values, &value);
        }
        if (!give(walk, text_value(name))) {
            return false;
        }
    }
    return true;
}

static bool walk_names(const struct walk *walk, const struct field *field, unsigned step)
{
    const struct schema_field *schema = field->schema;
    const struct schema_map *map = schema->map;
    struct span bytes = span_make(field->data, field->size);
    bool bits = map && map->kind == MAP_BITS;
    bool each = wants_each(walk, step);
    if (schema->name_key.size == 0 || !is_last(walk, step)) {
        return true;
    }
    if (field->shape == FIELD_PACKED) {
        if (bits || schema_is_text(schema) || !value_json_any_named(field)) {
            return true;
        }
        return each ? give_name_list(walk, field) : give_type(walk, EVENT_VALUE_LIST);
    }
    if (field->shape != FIELD_VALUE) {
        return true;
    }
    if (bits && bytes.size <= 8) {
        return each ? give_bit_names(walk, map, load_le(bytes.data, bytes.size))
                    : give_type(walk, EVENT_VALUE_LIST);
    }
    struct span name = value_json_name(schema, bytes, &walk->context->values.names);
    return !name.data || walk->path->steps[step].each || give(walk, text_value(name));
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool give_value(
    const struct walk *walk, const struct schema_field *schema, struct span bytes, unsigned step)
{
    if (is_last(walk, step)) {
        return give(walk, event_value_of(&walk->context->values, schema, bytes));
    }
    const struct event_path_step *member = &walk->path->steps[step + 1];
    if (schema->form != FORM_SOCKET_ADDRESS || !is_last(walk, step + 1) || member->each ||
        walk->path->names) {
        return true;
    }
    return give(walk, event_value_socket_member(bytes, member->name));
}

static bool walk_packed(const struct walk *walk, const struct field *field, unsigned step)
{
    if (schema_is_text(field->schema)) {
        return walk->path->steps[step].each ||
               give_value(walk, field->schema, span_make(field->data, field->size), step);
    }
    if (!wants_each(walk, step)) {
        return !is_last(walk, step) || give_type(walk, EVENT_VALUE_LIST);
    }
    for (uint32_t i = 0; i < field->count; i++) {
        if (!give_value(walk, field->schema, event_element(field, i), step)) {
            return false;
        }
    }
    return true;
}

static bool walk_members(const struct walk *walk, uint32_t first, uint32_t end, unsigned step);

static bool walk_group(const struct walk *walk, uint32_t index, unsigned step)
{
    return is_last(walk, step)
               ? give_type(walk, EVENT_VALUE_OBJECT)
               : walk_members(walk, index + 1, walk->event->fields[index].end, step + 1);
}

static bool walk_array(const struct walk *walk, uint32_t index, unsigned step)
{
    const struct field *fields = walk->event->fields;
    if (!wants_each(walk, step)) {
        return !is_last(walk, step) || give_type(walk, EVENT_VALUE_LIST);
    }
    for (uint32_t i = index + 1; i < fields[index].end; i = fields[i].end) {
        const struct field *element = &fields[i];
        bool more = element->shape == FIELD_GROUP
                        ? walk_group(walk, i, step)
                        : give_value(
                              walk, element->schema, span_make(element->data, element->size), step);
        if (!more) {
            return false;
        }
    }
    return true;
}

static bool walk_field(const struct walk *walk, uint32_t index, unsigned step)
{
    const struct field *field = &walk->event->fields[index];
    if (!value_json_present(field)) {
        return true;
    }
    if (walk->path->names && is_last(walk, step)) {
        return walk_names(walk, field, step);
    }
    bool each = walk->path->steps[step].each;
    switch ((enum field_shape)field->shape) {
    case FIELD_PACKED:
        return walk_packed(walk, field, step);
    case FIELD_ARRAY:
        return walk_array(walk, index, step);
    case FIELD_GROUP:
        return each || walk_group(walk, index, step);
    case FIELD_VALUE:
        break;
    }
    return each || give_value(walk, field->schema, span_make(field->data, field->size), step);
}

/* The sibling of this name, or UINT32_MAX. */
static uint32_t find(const struct field *fields, uint32_t first, uint32_t end, struct span name)
{
    for (uint32_t i = first; i < end; i = fields[i].end) {
        struct span have = fields[i].schema->name;
        if (have.size == name.size && memcmp(have.data, name.data, name.size) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* A member by its name, or the generated `<field>_name` if no field has that name. */
static bool walk_members(const struct walk *walk, uint32_t first, uint32_t end, unsigned step)
{
    static const size_t suffix_size = sizeof("_name") - 1;
    const struct field *fields = walk->event->fields;
    struct span name = walk->path->steps[step].name;
    uint32_t index = find(fields, first, end, name);
    if (index != UINT32_MAX) {
        return walk_field(walk, index, step);
    }
    if (walk->path->names || name.size < suffix_size ||
        !span_is(span_from(name, name.size - suffix_size), "_name")) {
        return true;
    }
    index = find(fields, first, end, span_first(name, name.size - suffix_size));
    return index == UINT32_MAX || !value_json_present(&fields[index]) ||
           walk_names(walk, &fields[index], step);
}

bool event_path_data(const struct event_path *path, const struct event *event,
    struct event_path_context *context, const struct event_path_sink *sink)
{
    struct walk walk = {.path = path, .event = event, .context = context, .sink = sink};
    if (event->status == DECODE_RAW) {
        return true;
    }
    if (path->step_count == 0) {
        return give_type(&walk, EVENT_VALUE_OBJECT);
    }
    return walk_members(&walk, 0, event->field_count, 0);
}
