#include "event/model/schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/put.h"
#include "base/utf.h"
#include "event/model/event.h"
#include "event/model/schema_forms.h"

/*
 * schema_finish prepares a source's layout so that the decoder needs no further checks: indexes are
 * in range, names are unique and rendered as JSON keys, every type pair has one value form, and the
 * leading fields of constant offset are known.
 */

bool schema_is_integer(uint16_t in_type)
{
    switch (in_type) {
    case IN_INT8:
    case IN_UINT8:
    case IN_INT16:
    case IN_UINT16:
    case IN_INT32:
    case IN_UINT32:
    case IN_INT64:
    case IN_UINT64:
    case IN_HEX_INT32:
    case IN_HEX_INT64:
    case IN_POINTER:
    case IN_SIZE_T:
        return true;
    default:
        return false;
    }
}

/* ---- checks ------------------------------------------------------------------------------ */

static bool fail(
    struct error *err, const struct event_schema *schema, size_t index, const char *what)
{
    struct span name = schema->fields[index].name;
    return error_set(err, ERR_FORMAT, "property %zu (%.*s): %s", index, SPAN_ARG(name), what);
}

static bool check_reference(
    struct event_schema *schema, size_t index, uint16_t target, const char *what, struct error *err)
{
    if (target >= schema->field_count || target == index) {
        return fail(err, schema, index, what);
    }
    struct schema_field *holder = &schema->fields[target];
    if ((holder->flags & FIELD_STRUCT) || !schema_is_integer(holder->in_type)) {
        return fail(err, schema, index, what);
    }
    holder->flags |= FIELD_IS_NUMBER;
    return true;
}

/* Members follow their struct, so one pass from the last field to the first finds every depth, and
 * no struct can contain itself. Each member belongs to one struct: shared members would let a few
 * properties expand to very many. */
static bool check_structs(
    struct event_schema *schema, uint8_t *depth, uint8_t *is_member, struct error *err)
{
    for (size_t i = schema->field_count; i-- > 0;) {
        const struct schema_field *field = &schema->fields[i];
        if (!(field->flags & FIELD_STRUCT)) {
            continue;
        }
        size_t end = (size_t)field->struct_start + field->struct_members;
        if (end > schema->field_count ||
            (field->struct_members &&
                (field->struct_start <= i || field->struct_start < schema->top_count))) {
            return fail(err, schema, i, "members out of range");
        }
        uint8_t below = 0;
        for (size_t k = field->struct_start; k < end; k++) {
            if (is_member[k]) {
                return fail(err, schema, k, "member of two structs");
            }
            is_member[k] = true;
            below = depth[k] > below ? depth[k] : below;
        }
        depth[i] = (uint8_t)(below + 1);
        if (depth[i] > SCHEMA_MAX_DEPTH) {
            return fail(err, schema, i, "structs nested too deep");
        }
    }
    return true;
}

static bool check_fields(struct event_schema *schema, struct error *err)
{
    if (schema->field_count > SCHEMA_MAX_FIELDS || schema->top_count > schema->field_count) {
        return error_set(err, ERR_LIMIT, "%u properties; at most %d are read", schema->field_count,
            SCHEMA_MAX_FIELDS);
    }
    for (size_t i = 0; i < schema->field_count; i++) {
        struct schema_field *field = &schema->fields[i];
        if ((field->flags & FIELD_PARAM_LENGTH) &&
            !check_reference(
                schema, i, field->length, "its length is not another integer property", err)) {
            return false;
        }
        if ((field->flags & FIELD_PARAM_COUNT) &&
            !check_reference(
                schema, i, field->count, "its count is not another integer property", err)) {
            return false;
        }
        if (!(field->flags & FIELD_STRUCT) &&
            schema_forms_of(field->in_type, field->out_type) == 0) {
            return fail(err, schema, i, "unknown type");
        }
    }
    uint8_t *depth = calloc(schema->field_count + 1u, 2);
    if (!depth) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    bool ok = check_structs(schema, depth, depth + schema->field_count, err);
    free(depth);
    return ok;
}

/* ---- names -------------------------------------------------------------------------------- */

