#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "event/edit/event_editor_own.h"
#include "event/value/value_json.h"

/*
 * Edits of the field array, in a copy of it. Fields keep their places, since messages count them:
 * one that is removed becomes a FORM_ABSENT. A value that becomes a text gets a schema of its own,
 * without map or type. Members of a struct or list that became one value are removed at the end
 * (close_gaps).
 */
struct walk {
    struct event_editor *editor;
    const struct event_edit *edit;
    struct event_path_context *paths;
    struct field *fields;
};

/* The fields as a copy with room for ${more}; NULL: no memory. */
static struct field *own_fields(struct event_editor *editor, uint32_t more)
{
    enum { FIRST_CAPACITY = 64 };
    struct event *event = &editor->event;
    uint32_t needed = event->field_count + more;
    if (needed > editor->field_capacity) {
        size_t capacity = editor->field_capacity ? editor->field_capacity : FIRST_CAPACITY;
        while (capacity < needed) {
            capacity *= 2;
        }
        if (!grow_to(&editor->fields, capacity, &editor->field_capacity, sizeof(*editor->fields))) {
            editor->failed = true;
            return NULL;
        }
    }
    if (!editor->has_fields && event->field_count) {
        memcpy(editor->fields, event->fields, event->field_count * sizeof(*editor->fields));
    }
    editor->has_fields = true;
    event->fields = editor->fields;
    return editor->fields;
}

static struct schema_field *copy_schema(
    struct event_editor *editor, const struct schema_field *schema)
{
    struct schema_field *copy = arena_alloc(&editor->memory, sizeof(*copy));
    editor->failed |= !copy;
    if (copy) {
        *copy = *schema;
    }
    return copy;
}

/* ---- remove ---------------------------------------------------------------------------------- */

