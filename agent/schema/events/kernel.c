#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "schema/events/kernel_class.h"
#include "schema/source/schema_source.h"

/*
 * Classic kernel event classes, from the table kernel_classes.def, which explains its rows. MOF
 * classes describe these events. Traces do not contain them, so they are built in.
 *
 * Creating the source only sorts (class, type, version) of all rows into an index. The field string
 * of a row is parsed when one of its types is first needed; all types of a row share the result.
 * Unit tests parse every row; a row that failed to parse would count as a type without layout. Not
 * thread-safe. Memory is bounded by the table and by MAX_BYTES.
 */
enum { MAX_BYTES = 16 * 1024 * 1024, MAX_TYPES = 256 };

#define SYSTEM_TRACE "MSNT_SystemTrace", "9e814aad-3204-11d2-9a82-006008a86939"

static const struct class_row {
    const char *name;
    const char *guid;
    const char *provider_name;
    const char *provider_guid;
} class_rows[CLASS_COUNT] = {
#define KERNEL_TYPE(symbol, version, types, fields)
#define KERNEL_NAME(symbol, type, name)
#define KERNEL_CLASS(symbol, name, guid, group) [CLASS_##symbol] = {name, guid, SYSTEM_TRACE},
#define KERNEL_CLASS_OF(symbol, name, guid, provider_name, provider_guid) \
    [CLASS_##symbol] = {name, guid, provider_name, provider_guid},
#include "schema/events/kernel_classes.def"
#undef KERNEL_CLASS
#undef KERNEL_CLASS_OF
#undef KERNEL_TYPE
#undef KERNEL_NAME
};

#define KERNEL_CLASS(symbol, name, guid, group)
#define KERNEL_CLASS_OF(symbol, name, guid, provider_name, provider_guid)

static const struct type_row {
    uint16_t class_number;
    uint8_t version;
    const char *types;
    const char *fields;
} type_rows[] = {
#define KERNEL_TYPE(symbol, version, types, fields) {CLASS_##symbol, version, types, fields},
#define KERNEL_NAME(symbol, type, name)
#include "schema/events/kernel_classes.def"
#undef KERNEL_TYPE
#undef KERNEL_NAME
};

static const struct name_row {
    uint16_t class_number;
    uint8_t type;
    const char *name;
} name_rows[] = {
#define KERNEL_TYPE(symbol, version, types, fields)
#define KERNEL_NAME(symbol, type, name) {CLASS_##symbol, type, name},
#include "schema/events/kernel_classes.def"
#undef KERNEL_TYPE
#undef KERNEL_NAME
#undef KERNEL_CLASS
#undef KERNEL_CLASS_OF
};

enum {
    TYPE_ROWS = sizeof(type_rows) / sizeof(type_rows[0]),
    NAME_ROWS = sizeof(name_rows) / sizeof(name_rows[0]),
};

/* An event type of a row. */
struct entry {
    uint16_t class_number;
    uint8_t type;
    uint8_t version;
    uint16_t row;
    struct event_schema *schema; /* set at the first request for the type */
};

struct kernel_source {
    struct arena arena;
    struct guid classes[CLASS_COUNT];
    struct guid providers[CLASS_COUNT];
    struct entry *entries; /* sorted by class, type, version (newest first), row */
    size_t entry_count;
    struct event_schema *layouts[TYPE_ROWS]; /* without names; set once parsed */
    /* names without layout; set at the first request */
    struct event_schema *bare[CLASS_COUNT][MAX_TYPES];
};

/* ---- field strings --------------------------------------------------------------------------- */

static const struct field_type {
    const char *name;
    uint16_t in_type;
    uint16_t out_type;
    uint16_t flags;
} field_types[] = {
    {"u8", IN_UINT8, OUT_NULL, 0},
    {"u16", IN_UINT16, OUT_NULL, 0},
    {"u32", IN_UINT32, OUT_NULL, 0},
    {"u64", IN_UINT64, OUT_NULL, 0},
    {"i8", IN_INT8, OUT_NULL, 0},
    {"i16", IN_INT16, OUT_NULL, 0},
    {"i32", IN_INT32, OUT_NULL, 0},
    {"i64", IN_INT64, OUT_NULL, 0},
    {"x8", IN_UINT8, OUT_HEX_INT8, 0},
    {"x16", IN_UINT16, OUT_HEX_INT16, 0},
    {"x32", IN_HEX_INT32, OUT_NULL, 0},
    {"x64", IN_HEX_INT64, OUT_NULL, 0},
    {"bool", IN_UINT8, OUT_BOOLEAN, 0},
    {"pid", IN_UINT32, OUT_PID, 0},
    {"tid", IN_UINT32, OUT_TID, 0},
    {"ptr", IN_POINTER, OUT_NULL, 0},
    {"ptrid", IN_POINTER, OUT_PID, 0},
    {"szt", IN_SIZE_T, OUT_NULL, 0},
    {"w0", IN_UNICODE_STRING, OUT_NULL, 0},
    {"a0", IN_ANSI_STRING, OUT_NULL, 0},
    {"a0utf8", IN_ANSI_STRING, OUT_UTF8, 0},
    {"c16", IN_UNICODE_STRING, OUT_NULL, FIELD_FIXED_LENGTH},
    {"bin", IN_BINARY, OUT_NULL, FIELD_FIXED_LENGTH},
    {"sid", IN_WBEM_SID, OUT_NULL, 0},
    {"ip4", IN_UINT32, OUT_IPV4, 0},
    {"ip6", IN_BINARY, OUT_IPV6, 0},
    {"port", IN_UINT16, OUT_PORT, 0},
    {"guid", IN_GUID, OUT_NULL, 0},
    {"filetime", IN_FILETIME, OUT_NULL, 0},
    {"wtime", IN_WMI_TIME, OUT_NULL, 0},
};

/* Remove and return the bytes before the first of ${marks}; all of ${text} if there is none. */
static struct span take_until(struct span *text, const char *marks)
{
    size_t size = 0;
    while (size < text->size && !strchr(marks, text->data[size])) {
        size++;
    }
    struct span taken = span_first(*text, size);
    *text = span_from(*text, size);
    return taken;
}

static bool take_mark(struct span *text, char mark)
{
    if (text->size == 0 || text->data[0] != (uint8_t)mark) {
        return false;
    }
    *text = span_from(*text, 1);
    return true;
}

/* Parse a decimal number of at most ${max}. */
static bool take_number(struct span *text, unsigned max, unsigned *ret_value)
{
    unsigned value = 0;
    size_t digits = 0;
    while (digits < text->size && text->data[digits] >= '0' && text->data[digits] <= '9') {
        value = value * 10 + (text->data[digits++] - '0');
        if (value > max) {
            return false;
        }
    }
    *text = span_from(*text, digits);
    *ret_value = value;
    return digits != 0;
}

static bool set_type(struct schema_field *field, struct span name)
{
    for (size_t i = 0; i < sizeof(field_types) / sizeof(field_types[0]); i++) {
        const struct field_type *type = &field_types[i];
        if (span_is(name, type->name)) {
            field->in_type = type->in_type;
            field->out_type = type->out_type;
            field->flags = type->flags;
            return true;
        }
    }
    return false;
}

/* Parse the text in brackets: a number, "rest", or the name of a field before ${index}. */
static bool set_count(struct schema_field *fields, size_t index, struct span text)
{
    struct schema_field *field = &fields[index];
    unsigned number;
    struct span rest = text;
    if (take_number(&rest, UINT16_MAX, &number) && rest.size == 0 && number > 0) {
        if (field->flags & FIELD_FIXED_LENGTH) {
            field->length = (uint16_t)number;
        } else {
            field->count = (uint16_t)number;
            field->flags |= FIELD_FIXED_COUNT;
        }
        return true;
    }
    if (field->flags & FIELD_FIXED_LENGTH) {
        return false;
    }
    if (span_is(text, "rest")) {
        field->flags |= FIELD_REST_COUNT;
        return true;
    }
    for (size_t i = 0; i < index; i++) {
        if (span_equal(fields[i].name, text)) {
            field->count = (uint16_t)i;
            field->flags |= FIELD_PARAM_COUNT;
            return true;
        }
    }
    return false;
}

static bool take_count(struct schema_field *fields, size_t index, struct span *text)
{
    struct span count = take_until(text, "]");
    return set_count(fields, index, count) && take_mark(text, ']');
}

/* Parse one `Name:type[count]?` at the front of ${text}, or the begin of a struct, `Name:{`. The
 * struct ends the top level, so its members follow it in the table. ${top_count} is 0 before it. */
static bool take_field(
    struct schema_field *fields, size_t index, size_t *top_count, struct span *text)
{
    struct schema_field *field = &fields[index];
    field->name = take_until(text, ": ");
    if (field->name.size == 0 || !take_mark(text, ':')) {
        return false;
    }
    if (*top_count == 0 && take_mark(text, '{')) {
        field->flags = FIELD_STRUCT;
        field->struct_start = (uint16_t)(index + 1);
        *top_count = index + 1;
        return take_mark(text, ' ');
    }
    if (!set_type(field, take_until(text, "[?} "))) {
        return false;
    }
    if (take_mark(text, '[')) {
        if (!take_count(fields, index, text)) {
            return false;
        }
    } else if (field->flags & FIELD_FIXED_LENGTH) {
        return false;
    }
    if (take_mark(text, '?')) {
        field->flags |= FIELD_OPTIONAL;
    }
    if (*top_count && take_mark(text, '}')) {
        size_t group = *top_count - 1;
        fields[group].struct_members = (uint16_t)(index - group);
        return take_mark(text, '[') && take_count(fields, group, text);
    }
    return text->size == 0 || take_mark(text, ' ');
}

static size_t count_fields(struct span text)
{
    size_t count = text.size ? 1 : 0;
    for (size_t i = 0; i < text.size; i++) {
        count += text.data[i] == ' ';
    }
    return count;
}

/* Read the fields of ${row} into an otherwise empty schema; NULL if they are invalid. */
static struct event_schema *parse_row(struct arena *arena, const struct type_row *row)
{
    struct span text = span_text(row->fields);
    size_t count = count_fields(text);
    struct event_schema *schema = arena_alloc(arena, sizeof(*schema));
    struct schema_field *fields = arena_alloc_array(arena, count, sizeof(*fields));
    if (!schema || !fields) {
        return NULL;
    }
    size_t top_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool optional_before = i > 0 && (fields[i - 1].flags & FIELD_OPTIONAL);
        if (!take_field(fields, i, &top_count, &text) ||
            (optional_before && !(fields[i].flags & FIELD_OPTIONAL))) {
            return NULL;
        }
    }
    schema->fields = fields;
    schema->field_count = (uint16_t)count;
    schema->top_count = (uint16_t)(top_count ? top_count : count);
    return text.size == 0 && schema_finish(schema, arena, NULL) ? schema : NULL;
}