/* `,"name":`, or with a suffix `,"name_name":`, escaped, for put_padded. */
static bool render_key(
    struct arena *arena, struct span name, const char *suffix, struct span *ret_key)
{
    size_t suffix_size = strlen(suffix);
    uint8_t *escaped = malloc(utf8_json_bound(name.size));
    if (!escaped) {
        return false;
    }
    size_t size = utf8_to_json(name, escaped);
    uint8_t *key = arena_alloc(arena, size + suffix_size + 4 + PUT_PADDING);
    if (key) {
        memcpy(key, ",\"", 2);
        memcpy(key + 2, escaped, size);
        memcpy(key + 2 + size, suffix, suffix_size);
        memcpy(key + 2 + size + suffix_size, "\":", 2);
        *ret_key = span_make(key, size + suffix_size + 4);
    }
    free(escaped);
    return key != NULL;
}

/* Broken UTF-8 becomes U+FFFD in JSON: two names that differ only there would be one. */
static bool mend_name(struct arena *arena, struct span *name)
{
    enum { REPLACEMENT_BYTES = 3 };
    uint8_t *text = arena_alloc(arena, name->size * REPLACEMENT_BYTES);
    size_t size = 0;
    for (size_t at = 0; text && at < name->size;) {
        size += utf8_put(utf8_next(*name, &at), text + size);
    }
    *name = span_make(text, size);
    return text != NULL;
}

/* The name as JSON shows it: dots become `_`, an empty one is called by its place. */
static bool clean_name(struct arena *arena, size_t index, struct span *name)
{
    char generated[24];
    struct span source = *name;
    if (source.size == 0) {
        snprintf(generated, sizeof(generated), "field_%zu", index);
        source = span_text(generated);
    }
    struct span copy;
    if (!arena_copy(arena, source, &copy)) {
        return false;
    }
    uint8_t *bytes = (uint8_t *)(uintptr_t)copy.data;
    bool is_ascii = true;
    for (size_t i = 0; i < copy.size; i++) {
        if (bytes[i] == '.') {
            bytes[i] = '_';
        }
        is_ascii &= bytes[i] < 0x80;
    }
    *name = copy;
    return is_ascii || mend_name(arena, name);
}

/* Append _2, _3, … until ${field}'s name is not in ${taken}. */
static bool make_unique(struct arena *arena, struct map *taken, struct schema_field *field)
{
    enum { SUFFIX_SIZE = 12 };
    struct span base = field->name;
    if (map_get(taken, base)) {
        uint8_t *copy = arena_alloc(arena, base.size + SUFFIX_SIZE);
        if (!copy) {
            return false;
        }
        memcpy(copy, base.data, base.size);
        for (unsigned n = 2; map_get(taken, field->name); n++) {
            int digits = snprintf((char *)copy + base.size, SUFFIX_SIZE, "_%u", n);
            field->name = span_make(copy, base.size + (size_t)digits);
        }
    }
    return map_put(taken, field->name, field);
}

/* A number that has a name as text. */
static bool is_code(const struct schema_field *field)
{
    switch (field->form) {
    case FORM_NTSTATUS:
    case FORM_HRESULT:
    case FORM_WIN32_ERROR:
        return true;
    default:
        return field->map != NULL;
    }
}

static bool may_have_name(const struct schema_field *field)
{
    return is_code(field) || field->form == FORM_FLOAT || field->form == FORM_DOUBLE ||
           (field->parameters && field->form == FORM_UTF16);
}

static bool is_free(struct map *taken, struct span name, const char *suffix)
{
    uint8_t text[512];
    size_t suffix_size = strlen(suffix);
    if (name.size + suffix_size > sizeof(text)) {
        return false; /* not worth a search */
    }
    memcpy(text, name.data, name.size);
    memcpy(text + name.size, suffix, suffix_size);
    return map_get(taken, span_make(text, name.size + suffix_size)) == NULL;
}

