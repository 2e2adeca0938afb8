#include "schema/cache/schema_log.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "event/model/schema_forms.h"
#include "event/model/schema_parameters.h"
#include "schema/text/languages.h"

enum {
    MAX_INSERT = 99, /* %1 to %99 */
    MAX_MESSAGE_BYTES = 1024 * 1024,
    MAX_SILENT = 4096,
    MAX_SILENT_BYTES = 1024 * 1024,
    NONE = UINT16_MAX,
};

/* The values of a schema in payload order: all fields except structs. An array of structs is one
 * value. */
struct leaves {
    uint16_t *list; /* property indexes */
    size_t count;
    bool has_structs;
};

struct join {
    struct event_schema *schema;
    const struct event_schema *definition; /* NULL: none */
    const struct schema_parameters *parameters;
    struct leaves leaves;
    bool is_other; /* the definition is about another event: the record has none of its values */
};

struct event_record schema_log_question(const struct event_record *record)
{
    return (struct event_record){.kind = RECORD_EVENT,
        .present = RECORD_HAS_TIME,
        .pointer_size = record->pointer_size,
        .time = record->time,
        .provider = record->provider,
        .descriptor = record->descriptor,
        .trace = record->trace};
}

const struct event_schema *schema_log_best(const struct schema_candidates *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (found->list[i]->message.size) {
            return found->list[i];
        }
    }
    return found->count ? found->list[0] : NULL;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void collect( // NOLINT(misc-no-recursion): as deep as schema_finish lets structs be
    const struct event_schema *schema, size_t first, size_t count, struct leaves *leaves)
{
    for (size_t i = first; i < first + count; i++) {
        const struct schema_field *field = &schema->fields[i];
        if ((field->flags & FIELD_STRUCT) && !field->is_array) {
            leaves->has_structs = true;
            collect(schema, field->struct_start, field->struct_members, leaves);
        } else {
            leaves->list[leaves->count++] = (uint16_t)i;
        }
    }
}

/* Position, from 0, of the value ${name}; NONE: there is none. */
static uint16_t find_leaf(const struct join *join, struct span name)
{
    for (size_t i = 0; i < join->leaves.count; i++) {
        if (span_equal(join->schema->fields[join->leaves.list[i]].name, name)) {
            return (uint16_t)i;
        }
    }
    return NONE;
}

/* Position, from 0, of the value for property ${number}, from 1, of the definition; NONE: the
 * record lacks it. */
static uint16_t find_value(const struct join *join, unsigned number)
{
    char text[16];
    uint16_t leaf = NONE;
    if (number <= join->definition->top_count) {
        leaf = find_leaf(join, join->definition->fields[number - 1].name);
    }
    if (leaf == NONE) { /* the record's Data elements may have no names */
        snprintf(text, sizeof(text), "param%u", number);
        leaf = find_leaf(join, span_text(text));
    }
    return leaf;
}

static bool is_number(const struct schema_field *field)
{
    return schema_is_integer(field->in_type) && !field->pointer_sized && !field->is_array;
}

static bool is_text(const struct schema_field *field)
{
    return field->form == FORM_UTF16 || field->form == FORM_ANSI || field->form == FORM_UTF8;
}

static bool is_bytes(const struct schema_field *field)
{
    return field->in_type == IN_BINARY || field->in_type == IN_MANIFEST_COUNTED_BINARY;
}

/* Show a value as the definition does, if both are of the same kind. */
static void adopt(struct schema_field *to, const struct schema_field *from)
{
    bool are_numbers = is_number(to) && is_number(from) && to->fixed_size == from->fixed_size;
    bool are_alike = are_numbers || to->in_type == from->in_type ||
                     (is_text(to) && is_text(from)) || (is_bytes(to) && is_bytes(from));
    if ((from->flags & FIELD_STRUCT) || to->is_array != from->is_array || !are_alike) {
        return;
    }
    if (from->out_type != OUT_NULL && schema_forms_of(to->in_type, from->out_type)) {
        to->out_type = from->out_type;
    }
    if (are_numbers) {
        to->map = from->map;
    }
}