/* ---- the index ------------------------------------------------------------------------------- */

/* Parse a list such as "1-4,39" into ${types}, which holds MAX_TYPES. Returns the count, or 0 if
 * the list is invalid. */
static size_t parse_types(const char *list, uint8_t *types)
{
    struct span text = span_text(list);
    size_t count = 0;
    do {
        unsigned first;
        if (!take_number(&text, MAX_TYPES - 1, &first)) {
            return 0;
        }
        unsigned last = first;
        if (take_mark(&text, '-') && !take_number(&text, MAX_TYPES - 1, &last)) {
            return 0;
        }
        for (unsigned type = first; type <= last; type++) {
            if (count == MAX_TYPES) {
                return 0;
            }
            types[count++] = (uint8_t)type;
        }
    } while (take_mark(&text, ','));
    return text.size ? 0 : count;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = order_u64(x->class_number, y->class_number);
    order = order ? order : order_u64(x->type, y->type);
    order = order ? order : order_u64(y->version, x->version);
    return order ? order : order_u64(x->row, y->row);
}

static bool index_types(struct kernel_source *source)
{
    uint8_t types[MAX_TYPES];
    size_t capacity = 0;
    for (size_t row = 0; row < TYPE_ROWS; row++) {
        capacity += parse_types(type_rows[row].types, types);
    }
    source->entries = arena_alloc_array(&source->arena, capacity, sizeof(*source->entries));
    if (!source->entries) {
        return false;
    }
    for (size_t row = 0; row < TYPE_ROWS; row++) {
        size_t count = parse_types(type_rows[row].types, types);
        for (size_t i = 0; i < count; i++) {
            source->entries[source->entry_count++] = (struct entry){
                .class_number = type_rows[row].class_number,
                .type = types[i],
                .version = type_rows[row].version,
                .row = (uint16_t)row};
        }
    }
    qsort(source->entries, source->entry_count, sizeof(*source->entries), compare_entries);
    return true;
}

