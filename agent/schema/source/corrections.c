#include "schema/source/corrections.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "platform/plat_file.h"
#include "schema/source/corrections_own.h"
#include "schema/source/schema_files.h"
#include "schema/text/names.h"
#include "schema/text/text_encoding.h"

/*
 * Corrections apply to a copy of the schema's fields, row by row; then the schema is finished
 * again. Rows apply in table order. If several rows match a field of an event, only the first
 * counts; cells it leaves empty keep the value of the definition.
 */
enum {
    MAX_ROWS = 16384,
    MAX_FILE_BYTES = 4 * 1024 * 1024,
    MAX_BYTES = 32 * 1024 * 1024,
    MAX_INSERTED = 64,
};

const char *const corrections_endings[] = {".corrections.tsv", NULL};

/* ---- the table ------------------------------------------------------------------------------- */

static bool add_row(
    struct corrections *corrections, struct span line, const char *where, struct error *err)
{
    if (corrections->count == MAX_ROWS) {
        return error_set(err, ERR_LIMIT, "%s: more than %d rows", where, MAX_ROWS);
    }
    if (!grow_list(&corrections->rows, corrections->count, &corrections->capacity,
            sizeof(*corrections->rows))) {
        return error_set(err, ERR_MEMORY, "no memory left for corrections of layouts");
    }
    struct correction *row = &corrections->rows[corrections->count];
    bool is_good = corrections_row(line, &corrections->arena, where, row, err);
    corrections->count += is_good;
    return is_good;
}

static struct span take_line(struct span *text)
{
    const uint8_t *end = memchr(text->data, '\n', text->size);
    struct span line = end ? span_first(*text, (size_t)(end - text->data)) : *text;
    *text = span_from(*text, line.size + 1);
    while (line.size && line.data[line.size - 1] == '\r') {
        line.size--;
    }
    return line;
}

static bool add_lines(
    struct corrections *corrections, struct span text, const char *file, struct error *err)
{
    bool has_header = false;
    for (size_t number = 1; text.size; number++) {
        struct span line = take_line(&text);
        char where[1100];
        snprintf(where, sizeof(where), "%s:%zu", file, number);
        if (span_trim(line).size == 0 || line.data[0] == '#') {
            continue;
        }
        if (!has_header && !corrections_is_header(line)) {
            return error_set(err, ERR_FORMAT,
                "%s: the header line is missing: provider, guid, events, versions, field, was, in, "
                "out, length, count, before, known_from",
                where);
        }
        if (has_header && !add_row(corrections, line, where, err)) {
            return false;
        }
        has_header = true;
    }
    return true;
}

bool corrections_add(
    struct corrections *corrections, struct span text, const char *file, struct error *err)
{
    struct span utf8;
    size_t before = corrections->count;
    if (!text_encoding_to_utf8(text, &corrections->arena, &utf8)) {
        return error_set(err, ERR_MEMORY, "no memory left for corrections of layouts");
    }
    bool ok = add_lines(corrections, utf8, file, err);
    corrections->count = ok ? corrections->count : before;
    return ok;
}

static bool add_built_in(struct corrections *corrections, struct error *err)
{
    static const char *const rows[] = {
#define ROW(text) text,
#include "corrections.def"
#undef ROW
    };
    for (size_t i = 1; i < sizeof(rows) / sizeof(rows[0]); i++) { /* after the header */
        if (!add_row(corrections, span_text(rows[i]), "built in", err)) {
            return false;
        }
    }
    return true;
}

struct reading {
    struct corrections *corrections;
    const struct schema_source_settings *settings;
};

static void read_file(void *self, const char *path)
{
    struct reading *reading = self;
    struct error err = {0};
    char *data = NULL;
    size_t size = 0;
    if (!schema_files_load(reading->settings, path, MAX_FILE_BYTES, &data, &size, &err)) {
        schema_files_warn(reading->settings, path, err.text);
        return;
    }
    if (!corrections_add(reading->corrections, span_make(data, size), path, &err)) {
        schema_source_warn(reading->settings, err.text);
    }
    schema_files_unload(reading->settings, data, size);
}

struct corrections *corrections_create(
    const struct schema_source_settings *settings, struct error *err)
{
    struct corrections *corrections = calloc(1, sizeof(*corrections));
    if (!corrections) {
        error_set(err, ERR_MEMORY, "out of memory for corrections of layouts");
        return NULL;
    }
    arena_init_in(&corrections->arena, MAX_BYTES, settings->budget);
    struct reading reading = {.corrections = corrections, .settings = settings};
    schema_files_each(settings, corrections_endings, read_file, &reading);
    if (!add_built_in(corrections, err)) {
        corrections_destroy(corrections);
        return NULL;
    }
    return corrections;
}