static void adopt_all(struct join *join)
{
    join->is_other = join->definition && join->definition->top_count && join->leaves.count;
    for (uint16_t i = 0; join->definition && i < join->definition->top_count; i++) {
        uint16_t leaf = find_value(join, i + 1u);
        if (leaf != NONE) {
            join->is_other = false;
            adopt(&join->schema->fields[join->leaves.list[leaf]], &join->definition->fields[i]);
        }
    }
    for (size_t i = 0; join->parameters && i < join->leaves.count; i++) {
        struct schema_field *field = &join->schema->fields[join->leaves.list[i]];
        field->parameters = field->form == FORM_UTF16 && !field->is_array ? join->parameters : NULL;
    }
}

static bool copy_fields(struct event_schema *schema, struct arena *arena)
{
    struct schema_field *fields = arena_alloc_array(arena, schema->field_count, sizeof(*fields));
    if (!fields) {
        return false;
    }
    for (size_t i = 0; i < schema->field_count; i++) {
        fields[i] = schema->fields[i];
        fields[i].flags &= (uint16_t)~FIELD_IS_NUMBER;
        fields[i].json_key = fields[i].name_key = fields[i].raw_key = span_make(NULL, 0);
        fields[i].runs = NULL;
    }
    schema->fields = fields;
    return true;
}

/* ---- the message ----------------------------------------------------------------------------- */

/* Number, from 1, of the value that insert ${number} means. 0: the record lacks it. NONE: the
 * definition has no such property. */