/* Names and keys of the siblings [first, first + count). */
static bool finish_names(
    struct event_schema *schema, size_t first, size_t count, struct arena *arena)
{
    struct map taken;
    map_init(&taken, SCHEMA_MAX_FIELDS);
    bool ok = true;
    for (size_t i = first; ok && i < first + count; i++) {
        struct schema_field *field = &schema->fields[i];
        ok = clean_name(arena, i, &field->name) && make_unique(arena, &taken, field);
    }
    for (size_t i = first; ok && i < first + count; i++) {
        struct schema_field *field = &schema->fields[i];
        ok = render_key(arena, field->name, "", &field->json_key);
        schema->has_long_names |= field->name.size > SCHEMA_LONG_NAME_BYTES;
        if (ok && may_have_name(field) && is_free(&taken, field->name, "_name")) {
            ok = render_key(arena, field->name, "_name", &field->name_key);
        }
        if (ok && is_code(field) && is_free(&taken, field->name, "_raw")) {
            ok = render_key(arena, field->name, "_raw", &field->raw_key);
        }
        field->is_special = field->name_key.size || field->form == FORM_SID ||
                            field->form == FORM_SOCKET_ADDRESS;
    }
    map_fini(&taken);
    return ok;
}

/* ---- derived members ------------------------------------------------------------------------ */

static enum field_take take_of(const struct schema_field *field)
{
    if (field->is_array || (field->flags & (FIELD_STRUCT | FIELD_OPTIONAL | FIELD_IS_NUMBER))) {
        return TAKE_GENERAL;
    }
    if (field->pointer_sized) {
        return TAKE_POINTER;
    }
    if (field->fixed_size) {
        return TAKE_FIXED;
    }
    switch (field->in_type) {
    case IN_UNICODE_STRING:
        return field->may_hold_nul ? TAKE_GENERAL : TAKE_TEXT16;
    case IN_ANSI_STRING:
        return field->may_hold_nul ? TAKE_GENERAL : TAKE_TEXT8;
    case IN_MANIFEST_COUNTED_STRING:
    case IN_MANIFEST_COUNTED_ANSI_STRING:
    case IN_MANIFEST_COUNTED_BINARY:
    case IN_COUNTED_STRING:
    case IN_COUNTED_ANSI_STRING:
        return TAKE_COUNTED;
    default:
        return TAKE_GENERAL;
    }
}

static void finish_types(struct event_schema *schema)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        struct schema_field *field = &schema->fields[i];
        field->is_array = (field->flags & (FIELD_PARAM_COUNT | FIELD_FIXED_COUNT |
                                              FIELD_REST_COUNT | FIELD_COUNTED)) ||
                          field->count > 1;
        if (!field->is_array) {
            field->count = 1;
        }
        field->take = TAKE_GENERAL;
        field->runs = NULL;
        if (field->flags & FIELD_STRUCT) {
            continue;
        }
        field->form = (uint8_t)schema_forms_of(field->in_type, field->out_type);
        field->pointer_sized = field->in_type == IN_POINTER || field->in_type == IN_SIZE_T;
        field->fixed_size = schema_forms_fixed_size(field->in_type);
        field->may_hold_nul = (field->in_type != IN_UNICODE_STRING &&
                                  field->in_type != IN_ANSI_STRING) ||
                              field->length ||
                              (field->flags & (FIELD_PARAM_LENGTH | FIELD_FIXED_LENGTH));
        if (!field->pointer_sized && (field->fixed_size == 0 || field->fixed_size > 8)) {
            field->map = NULL; /* of numbers only */
        }
        field->take = (uint8_t)take_of(field);
        schema->has_numbers |= (field->flags & FIELD_IS_NUMBER) != 0;
        schema->uses_pointers |= field->pointer_sized || field->in_type == IN_WBEM_SID;
    }
}

static bool is_fixed(const struct schema_field *field)
{
    return !field->is_array && !(field->flags & (FIELD_STRUCT | FIELD_OPTIONAL)) &&
           (field->fixed_size || field->pointer_sized);
}

/* How many fields from ${first} on form a run. */
static size_t run_length(const struct schema_field *first, size_t count)
{
    /* Sizes of values and records are 16 bits at most. */
    enum { MAX_RUN = UINT16_MAX / 16 };
    size_t length = 0;
    while (length < count && length < MAX_RUN && is_fixed(&first[length])) {
        length++;
    }
    return length;
}