void corrections_destroy(struct corrections *corrections)
{
    if (corrections) {
        arena_fini(&corrections->arena);
        free(corrections->rows);
        free(corrections);
    }
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool is_provider(const struct correction *row, const struct event_schema *schema)
{
    if (row->has_guid) {
        return guid_equal(&row->guid, &schema->provider) ||
               guid_equal(&row->guid, &schema->class_guid);
    }
    return row->any_provider || span_equal_nocase(row->provider, schema->provider_name);
}

static bool is_event(const struct correction *row, const struct event_schema *schema)
{
    const struct event_descriptor *d = &schema->descriptor;
    uint16_t id = schema->kind == SCHEMA_MOF ? d->opcode : d->id;
    if (d->version < row->versions.first || d->version > row->versions.last) {
        return false;
    }
    for (size_t i = 0; i < row->event_count; i++) {
        if (id >= row->events[i].first && id <= row->events[i].last) {
            return true;
        }
    }
    return false;
}

static bool concerns(const struct correction *row, const struct event_schema *schema)
{
    return is_provider(row, schema) && is_event(row, schema);
}

bool corrections_concern(const struct corrections *corrections, const struct event_schema *schema)
{
    bool is_its_own = schema->kind == SCHEMA_WPP || schema->kind == SCHEMA_STRING ||
                      schema->kind == SCHEMA_EVENTLOG;
    if (is_its_own || !schema->has_layout) {
        return false;
    }
    for (size_t i = 0; i < corrections->count; i++) {
        if (concerns(&corrections->rows[i], schema)) {
            return true;
        }
    }
    return false;
}

/* True if an earlier row already matched this field. */
static bool is_decided(
    const struct corrections *corrections, size_t index, const struct event_schema *schema)
{
    for (size_t i = 0; i < index; i++) {
        const struct correction *row = &corrections->rows[i];
        if ((row->any_field || span_equal(row->field, corrections->rows[index].field)) &&
            concerns(row, schema)) {
            return true;
        }
    }
    return false;
}

/* ---- correcting ------------------------------------------------------------------------------ */

/* Room for MAX_INSERTED more fields. */
struct draft {
    struct event_schema *schema;
    size_t room;
    bool changed;
};

/* Index of the top-level field ${name}, or SIZE_MAX. */
static size_t find_field(const struct event_schema *schema, struct span name)
{
    for (size_t i = 0; i < schema->top_count; i++) {
        if (span_equal(schema->fields[i].name, name)) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Resolve a length or count cell for field ${index}: a number, or the name of an earlier
 * integer. */
static bool resolve(const struct event_schema *schema, size_t index, struct span cell,
    uint16_t *ret_value, bool *ret_is_field)
{
    uint64_t number;
    *ret_is_field = !names_number(cell, UINT16_MAX, &number);
    if (!*ret_is_field) {
        *ret_value = (uint16_t)number;
        return true;
    }
    size_t field = find_field(schema, cell);
    *ret_value = (uint16_t)field;
    return field < index && !(schema->fields[field].flags & FIELD_STRUCT) &&
           schema_is_integer(schema->fields[field].in_type);
}

static void set_length(struct event_schema *schema, size_t index, struct span cell)
{
    struct schema_field *field = &schema->fields[index];
    uint16_t value;
    bool is_field;
    bool is_open = field->length == 0 &&
                   !(field->flags & (FIELD_PARAM_LENGTH | FIELD_FIXED_LENGTH));
    if (cell.size && is_open && resolve(schema, index, cell, &value, &is_field)) {
        field->length = value;
        field->flags |= is_field ? FIELD_PARAM_LENGTH : FIELD_FIXED_LENGTH;
    }
}

static void set_count(struct event_schema *schema, size_t index, struct span cell)
{
    struct schema_field *field = &schema->fields[index];
    uint16_t value;
    bool is_field;
    if (cell.size && resolve(schema, index, cell, &value, &is_field)) {
        unsigned others = FIELD_PARAM_COUNT | FIELD_FIXED_COUNT | FIELD_REST_COUNT | FIELD_COUNTED;
        field->flags &= (uint16_t)~others;
        field->flags |= is_field ? FIELD_PARAM_COUNT : FIELD_FIXED_COUNT;
        field->count = value;
    }
}

static void set_out_type(struct schema_field *field, const struct correction *row, uint16_t in_type)
{
    bool says = field->out_type != OUT_NULL && !names_is_default_out(in_type, field->out_type);
    if (!says && row->has_out) {
        field->out_type = row->out;
    } else if (!says && field->in_type != in_type) {
        field->out_type = OUT_NULL;
    }
}

static void correct(struct draft *draft, size_t index, const struct correction *row)
{
    struct event_schema *schema = draft->schema;
    struct schema_field *field = &schema->fields[index];
    const struct schema_field before = *field;
    bool is_right = !row->has_in || field->in_type == row->in;
    if ((field->flags & FIELD_STRUCT) ||
        (!is_right && !(row->has_was && field->in_type == row->was))) {
        return; /* the definition says something else */
    }
    field->in_type = row->has_in ? row->in : field->in_type;
    set_out_type(field, row, before.in_type);
    set_length(schema, index, row->length);
    set_count(schema, index, row->count);
    if (field->in_type != before.in_type || field->out_type != before.out_type ||
        field->flags != before.flags || field->length != before.length ||
        field->count != before.count) {
        field->flags |= FIELD_CORRECTED;
        draft->changed = true;
    }
}

/* Make room for a field at ${at} and shift indexes that point past it. */
static void shift(struct event_schema *schema, size_t at)
{
    memmove(schema->fields + at + 1, schema->fields + at,
        (schema->field_count - at) * sizeof(schema->fields[0]));
    schema->field_count++;
    schema->top_count++;
    for (size_t i = 0; i < schema->field_count; i++) {
        struct schema_field *field = &schema->fields[i];
        if ((field->flags & FIELD_PARAM_LENGTH) && field->length >= at) {
            field->length++;
        }
        if ((field->flags & FIELD_PARAM_COUNT) && field->count >= at) {
            field->count++;
        }
        if ((field->flags & FIELD_STRUCT) && field->struct_start >= at) {
            field->struct_start++;
        }
    }
}

/* Inserts of a message refer to fields by number, so a definition with a message lacks no
 * fields. */
static void insert(struct draft *draft, const struct correction *row)
{
    struct event_schema *schema = draft->schema;
    size_t at = find_field(schema, row->before);
    if (at == SIZE_MAX || draft->room == 0 || schema->message.size ||
        schema->field_count >= SCHEMA_MAX_FIELDS) {
        return;
    }
    draft->room--;
    shift(schema, at);
    schema->fields[at] = (struct schema_field){
        .name = row->field, .in_type = row->in, .count = 1, .flags = FIELD_CORRECTED};
    correct(draft, at, row);
    draft->changed = true;
}

static void apply_row(struct draft *draft, const struct correction *row)
{
    size_t index = find_field(draft->schema, row->field);
    if (index != SIZE_MAX) {
        correct(draft, index, row);
    } else if (row->before.size) {
        insert(draft, row);
    }
}

/* Reset what schema_finish derives. */
static void clear_derived(struct event_schema *schema)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        struct schema_field *field = &schema->fields[i];
        field->flags &= (uint16_t)~FIELD_IS_NUMBER;
        field->json_key = field->name_key = field->raw_key = span_make(NULL, 0);
        field->runs = NULL;
    }
}

/* Finish ${draft} in ${arena} and replace ${schema} with it. */
static bool keep(struct event_schema *draft, struct event_schema *schema, struct arena *arena)
{
    struct error err = {0};
    struct schema_field *fields = arena_alloc_array(
        arena, draft->field_count, sizeof(*draft->fields));
    if (!fields) {
        return false;
    }
    memcpy(fields, draft->fields, draft->field_count * sizeof(*fields));
    draft->fields = fields;
    clear_derived(draft);
    if (!schema_finish(draft, arena, &err)) {
        return err.code != ERR_MEMORY; /* an impossible layout is left uncorrected */
    }
    *schema = *draft;
    return true;
}

bool corrections_apply(
    const struct corrections *corrections, struct event_schema *schema, struct arena *arena)
{
    if (!corrections_concern(corrections, schema)) {
        return true;
    }
    struct event_schema copy = *schema;
    struct draft draft = {.schema = &copy, .room = MAX_INSERTED};
    size_t most = (size_t)schema->field_count + MAX_INSERTED;
    struct schema_field *fields = calloc(most, sizeof(*fields));
    if (!fields) {
        return false;
    }
    if (schema->field_count) {
        memcpy(fields, schema->fields, schema->field_count * sizeof(*fields));
    }
    copy.fields = fields;
    for (size_t i = 0; i < corrections->count; i++) {
        const struct correction *row = &corrections->rows[i];
        if (!row->any_field && concerns(row, schema) && !is_decided(corrections, i, schema)) {
            apply_row(&draft, row);
        }
    }
    bool ok = !draft.changed || keep(&copy, schema, arena);
    free(fields);
    return ok;
}