static uint16_t value_of(const struct join *join, unsigned number)
{
    uint16_t leaf = find_value(join, number);
    return leaf != NONE ? (uint16_t)(leaf + 1) : number <= join->definition->top_count ? 0 : NONE;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool has_format(struct span rest)
{
    return rest.size && rest.data[0] == '!';
}

/* Size of the insert at ${at}: `%` and a number, whose first digit is not 0. */
static size_t insert_size(struct span text, size_t at, unsigned *ret_number)
{
    *ret_number = text.data[at + 1] - (unsigned)'0';
    if (at + 2 < text.size && is_digit(text.data[at + 2])) {
        *ret_number = *ret_number * 10 + (text.data[at + 2] - (unsigned)'0');
        return 3;
    }
    return 2;
}

/* Translate an insert of the definition into one of the record. Returns the number of bytes
 * read. */
static size_t add_insert(const struct join *join, struct span text, size_t at, struct buf *out)
{
    unsigned number;
    size_t size = insert_size(text, at, &number);
    uint16_t value = value_of(join, number);
    struct span rest = span_from(text, at + size);
    if (value == NONE) { /* it is shown as written */
        buf_add_byte(out, '%');
        buf_add(out, text.data + at, size);
    } else if (value > 0 && value <= MAX_INSERT) {
        buf_printf(out, "%%%u", value);
        if (value < 10 && rest.size && is_digit(rest.data[0])) {
            buf_add_text(out, "!s!"); /* the digit is text, not part of the number */
        }
    } else if (has_format(rest)) {
        const uint8_t *close = memchr(rest.data + 1, '!', rest.size - 1);
        size += close ? (size_t)(close + 1 - rest.data) : 0;
    }
    return size;
}

static void add_escaped(struct span text, struct buf *out)
{
    for (size_t i = 0; i < text.size; i++) {
        buf_add_byte(out, text.data[i]);
        if (text.data[i] == '%') {
            buf_add_byte(out, '%');
        }
    }
}

/* `%%` at ${at}: a percent sign, or with a number after it a parameter text of the provider. */
static size_t add_double(const struct join *join, struct span text, size_t at, struct buf *out)
{
    uint64_t number = 0;
    size_t end = at + 2;
    for (; end < text.size && is_digit(text.data[end]) && number <= UINT32_MAX; end++) {
        number = number * 10 + (text.data[end] - (unsigned)'0');
    }
    struct span parameter = end > at + 2 && number <= UINT32_MAX
                                ? schema_parameters_find(join->parameters, (uint32_t)number)
                                : span_make(NULL, 0);
    if (parameter.data) {
        add_escaped(parameter, out);
        return end - at;
    }
    buf_add_text(out, "%%");
    return 2;
}

static void rewrite(const struct join *join, struct span text, struct buf *out)
{
    for (size_t at = 0; at < text.size && !out->failed;) {
        uint8_t c = text.data[at];
        uint8_t next = at + 1 < text.size ? text.data[at + 1] : 0;
        if (c == '%' && next >= '1' && next <= '9') {
            at += add_insert(join, text, at, out);
        } else if (c == '%' && next == '%') {
            at += add_double(join, text, at, out);
        } else if (c == '%' && next) {
            buf_add(out, text.data + at, 2);
            at += 2;
        } else {
            if (c != '\r' || next != '\n') { /* as evtx_event_set_message does */
                buf_add_byte(out, c);
            }
            at++;
        }
    }
}

static bool set_message(struct join *join, struct arena *arena)
{
    struct span text = join->definition && !join->is_other ? join->definition->message
                                                           : span_make(NULL, 0);
    while (text.size && span_is_blank(text.data[text.size - 1])) {
        text.size--;
    }
    struct buf out;
    buf_init(&out, MAX_MESSAGE_BYTES);
    if (text.size) {
        rewrite(join, text, &out);
    }
    bool ok = !out.failed && arena_copy(arena, buf_span(&out), &join->schema->message);
    buf_fini(&out);
    join->schema->inserts_are_leaves = join->leaves.has_structs;
    return ok;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_names(struct event_schema *schema, const struct event_schema *definition)
{
    schema->descriptor = definition->descriptor;
    schema->descriptor.channel = 0; /* a record names its channel itself */
    if (schema->channel_name.size == 0) {
        schema->channel_name = definition->channel_name;
    }
    schema->unstated = definition->unstated;
    schema->level_name = definition->level_name;
    schema->task_name = definition->task_name;
    schema->opcode_name = definition->opcode_name;
    schema->keywords = definition->keywords;
    schema->keyword_count = definition->keyword_count;
}

static bool add_all(struct join *join, struct arena *arena)
{
    struct event_schema *schema = join->schema;
    struct error err = {0};
    collect(schema, 0, schema->top_count, &join->leaves);
    adopt_all(join);
    if (!set_message(join, arena)) {
        return false;
    }
    if (join->definition) {
        add_names(schema, join->definition);
    }
    return schema_finish(schema, arena, &err);
}

struct event_schema *schema_log_join(const struct event_schema *own,
    const struct event_schema *definition, const struct schema_parameters *parameters,
    struct arena *arena)
{
    if (parameters && definition &&
        !languages_go_together(definition->language, parameters->language)) {
        parameters = NULL;
    }
    if (!own->has_layout || (!definition && !parameters)) {
        return NULL;
    }
    struct event_schema *schema = arena_alloc(arena, sizeof(*schema));
    if (!schema) {
        return NULL;
    }
    *schema = *own;
    schema->serial = 0;
    struct join join = {.schema = schema,
        .definition = definition,
        .parameters = parameters,
        .leaves = {.list = malloc((own->field_count + 1u) * sizeof(*join.leaves.list))}};
    bool ok = join.leaves.list && copy_fields(schema, arena) && add_all(&join, arena);
    free(join.leaves.list);
    return ok ? schema : NULL;
}

/* ---- providers without messages -------------------------------------------------------------- */

struct schema_log_name {
    struct span text;
    struct schema_log_name *next;
};

void schema_log_silent_init(struct schema_log_silent *silent)
{
    *silent = (struct schema_log_silent){.first = NULL};
    arena_init_small(&silent->arena, MAX_SILENT_BYTES, NULL);
    map_init(&silent->names, MAX_SILENT);
}

void schema_log_silent_fini(struct schema_log_silent *silent)
{
    map_fini(&silent->names);
    arena_fini(&silent->arena);
}

bool schema_log_silent_add(struct schema_log_silent *silent, struct span provider)
{
    if (map_get(&silent->names, provider)) {
        return false;
    }
    struct schema_log_name *name = arena_alloc(&silent->arena, sizeof(*name));
    if (!name || !arena_copy(&silent->arena, provider, &name->text) ||
        !map_put(&silent->names, name->text, name)) {
        return false;
    }
    *(silent->last ? &silent->last->next : &silent->first) = name;
    silent->last = name;
    return true;
}

bool schema_log_silent_next(struct schema_log_silent *silent, struct span *ret_provider)
{
    struct schema_log_name *next = silent->told ? silent->told->next : silent->first;
    if (next) {
        silent->told = next;
        *ret_provider = next->text;
    }
    return next != NULL;
}