static bool same_key(const struct entry *a, const struct entry *b)
{
    return a->class_number == b->class_number && a->type == b->type && a->version == b->version;
}

/* First entry of the type in ${version}, else in the next lower version, else NULL. */
static struct entry *find_entry(
    const struct kernel_source *source, uint16_t class_number, uint8_t type, uint8_t version)
{
    const struct entry key = {.class_number = class_number, .type = type, .version = version};
    size_t low = 0;
    size_t high = source->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_entries(&source->entries[middle], &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct entry *found = &source->entries[low];
    return low < source->entry_count && found->class_number == class_number && found->type == type
               ? found
               : NULL;
}

/* CLASS_COUNT if there is none. */
static size_t find_class(const struct kernel_source *source, const struct guid *guid)
{
    size_t number = 0;
    while (number < CLASS_COUNT && !guid_equal(&source->classes[number], guid)) {
        number++;
    }
    return number;
}

/* ---- schemas --------------------------------------------------------------------------------- */

static const char *name_of_type(uint16_t class_number, uint8_t type)
{
    for (size_t i = 0; i < NAME_ROWS; i++) {
        if (name_rows[i].class_number == class_number && name_rows[i].type == type) {
            return name_rows[i].name;
        }
    }
    return NULL;
}

/* Set everything except layout and version. */
static bool set_names(
    struct kernel_source *source, struct event_schema *schema, uint16_t class_number, uint8_t type)
{
    const struct class_row *row = &class_rows[class_number];
    const char *name = name_of_type(class_number, type);
    schema->kind = SCHEMA_MOF;
    schema->source = "kernel";
    schema->provider = source->providers[class_number];
    schema->class_guid = source->classes[class_number];
    schema->descriptor.opcode = type;
    schema->provider_name = span_text(row->provider_name);
    schema->task_name = span_text(row->name);
    schema->opcode_name = span_text(name);
    char text[128];
    int size = name ? snprintf(text, sizeof(text), "%s/%s", row->name, name)
                    : snprintf(text, sizeof(text), "%s/0x%x", row->name, (unsigned)type);
    return arena_copy(&source->arena, span_make(text, (size_t)size), &schema->event_name);
}

/* Schema of a type without known layout; NULL if memory is short. */
static struct event_schema *bare_schema(
    struct kernel_source *source, uint16_t class_number, uint8_t type)
{
    struct event_schema **place = &source->bare[class_number][type];
    if (!*place) {
        struct event_schema *schema = arena_alloc(&source->arena, sizeof(*schema));
        if (schema && set_names(source, schema, class_number, type)) {
            *place = schema;
        }
    }
    return *place;
}

static struct event_schema *entry_schema(struct kernel_source *source, struct entry *entry)
{
    if (entry->schema) {
        return entry->schema;
    }
    struct event_schema **layout = &source->layouts[entry->row];
    if (!*layout) {
        *layout = parse_row(&source->arena, &type_rows[entry->row]);
    }
    struct event_schema *schema = arena_alloc(&source->arena, sizeof(*schema));
    if (!*layout || !schema) {
        return bare_schema(source, entry->class_number, entry->type);
    }
    *schema = **layout;
    schema->has_layout = true;
    schema->descriptor.version = entry->version;
    if (set_names(source, schema, entry->class_number, entry->type)) {
        entry->schema = schema;
    }
    return entry->schema;
}

/* ---- the source ------------------------------------------------------------------------------ */

static void kernel_destroy(void *self)
{
    struct kernel_source *source = self;
    if (source) {
        arena_fini(&source->arena);
        free(source);
    }
}

static void *kernel_create(const struct schema_source_settings *settings, struct error *err)
{
    (void)settings;
    struct kernel_source *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for kernel event classes");
        return NULL;
    }
    arena_init(&source->arena, MAX_BYTES);
    for (size_t i = 0; i < CLASS_COUNT; i++) {
        guid_parse(span_text(class_rows[i].guid), &source->classes[i]);
        guid_parse(span_text(class_rows[i].provider_guid), &source->providers[i]);
    }
    if (!index_types(source)) {
        error_set(err, ERR_MEMORY, "no memory for kernel event classes");
        kernel_destroy(source);
        return NULL;
    }
    return source;
}

