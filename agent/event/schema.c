#include "event/schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/utf.h"

/*
 * schema_finish turns what a source found into something the decoder can run without asking again:
 * indexes are proven in range, names are unique and rendered as JSON keys, every type pair has
 * become one value form, and the leading fields of constant offset are known.
 */

static bool is_integer(uint16_t in_type)
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

/* ---- forms: what a pair of types means -------------------------------------------------- */

static enum value_form form_of_string(uint16_t in_type, uint16_t out_type)
{
    switch (in_type) {
    case IN_ANSI_STRING:
    case IN_MANIFEST_COUNTED_ANSI_STRING:
    case IN_COUNTED_ANSI_STRING:
    case IN_REVERSED_COUNTED_ANSI_STRING:
    case IN_NON_NUL_TERMINATED_ANSI_STRING:
        return out_type == OUT_UTF8 || out_type == OUT_XML || out_type == OUT_JSON ? FORM_UTF8
                                                                                   : FORM_ANSI;
    default:
        return FORM_UTF16;
    }
}

static enum value_form form_of_8_bits(bool is_signed, uint16_t out_type)
{
    switch (out_type) {
    case OUT_STRING:
        return FORM_CHAR8;
    case OUT_BOOLEAN:
        return FORM_BOOL8;
    case OUT_HEX_INT8:
    case OUT_HEX_INT16:
    case OUT_HEX_INT32:
    case OUT_HEX_INT64:
        return FORM_HEX8;
    case OUT_UNSIGNED_BYTE:
        return FORM_UINT8;
    case OUT_BYTE:
        return FORM_INT8;
    default:
        return is_signed ? FORM_INT8 : FORM_UINT8;
    }
}

static enum value_form form_of_16_bits(bool is_signed, uint16_t out_type)
{
    switch (out_type) {
    case OUT_STRING:
        return FORM_CHAR16;
    case OUT_BOOLEAN:
        return FORM_BOOL16;
    case OUT_PORT:
        return FORM_PORT;
    case OUT_HEX_INT16:
    case OUT_HEX_INT32:
    case OUT_HEX_INT64:
    case OUT_ERROR_CODE:
        return FORM_HEX16;
    case OUT_UNSIGNED_SHORT:
        return FORM_UINT16;
    case OUT_SHORT:
        return FORM_INT16;
    default:
        return is_signed ? FORM_INT16 : FORM_UINT16;
    }
}

static enum value_form form_of_32_bits(bool is_signed, uint16_t out_type)
{
    switch (out_type) {
    case OUT_BOOLEAN:
        return FORM_BOOL32;
    case OUT_IPV4:
        return FORM_IPV4;
    case OUT_HEX_INT32:
    case OUT_HEX_INT64:
    case OUT_ERROR_CODE:
    case OUT_CODE_POINTER:
        return FORM_HEX32;
    case OUT_NTSTATUS:
        return FORM_NTSTATUS;
    case OUT_HRESULT:
        return FORM_HRESULT;
    case OUT_WIN32_ERROR:
        return FORM_WIN32_ERROR;
    case OUT_PID:
    case OUT_TID:
    case OUT_UNSIGNED_INT:
        return FORM_UINT32;
    case OUT_INT:
        return FORM_INT32;
    default:
        return is_signed ? FORM_INT32 : FORM_UINT32;
    }
}

static enum value_form form_of_64_bits(bool is_signed, uint16_t out_type)
{
    switch (out_type) {
    case OUT_HEX_INT64:
    case OUT_HEX_INT32:
    case OUT_CODE_POINTER:
    case OUT_ERROR_CODE:
        return FORM_HEX64;
    case OUT_DATETIME:
    case OUT_DATETIME_UTC:
    case OUT_CULTURE_INSENSITIVE_DATETIME:
        return FORM_FILETIME;
    case OUT_UNSIGNED_LONG:
    case OUT_PID:
    case OUT_TID:
        return FORM_UINT64;
    case OUT_LONG:
        return FORM_INT64;
    default:
        return is_signed ? FORM_INT64 : FORM_UINT64;
    }
}

static enum value_form form_of_pointer(uint16_t out_type)
{
    switch (out_type) {
    case OUT_LONG:
    case OUT_INT:
        return FORM_POINTER_SINT;
    case OUT_UNSIGNED_LONG:
    case OUT_UNSIGNED_INT:
    case OUT_PID:
    case OUT_TID:
        return FORM_POINTER_INT;
    default:
        return FORM_POINTER;
    }
}