static void remove_field(const struct walk *walk, uint32_t index)
{
    struct field *field = &walk->fields[index];
    struct schema_field *schema = copy_schema(walk->editor, field->schema);
    if (schema) {
        schema->form = FORM_ABSENT;
        schema->flags |= FIELD_EDITED;
        schema->is_special = true;
        schema->map = NULL;
        *field = (struct field){.schema = schema, .shape = FIELD_VALUE, .end = field->end};
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The schema of a text in the place of a value of ${schema}. Elements of a list share theirs. */
static const struct schema_field *text_schema(
    struct event_editor *editor, const struct schema_field *schema)
{
    if (editor->text_of == schema && editor->text_schema) {
        return editor->text_schema;
    }
    struct schema_field *copy = copy_schema(editor, schema);
    if (copy) {
        copy->in_type = IN_ANSI_STRING;
        copy->out_type = OUT_UTF8;
        copy->form = FORM_UTF8;
        copy->flags |= FIELD_EDITED;
        copy->map = NULL;
        copy->fixed_size = 0;
        copy->pointer_sized = false;
        copy->is_special = false;
        copy->may_hold_nul = false;
        copy->name_key = span_make(NULL, 0);
        copy->raw_key = span_make(NULL, 0);
        editor->text_of = schema;
        editor->text_schema = copy;
    }
    return copy;
}

static void put_text(const struct walk *walk, uint32_t index, struct span text)
{
    struct field *field = &walk->fields[index];
    const struct schema_field *schema = text_schema(walk->editor, field->schema);
    if (schema) {
        *field = (struct field){.schema = schema,
            .data = text.data,
            .size = (uint32_t)text.size,
            .shape = FIELD_VALUE,
            .end = field->end};
    }
}

/* The text of one value as in JSON; of a socket address, the address. Valid until the next call. */
static struct span shown(
    const struct walk *walk, const struct schema_field *schema, struct span bytes)
{
    struct event_value_context *values = &walk->paths->values;
    struct event_value value = event_value_of(values, schema, bytes);
    if (value.type == EVENT_VALUE_OBJECT) {
        value = event_value_socket_member(bytes, span_text("address"));
        value = value.type == EVENT_VALUE_NONE ? event_value_bytes(EVENT_VALUE_BYTES, bytes)
                                               : value;
    }
    return event_value_text(values, &value);
}

/* ---- hash ------------------------------------------------------------------------------------ */

static void hash_packed(const struct walk *walk, uint32_t index)
{
    struct field *field = &walk->fields[index];
    const struct schema_field *before = field->schema;
    uint8_t *hashes = NULL;
    if (field->count <= walk->editor->hashes_left) {
        hashes = arena_alloc_array(&walk->editor->memory, field->count, HASH_TEXT_SIZE);
    }
    const struct schema_field *schema = hashes ? text_schema(walk->editor, before) : NULL;
    if (!schema) {
        remove_field(walk, index);
        return;
    }
    walk->editor->hashes_left -= field->count;
    for (uint32_t i = 0; i < field->count; i++) {
        event_editor_put_hash(walk->editor, walk->edit,
            shown(walk, before, event_element(field, i)), hashes + (size_t)i * HASH_TEXT_SIZE);
    }
    field->schema = schema;
    field->data = hashes;
    field->size = field->count * HASH_TEXT_SIZE;
    field->value_bytes = HASH_TEXT_SIZE;
}

static void hash_leaf(const struct walk *walk, uint32_t index)
{
    const struct field *field = &walk->fields[index];
    if (!value_json_present(field)) {
        return;
    }
    if (field->shape == FIELD_PACKED && !schema_is_text(field->schema)) {
        hash_packed(walk, index);
        return;
    }
    if (walk->editor->hashes_left == 0) {
        put_text(walk, index, span_text(""));
        return;
    }
    uint8_t *hash = arena_alloc(&walk->editor->memory, HASH_TEXT_SIZE);
    if (!hash) {
        walk->editor->failed = true;
        return;
    }
    walk->editor->hashes_left--;
    event_editor_put_hash(walk->editor, walk->edit,
        shown(walk, field->schema, span_make(field->data, field->size)), hash);
    put_text(walk, index, span_make(hash, HASH_TEXT_SIZE));
}

/* ---- truncate -------------------------------------------------------------------------------- */

static bool is_string(const struct schema_field *schema)
{
    return schema->form == FORM_UTF16 || schema->form == FORM_ANSI || schema->form == FORM_UTF8 ||
           schema_is_text(schema);
}

static void truncate_leaf(const struct walk *walk, uint32_t index)
{
    /* A unit of UTF-16, or a byte of a code page, has at most three bytes in UTF-8. */
    enum { MOST_BYTES = 3 };
    struct field *field = &walk->fields[index];
    uint32_t max = walk->edit->bytes;
    if (field->schema->form == FORM_BINARY && field->shape == FIELD_VALUE) {
        field->size = field->size < max / 2 ? field->size : max / 2;
        return;
    }
    bool is_packed = field->shape == FIELD_PACKED && !schema_is_text(field->schema);
    if (!is_string(field->schema) || is_packed || field->size <= max / MOST_BYTES) {
        return;
    }
    struct span text = shown(walk, field->schema, span_make(field->data, field->size));
    if (text.size > max) {
        struct span copy;
        if (arena_copy(
                &walk->editor->memory, span_first(text, event_editor_fit(text, max)), &copy)) {
            put_text(walk, index, copy);
        } else {
            walk->editor->failed = true;
        }
    }
}

/* Of all values in a field. */
static void edit_leaves(const struct walk *walk, uint32_t index)
{
    bool hash = walk->edit->kind == EVENT_EDIT_HASH;
    uint32_t end = walk->fields[index].end;
    for (uint32_t i = index; i < end;) {
        const struct field *field = &walk->fields[i];
        bool is_leaf = field->shape == FIELD_VALUE || field->shape == FIELD_PACKED;
        uint32_t next = is_leaf ? field->end : i + 1;
        if (is_leaf && hash) {
            hash_leaf(walk, i);
        } else if (is_leaf) {
            truncate_leaf(walk, i);
        }
        i = next;
    }
}

/* ---- rename ---------------------------------------------------------------------------------- */

/* True if a sibling other than ${index} has this name, or a generated member of this name. */
static bool is_taken(
    const struct walk *walk, uint32_t first, uint32_t end, uint32_t index, struct span key)
{
    for (uint32_t i = first; i < end; i = walk->fields[i].end) {
        const struct schema_field *schema = walk->fields[i].schema;
        bool has_members = i != index && schema->form != FORM_ABSENT;
        if (has_members &&
            (span_equal(schema->json_key, key) || span_equal(schema->name_key, key) ||
                span_equal(schema->raw_key, key))) {
            return true;
        }
    }
    return false;
}

static void rename_field(const struct walk *walk, uint32_t first, uint32_t end, uint32_t index)
{
    const struct schema_field *names = &walk->edit->field;
    struct field *field = &walk->fields[index];
    bool has_name = field->schema->name_key.size;
    bool has_raw = field->schema->raw_key.size;
    if (is_taken(walk, first, end, index, names->json_key) ||
        (has_name && is_taken(walk, first, end, index, names->name_key)) ||
        (has_raw && is_taken(walk, first, end, index, names->raw_key))) {
        return;
    }
    struct schema_field *schema = copy_schema(walk->editor, field->schema);
    if (schema) {
        schema->name = names->name;
        schema->json_key = names->json_key;
        schema->name_key = has_name ? names->name_key : span_make(NULL, 0);
        schema->raw_key = has_raw ? names->raw_key : span_make(NULL, 0);
        field->schema = schema;
    }
}

/* ---- the way to a field ---------------------------------------------------------------------- */

static void edit_field(const struct walk *walk, uint32_t first, uint32_t end, uint32_t index)
{
    switch (walk->edit->kind) {
    case EVENT_EDIT_REMOVE:
        remove_field(walk, index);
        break;
    case EVENT_EDIT_RENAME:
        rename_field(walk, first, end, index);
        break;
    default:
        edit_leaves(walk, index);
        break;
    }
}

static void walk_members(const struct walk *walk, uint32_t first, uint32_t end, unsigned step);

/* Apply the rest of the path within the field at ${index}. A socket address is edited as a
 * whole. */
static void walk_into(
    const struct walk *walk, uint32_t first, uint32_t end, uint32_t index, unsigned step)
{
    struct field *field = &walk->fields[index];
    bool is_address = field->schema->form == FORM_SOCKET_ADDRESS;
    bool is_group = field->shape == FIELD_GROUP;
    bool is_list = field->shape == FIELD_ARRAY;
    if (is_group) {
        walk_members(walk, index + 1, field->end, step + 1);
    } else if (is_address && walk->edit->kind != EVENT_EDIT_RENAME) {
        edit_field(walk, first, end, index);
    } else if (is_list) {
        for (uint32_t i = index + 1; i < field->end; i = walk->fields[i].end) {
            if (walk->fields[i].shape == FIELD_GROUP) {
                walk_members(walk, i + 1, walk->fields[i].end, step + 1);
            }
        }
    }
}

/* Fields of that name; members generated beside a value are edited with it. */
static bool walk_named(
    const struct walk *walk, uint32_t first, uint32_t end, unsigned step, struct span name)
{
    bool found = false;
    for (uint32_t i = first; i < end; i = walk->fields[i].end) {
        if (!span_equal(walk->fields[i].schema->name, name) ||
            walk->fields[i].schema->form == FORM_ABSENT) {
            continue;
        }
        found = true;
        if (step + 1u == walk->edit->path.step_count) {
            edit_field(walk, first, end, i);
        } else {
            walk_into(walk, first, end, i, step);
        }
    }
    return found;
}

static void walk_members(const struct walk *walk, uint32_t first, uint32_t end, unsigned step)
{
    static const size_t suffix_size = sizeof("_name") - 1;
    const struct event_path *path = &walk->edit->path;
    struct span name = path->steps[step].name;
    bool found = walk_named(walk, first, end, step, name);
    if (!found && step + 1u == path->step_count && walk->edit->kind != EVENT_EDIT_RENAME &&
        name.size > suffix_size && span_is(span_from(name, name.size - suffix_size), "_name")) {
        walk_named(walk, first, end, step, span_first(name, name.size - suffix_size));
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Remove the fields between a single value and its `end`. */
static void close_gaps(struct event_editor *editor)
{
    struct event *event = &editor->event;
    struct field *fields = editor->fields;
    uint32_t count = event->field_count;
    uint32_t first = 0;
    while (
        first < count && (fields[first].shape != FIELD_VALUE || fields[first].end == first + 1)) {
        first++;
    }
    if (first == count) {
        return;
    }
    /* New index by old index, and one entry more for the end. */
    uint32_t *moved = arena_alloc_array(&editor->memory, (size_t)count + 1, sizeof(*moved));
    if (!moved) {
        editor->failed = true;
        return;
    }
    uint32_t to = 0;
    for (uint32_t from = 0; from < count;) {
        uint32_t next = fields[from].shape == FIELD_VALUE ? fields[from].end : from + 1;
        moved[from] = to;
        fields[to++] = fields[from];
        from = next;
    }
    moved[count] = to;
    for (uint32_t i = 0; i < to; i++) {
        fields[i].end = moved[fields[i].end];
    }
    event->field_count = to;
}

static void set_field(struct event_editor *editor, const struct event_edit *edit)
{
    struct event *event = &editor->event;
    struct field *fields = event->status == DECODE_RAW ? NULL : own_fields(editor, 1);
    struct walk walk = {.editor = editor, .edit = edit, .fields = fields};
    if (!fields) {
        return;
    }
    uint32_t index = 0;
    while (index < event->field_count &&
           (fields[index].schema->form == FORM_ABSENT ||
               !span_equal(fields[index].schema->json_key, edit->field.json_key))) {
        index = fields[index].end;
    }
    if (is_taken(&walk, 0, event->field_count, index, edit->field.json_key)) {
        return;
    }
    uint32_t end = index + 1;
    if (index < event->field_count) {
        end = fields[index].end;
    } else {
        event->field_count++;
    }
    fields[index] = (struct field){.schema = &edit->field,
        .data = edit->value.data,
        .size = (uint32_t)edit->value.size,
        .shape = FIELD_VALUE,
        .end = end};
    close_gaps(editor);
}

/* Bytes that could not be decoded may hold the values that the rule removes. */
static void hide_bytes(struct event_editor *editor)
{
    static const char why[] = "bytes left out, as a rule removes or hashes fields of the payload";
    struct event *event = &editor->event;
    bool raw = event->status == DECODE_RAW;
    if ((raw ? event->record->payload.size : event->rest.size) == 0) {
        return;
    }
    if (raw) {
        event_editor_record(editor)->payload = span_make(NULL, 0);
    }
    event->rest = span_make(NULL, 0);
    size_t size = event->error ? strlen(event->error) + sizeof("; ") + sizeof(why) : 0;
    char *both = size ? arena_alloc(&editor->memory, size) : NULL;
    if (both) {
        snprintf(both, size, "%s; %s", event->error, why);
    }
    event->error = both ? both : why;
}

void event_editor_apply_data(
    struct event_editor *editor, const struct event_edit *edit, struct event_path_context *paths)
{
    struct event *event = &editor->event;
    const struct trace_info *trace = event->record->trace;
    if (edit->kind == EVENT_EDIT_SET) {
        set_field(editor, edit);
        return;
    }
    if (event->status != DECODE_COMPLETE &&
        (edit->kind == EVENT_EDIT_REMOVE || edit->kind == EVENT_EDIT_HASH)) {
        hide_bytes(editor);
    }
    if (event->field_count == 0) {
        return;
    }
    struct walk walk = {
        .editor = editor, .edit = edit, .paths = paths, .fields = own_fields(editor, 0)};
    paths->values.clock = trace ? &trace->clock : NULL;
    if (!walk.fields) {
        return;
    }
    if (edit->path.step_count) {
        walk_members(&walk, 0, event->field_count, 0);
    }
    for (uint32_t i = 0; !edit->path.step_count && i < event->field_count; i = walk.fields[i].end) {
        edit_field(&walk, 0, event->field_count, i);
    }
    close_gaps(editor);
}