static void kernel_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    struct kernel_source *source = self;
    if ((record->kind != RECORD_KERNEL && record->kind != RECORD_CLASSIC) ||
        guid_is_zero(&record->provider)) {
        return;
    }
    size_t class_number = find_class(source, &record->provider);
    if (class_number == CLASS_COUNT) {
        return;
    }
    uint8_t type = record->descriptor.opcode;
    struct entry *first = find_entry(
        source, (uint16_t)class_number, type, record->descriptor.version);
    if (!first) {
        schema_candidates_add(found, bare_schema(source, (uint16_t)class_number, type));
        return;
    }
    const struct entry *end = source->entries + source->entry_count;
    for (struct entry *entry = first; entry < end && same_key(entry, first); entry++) {
        schema_candidates_add(found, entry_schema(source, entry));
    }
}

static void kernel_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    struct kernel_source *source = self;
    for (size_t i = 0; i < source->entry_count; i++) {
        const struct event_schema *schema = entry_schema(source, &source->entries[i]);
        if (schema) {
            each(each_self, schema);
        }
    }
    for (size_t i = 0; i < NAME_ROWS; i++) {
        const struct name_row *row = &name_rows[i];
        if (find_entry(source, row->class_number, row->type, UINT8_MAX)) {
            continue;
        }
        const struct event_schema *schema = bare_schema(source, row->class_number, row->type);
        if (schema) {
            each(each_self, schema);
        }
    }
}

const struct schema_source_ops schema_source_kernel = {
    .name = "kernel",
    .create = kernel_create,
    .find = kernel_find,
    .list = kernel_list,
    .destroy = kernel_destroy,
};