static enum value_form form_of_binary(uint16_t out_type)
{
    switch (out_type) {
    case OUT_IPV6:
        return FORM_IPV6;
    case OUT_SOCKET_ADDRESS:
        return FORM_SOCKET_ADDRESS;
    default:
        return FORM_BINARY;
    }
}

static enum value_form form_of(uint16_t in_type, uint16_t out_type)
{
    switch (in_type) {
    case IN_INT8:
    case IN_UINT8:
        return form_of_8_bits(in_type == IN_INT8, out_type);
    case IN_INT16:
    case IN_UINT16:
        return form_of_16_bits(in_type == IN_INT16, out_type);
    case IN_INT32:
    case IN_UINT32:
        return form_of_32_bits(in_type == IN_INT32, out_type);
    case IN_HEX_INT32:
        return form_of_32_bits(false, out_type == OUT_NULL ? OUT_HEX_INT32 : out_type);
    case IN_INT64:
    case IN_UINT64:
        return form_of_64_bits(in_type == IN_INT64, out_type);
    case IN_HEX_INT64:
        return form_of_64_bits(false, out_type == OUT_NULL ? OUT_HEX_INT64 : out_type);
    case IN_FLOAT:
        return FORM_FLOAT;
    case IN_DOUBLE:
        return FORM_DOUBLE;
    case IN_BOOLEAN:
        return FORM_BOOL32;
    case IN_BINARY:
    case IN_MANIFEST_COUNTED_BINARY:
    case IN_HEX_DUMP:
        return form_of_binary(out_type);
    case IN_GUID:
        return FORM_GUID;
    case IN_POINTER:
    case IN_SIZE_T:
        return form_of_pointer(out_type);
    case IN_FILETIME:
        return FORM_FILETIME;
    case IN_SYSTEMTIME:
        return out_type == OUT_DATETIME_UTC ? FORM_SYSTEMTIME_UTC : FORM_SYSTEMTIME;
    case IN_SID:
    case IN_WBEM_SID:
        return FORM_SID;
    case IN_UNICODE_CHAR:
        return FORM_CHAR16;
    case IN_ANSI_CHAR:
        return FORM_CHAR8;
    case IN_WMI_TIME:
        return FORM_WMI_TIME;
    case IN_UNICODE_STRING:
    case IN_ANSI_STRING:
    case IN_MANIFEST_COUNTED_STRING:
    case IN_MANIFEST_COUNTED_ANSI_STRING:
    case IN_COUNTED_STRING:
    case IN_COUNTED_ANSI_STRING:
    case IN_REVERSED_COUNTED_STRING:
    case IN_REVERSED_COUNTED_ANSI_STRING:
    case IN_NON_NUL_TERMINATED_STRING:
    case IN_NON_NUL_TERMINATED_ANSI_STRING:
        return form_of_string(in_type, out_type);
    default:
        return FORM_NONE;
    }
}