static bool finish_run(struct schema_field *first, size_t length, struct arena *arena)
{
    struct schema_run *runs = arena_alloc_array(arena, 2, sizeof(*runs));
    for (unsigned wide = 0; runs && wide < 2; wide++) {
        struct field *fields = arena_alloc_array(arena, length, sizeof(*fields));
        if (!fields) {
            return false;
        }
        uint32_t bytes = 0;
        bool has_numbers = false;
        for (uint32_t i = 0; i < length; i++) {
            uint8_t size = first[i].pointer_sized ? (wide ? 8 : 4) : first[i].fixed_size;
            fields[i] = (struct field){.schema = &first[i],
                .data = (const uint8_t *)(uintptr_t)bytes,
                .size = size,
                .count = 1,
                .end = i + 1,
                .shape = FIELD_VALUE,
                .value_bytes = size};
            bytes += size;
            has_numbers |= (first[i].flags & FIELD_IS_NUMBER) != 0;
        }
        runs[wide] = (struct schema_run){.fields = fields,
            .count = (uint16_t)length,
            .bytes = bytes,
            .has_numbers = has_numbers};
    }
    first->runs = runs;
    return runs != NULL;
}

/* A single field is no run: that would cost more than it saves. */
static bool finish_siblings(struct schema_field *fields, size_t count, struct arena *arena)
{
    for (size_t i = 0; i < count;) {
        size_t length = run_length(&fields[i], count - i);
        if (length > 1 && !finish_run(&fields[i], length, arena)) {
            return false;
        }
        i += length ? length : 1;
    }
    return true;
}

static bool finish_runs(struct event_schema *schema, struct arena *arena)
{
    bool ok = finish_siblings(schema->fields, schema->top_count, arena);
    for (size_t i = 0; ok && i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        if (field->flags & FIELD_STRUCT) {
            ok = finish_siblings(
                schema->fields + field->struct_start, field->struct_members, arena);
        }
    }
    return ok;
}

bool schema_finish(struct event_schema *schema, struct arena *arena, struct error *err)
{
    schema->uses_pointers = false;
    schema->has_numbers = false;
    schema->has_long_names = false;
    if (!check_fields(schema, err)) {
        return false;
    }
    finish_types(schema);
    bool ok = finish_names(schema, 0, schema->top_count, arena);
    for (size_t i = 0; ok && i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        if (field->flags & FIELD_STRUCT) {
            ok = finish_names(schema, field->struct_start, field->struct_members, arena);
        }
    }
    if (!ok || !finish_runs(schema, arena)) {
        return error_set(err, ERR_MEMORY, "no memory left for event schemas");
    }
    return true;
}

/* ---- predefined names ------------------------------------------------------------------------ */

const char *schema_kind_name(enum schema_kind kind)
{
    static const char *const names[] = {
        [SCHEMA_UNKNOWN] = "unknown",
        [SCHEMA_MANIFEST] = "manifest",
        [SCHEMA_EVENTSOURCE] = "eventsource",
        [SCHEMA_TRACELOGGING] = "tracelogging",
        [SCHEMA_MOF] = "mof",
        [SCHEMA_WPP] = "wpp",
        [SCHEMA_STRING] = "string",
        [SCHEMA_EVENTLOG] = "eventlog",
    };
    return names[kind];
}

const char *schema_level_name(uint8_t level)
{
    static const char *const names[] = {
        NULL, "Critical", "Error", "Warning", "Information", "Verbose"};
    return level < sizeof(names) / sizeof(names[0]) ? names[level] : NULL;
}

const char *schema_opcode_name(uint8_t opcode)
{
    static const char *const names[] = {"Info", "Start", "Stop", "DC_Start", "DC_Stop", "Extension",
        "Reply", "Resume", "Suspend", "Send"};
    if (opcode == 240) {
        return "Receive";
    }
    return opcode < sizeof(names) / sizeof(names[0]) ? names[opcode] : NULL;
}