static uint8_t fixed_size_of(uint16_t in_type)
{
    switch (in_type) {
    case IN_INT8:
    case IN_UINT8:
    case IN_ANSI_CHAR:
        return 1;
    case IN_INT16:
    case IN_UINT16:
    case IN_UNICODE_CHAR:
        return 2;
    case IN_INT32:
    case IN_UINT32:
    case IN_HEX_INT32:
    case IN_FLOAT:
    case IN_BOOLEAN:
        return 4;
    case IN_INT64:
    case IN_UINT64:
    case IN_HEX_INT64:
    case IN_DOUBLE:
    case IN_FILETIME:
    case IN_WMI_TIME:
        return 8;
    case IN_GUID:
    case IN_SYSTEMTIME:
        return 16;
    default:
        return 0;
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
    if ((holder->flags & FIELD_STRUCT) || !is_integer(holder->in_type)) {
        return fail(err, schema, index, what);
    }
    holder->flags |= FIELD_IS_NUMBER;
    return true;
}

/* Members stand behind their struct, so one pass from the last field to the first knows every
 * depth, and no struct can hold itself. Each belongs to one struct alone, or else a few properties
 * could stand for very many. */
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
            !check_reference(schema, i, field->length, "its length is no earlier integer", err)) {
            return false;
        }
        if ((field->flags & FIELD_PARAM_COUNT) &&
            !check_reference(schema, i, field->count, "its count is no earlier integer", err)) {
            return false;
        }
        if (!(field->flags & FIELD_STRUCT) && form_of(field->in_type, field->out_type) == 0) {
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

/* Keys are copied in blocks of 32 bytes by the writers: leave that much readable behind them. */
enum { KEY_PADDING = 32 };

/* `"name":`, or with a suffix `"name_name":`, escaped. */
static bool render_key(
    struct arena *arena, struct span name, const char *suffix, struct span *ret_key)
{
    size_t suffix_size = strlen(suffix);
    uint8_t *escaped = malloc(utf8_json_bound(name.size));
    if (!escaped) {
        return false;
    }
    size_t size = utf8_to_json(name, escaped);
    uint8_t *key = arena_alloc(arena, size + suffix_size + 3 + KEY_PADDING);
    if (key) {
        key[0] = '"';
        memcpy(key + 1, escaped, size);
        memcpy(key + 1 + size, suffix, suffix_size);
        memcpy(key + 1 + size + suffix_size, "\":", 2);
        *ret_key = span_make(key, size + suffix_size + 3);
    }
    free(escaped);
    return key != NULL;
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
    for (size_t i = 0; i < copy.size; i++) {
        if (bytes[i] == '.') {
            bytes[i] = '_';
        }
    }
    *name = copy;
    return true;
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

static bool may_have_name(const struct schema_field *field)
{
    switch (field->form) {
    case FORM_NTSTATUS:
    case FORM_HRESULT:
    case FORM_WIN32_ERROR:
    case FORM_FLOAT:
    case FORM_DOUBLE:
        return true;
    default:
        return field->map != NULL;
    }
}

static bool name_is_free(struct map *taken, struct span name)
{
    uint8_t text[512];
    if (name.size + 5 > sizeof(text)) {
        return true;
    }
    memcpy(text, name.data, name.size);
    memcpy(text + name.size, "_name", 5);
    return map_get(taken, span_make(text, name.size + 5)) == NULL;
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
        if (ok && may_have_name(field) && name_is_free(&taken, field->name)) {
            ok = render_key(arena, field->name, "_name", &field->name_key);
        }
    }
    map_fini(&taken);
    return ok;
}

/* ---- derived members ------------------------------------------------------------------------ */

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
        if (field->flags & FIELD_STRUCT) {
            continue;
        }
        field->form = (uint8_t)form_of(field->in_type, field->out_type);
        field->pointer_sized = field->in_type == IN_POINTER || field->in_type == IN_SIZE_T;
        field->fixed_size = fixed_size_of(field->in_type);
        if (!field->pointer_sized && (field->fixed_size == 0 || field->fixed_size > 8)) {
            field->map = NULL; /* of numbers only */
        }
        schema->uses_pointers |= field->pointer_sized || field->in_type == IN_WBEM_SID;
    }
}

static bool is_fixed(const struct schema_field *field)
{
    return !field->is_array && !(field->flags & (FIELD_STRUCT | FIELD_OPTIONAL)) &&
           (field->fixed_size || field->pointer_sized);
}

static bool finish_offsets(struct event_schema *schema, struct arena *arena)
{
    /* Offsets are 16 bits, as is the size of a record: further fields take the general way. */
    uint16_t count = 0;
    while (count < schema->top_count && count < UINT16_MAX / 16 - 1 &&
           is_fixed(&schema->fields[count])) {
        count++;
    }
    schema->fixed_fields = count;
    for (size_t wide = 0; wide < 2; wide++) {
        uint16_t *offsets = arena_alloc_array(arena, count + 1u, sizeof(*offsets));
        if (!offsets) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            const struct schema_field *field = &schema->fields[i];
            unsigned size = field->pointer_sized ? (wide ? 8 : 4) : field->fixed_size;
            offsets[i + 1] = (uint16_t)(offsets[i] + size);
        }
        schema->fixed_offsets[wide] = offsets;
    }
    return true;
}

bool schema_finish(struct event_schema *schema, struct arena *arena, struct error *err)
{
    schema->uses_pointers = false;
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
    if (!ok || !finish_offsets(schema, arena)) {
        return error_set(err, ERR_MEMORY, "no memory left for event schemas");
    }
    return true;
}

/* ---- predefined names -------------------------------------------------------------------------- */

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
