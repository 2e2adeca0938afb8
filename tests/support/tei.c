#include "support/tei.h"

#include <stdio.h>

#include "event/model/schema_forms.h"
#include "support/etl_put.h"

/*
 * First the head and the properties with zeros for their texts, then all texts in one order, each
 * patching its offset. Properties are listed beforehand, since an array that counts itself becomes
 * two of them, which shifts every index after it.
 */
enum {
    HEAD_BYTES = 0x70,
    PROPERTY_BYTES = 24,
    MAP_HEAD_BYTES = 16,
    MAP_ENTRY_BYTES = 8,
    TEMPLATE_EVENT_DATA = 1,
    REST_PROPERTIES = 192, /* of StackWalk_Event: Stack1 to Stack192 */
};

/* PROPERTY_FLAGS. */
enum {
    PROPERTY_STRUCT = 0x01,
    PROPERTY_PARAM_LENGTH = 0x02,
    PROPERTY_PARAM_COUNT = 0x04,
    PROPERTY_PARAM_FIXED_LENGTH = 0x10,
    PROPERTY_PARAM_FIXED_COUNT = 0x20,
};

/* ---- properties ------------------------------------------------------------------------------ */

struct property {
    const struct schema_field *field;
    bool is_count;   /* the number of elements before the field */
    uint16_t number; /* of the element, of an array that takes the rest; else 0 */
};

struct properties {
    struct arena arena;
    struct property *list;
    size_t count;
    size_t top_count;
    uint16_t *index; /* of each field of the schema in the list */
};

static void list_range(
    struct properties *p, const struct event_schema *schema, size_t first, size_t count)
{
    for (size_t i = first; i < first + count && i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        if (schema->kind == SCHEMA_MOF && (field->flags & FIELD_OPTIONAL)) {
            continue; /* what newer systems append is in no class */
        }
        if (field->flags & FIELD_COUNTED) {
            p->list[p->count++] = (struct property){.field = field, .is_count = true};
        }
        p->index[i] = (uint16_t)p->count;
        uint16_t elements = field->flags & FIELD_REST_COUNT ? REST_PROPERTIES : 0;
        for (uint16_t n = elements ? 1 : 0; n <= elements; n++) {
            p->list[p->count++] = (struct property){.field = field, .number = n};
        }
    }
}

/* Top-level properties first, then the members of each struct side by side. */
static bool list_properties(struct properties *p, const struct event_schema *schema)
{
    size_t most = 0;
    for (size_t i = 0; i < schema->field_count; i++) {
        most += schema->fields[i].flags & FIELD_REST_COUNT ? REST_PROPERTIES + 1 : 2;
    }
    p->list = arena_alloc_array(&p->arena, most, sizeof(*p->list));
    p->index = arena_alloc_array(&p->arena, schema->field_count, sizeof(*p->index));
    if (!p->list || !p->index) {
        return false;
    }
    list_range(p, schema, 0, schema->top_count);
    p->top_count = p->count;
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        if (field->flags & FIELD_STRUCT) {
            list_range(p, schema, field->struct_start, field->struct_members);
        }
    }
    return true;
}

/* What stands in an EVENT_PROPERTY_INFO beside the offsets of its texts. */
struct shape {
    uint32_t flags;
    uint16_t first;  /* in type, or index of the first member */
    uint16_t second; /* out type, or number of members */
    uint16_t count;
    uint16_t length;
};

/* The out type that TDH_IN_TYPE in tdh.h gives as the default; manifest compilers write it down. */
static uint16_t default_out(uint16_t in_type)
{
    static const uint8_t defaults[] = {[IN_UNICODE_STRING] = OUT_STRING,
        [IN_ANSI_STRING] = OUT_STRING,
        [IN_INT8] = OUT_BYTE,
        [IN_UINT8] = OUT_UNSIGNED_BYTE,
        [IN_INT16] = OUT_SHORT,
        [IN_UINT16] = OUT_UNSIGNED_SHORT,
        [IN_INT32] = OUT_INT,
        [IN_UINT32] = OUT_UNSIGNED_INT,
        [IN_INT64] = OUT_LONG,
        [IN_UINT64] = OUT_UNSIGNED_LONG,
        [IN_FLOAT] = OUT_FLOAT,
        [IN_DOUBLE] = OUT_DOUBLE,
        [IN_BOOLEAN] = OUT_BOOLEAN,
        [IN_BINARY] = OUT_HEX_BINARY,
        [IN_GUID] = OUT_GUID,
        [IN_POINTER] = OUT_HEX_INT64,
        [IN_FILETIME] = OUT_DATETIME,
        [IN_SYSTEMTIME] = OUT_DATETIME,
        [IN_SID] = OUT_STRING,
        [IN_HEX_INT32] = OUT_HEX_INT32,
        [IN_HEX_INT64] = OUT_HEX_INT64,
        [IN_MANIFEST_COUNTED_STRING] = OUT_STRING,
        [IN_MANIFEST_COUNTED_ANSI_STRING] = OUT_STRING,
        [IN_MANIFEST_COUNTED_BINARY] = OUT_HEX_BINARY};
    return in_type < sizeof(defaults) ? defaults[in_type] : OUT_NULL;
}

static bool is_hex(uint16_t in_type)
{
    return in_type == IN_HEX_INT32 || in_type == IN_HEX_INT64;
}

/* What the MOF compiler knows is older than the types of manifests. */
static void shape_mof_types(const struct schema_field *field, struct shape *shape)
{
    if (is_hex(field->in_type)) {
        bool wide = field->in_type == IN_HEX_INT64;
        shape->first = wide ? IN_UINT64 : IN_UINT32;
        shape->second = wide ? OUT_HEX_INT64 : OUT_HEX_INT32;
    } else if (field->in_type == IN_WMI_TIME) {
        shape->first = IN_INT64;
    } else if (field->in_type == IN_UNICODE_STRING && (field->flags & FIELD_FIXED_LENGTH)) {
        shape->first = IN_UNICODE_CHAR;
        shape->second = OUT_STRING;
        shape->count = field->length;
        shape->length = sizeof(uint16_t);
        shape->flags &= ~(uint32_t)PROPERTY_PARAM_FIXED_LENGTH;
    }
}

static uint32_t property_flags(uint16_t flags)
{
    return (flags & FIELD_STRUCT ? PROPERTY_STRUCT : 0u) |
           (flags & FIELD_PARAM_LENGTH ? PROPERTY_PARAM_LENGTH : 0u) |
           (flags & FIELD_PARAM_COUNT ? PROPERTY_PARAM_COUNT : 0u) |
           (flags & FIELD_FIXED_LENGTH ? PROPERTY_PARAM_FIXED_LENGTH : 0u) |
           (flags & FIELD_FIXED_COUNT ? PROPERTY_PARAM_FIXED_COUNT : 0u);
}

static void shape_types(const struct event_schema *schema, const struct schema_field *field,
    uint8_t pointer_size, struct shape *shape)
{
    shape->first = field->in_type;
    shape->second = field->out_type;
    if (shape->length == 0 && !(shape->flags & PROPERTY_PARAM_FIXED_LENGTH)) {
        bool is_pointer = field->in_type == IN_POINTER || field->in_type == IN_SIZE_T;
        shape->length = is_pointer ? pointer_size : schema_forms_fixed_size(field->in_type);
    }
    if (schema->kind == SCHEMA_MOF) {
        shape_mof_types(field, shape);
    } else if (schema->kind != SCHEMA_TRACELOGGING && shape->second == OUT_NULL) {
        shape->second = default_out(field->in_type);
    }
}

static struct shape shape_of(const struct event_schema *schema, const struct properties *p,
    size_t place, const struct tei_options *options)
{
    const struct property *property = &p->list[place];
    const struct schema_field *field = property->field;
    if (property->is_count) {
        return (struct shape){.first = IN_UINT16, .count = 1, .length = sizeof(uint16_t)};
    }
    struct shape shape = {.flags = property_flags(field->flags),
        .count = field->count ? field->count : 1,
        .length = field->length};
    if (field->flags & FIELD_PARAM_COUNT) {
        shape.count = p->index[field->count];
    } else if (field->flags & FIELD_COUNTED) {
        shape.flags |= PROPERTY_PARAM_COUNT;
        shape.count = (uint16_t)(place - 1);
    }
    if (field->flags & FIELD_PARAM_LENGTH) {
        shape.length = p->index[field->length];
    }
    if (field->flags & FIELD_STRUCT) {
        shape.first = field->struct_members ? p->index[field->struct_start] : (uint16_t)p->count;
        if (field->struct_members && (schema->fields[field->struct_start].flags & FIELD_COUNTED)) {
            shape.first--;
        }
        size_t last = field->struct_members
                          ? p->index[field->struct_start + field->struct_members - 1] + 1u
                          : shape.first;
        shape.second = (uint16_t)(last - shape.first);
    } else {
        shape_types(schema, field, options->pointer_size ? options->pointer_size : 8, &shape);
    }
    return shape;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* ${text} and ${more} after the structure that begins at ${start}: its offset goes to ${slot}. */
static void put_text(struct buf *out, size_t start, size_t slot, struct span text, const char *more)
{
    if (text.size == 0 || out->failed) {
        return;
    }
    store_le32(out->data + start + slot, (uint32_t)(out->size - start));
    etl_put_utf16_span(out, text);
    etl_put_utf16z(out, more);
}

/* What stands after ${text}, which is a message where ${is_message}. */
static const char *space_behind(enum tei_spaces spaces, struct span text, bool is_message)
{
    bool is_prose = text.size && memchr(text.data, ' ', text.size);
    bool put = spaces == TEI_SPACES_ALL ||
               (spaces == TEI_SPACES_WINDOWS && (is_message || is_prose));
    return put ? " " : "";
}

/* The names of the bits that are set, then an empty one. */
static void put_keywords(struct buf *out, size_t start, size_t slot,
    const struct event_schema *schema, const struct tei_options *options)
{
    const struct event_descriptor *d = options->descriptor ? options->descriptor
                                                           : &schema->descriptor;
    size_t offset = out->size - start;
    for (size_t i = 0; i < schema->keyword_count; i++) {
        const struct schema_keyword *named = &schema->keywords[i];
        if (named->name.size && (named->mask == 0 || (named->mask & d->keyword))) {
            etl_put_utf16_span(out, named->name);
            etl_put_utf16z(out, space_behind(options->spaces, named->name, false));
        }
    }
    if (out->size - start > offset) {
        etl_put_u16(out, 0);
    }
    if (out->size - start > offset && !out->failed) {
        store_le32(out->data + start + slot, (uint32_t)offset);
    }
}

static void put_names(struct buf *out, size_t start, const struct event_schema *schema,
    const struct tei_options *options)
{
    enum { PROVIDER = 0x34, LEVEL = 0x38, CHANNEL = 0x3c, KEYWORDS = 0x40, TASK = 0x44 };
    enum { OPCODE = 0x48, MESSAGE = 0x4c, EVENT_NAME = 0x5c };
    bool is_mof = schema->kind == SCHEMA_MOF;
    bool is_tlg = schema->kind == SCHEMA_TRACELOGGING;
    enum tei_spaces spaces = options->spaces;
    struct span task = is_tlg ? schema->event_name : schema->task_name;
    put_text(out, start, PROVIDER, schema->provider_name, "");
    if (!is_mof) {
        put_text(
            out, start, LEVEL, schema->level_name, space_behind(spaces, schema->level_name, true));
        put_text(out, start, CHANNEL, schema->channel_name,
            space_behind(spaces, schema->channel_name, false));
        put_keywords(out, start, KEYWORDS, schema, options);
    }
    put_text(out, start, TASK, task, space_behind(spaces, task, false));
    put_text(
        out, start, OPCODE, schema->opcode_name, space_behind(spaces, schema->opcode_name, true));
    put_text(out, start, MESSAGE, schema->message, space_behind(spaces, schema->message, true));
    if (is_tlg) {
        put_text(out, start, EVENT_NAME, schema->event_name, "");
    }
}

/* ---- the structures -------------------------------------------------------------------------- */

static uint32_t decoding_source(enum schema_kind kind)
{
    enum { XML, WBEM, WPP, TLG };
    switch (kind) {
    case SCHEMA_MOF:
        return WBEM;
    case SCHEMA_WPP:
        return WPP;
    case SCHEMA_TRACELOGGING:
        return TLG;
    default:
        return XML;
    }
}

static void put_head(struct buf *out, const struct event_schema *schema, const struct properties *p,
    const struct tei_options *options)
{
    const struct event_descriptor *d = options->descriptor ? options->descriptor
                                                           : &schema->descriptor;
    etl_put_guid(out, &schema->provider);
    etl_put_guid(out, &schema->class_guid);
    etl_put_u16(out, d->id);
    etl_put_u8(out, d->version);
    etl_put_u8(out, d->channel);
    etl_put_u8(out, d->level);
    etl_put_u8(out, d->opcode);
    etl_put_u16(out, d->task);
    etl_put_u64(out, d->keyword);
    etl_put_u32(out, decoding_source(schema->kind));
    etl_put_zeros(out, 0x64 - 0x34);
    etl_put_u32(out, (uint32_t)p->count);
    etl_put_u32(out, (uint32_t)p->top_count);
    etl_put_u32(out, TEMPLATE_EVENT_DATA);
}

static void put_properties(struct buf *out, const struct event_schema *schema,
    const struct properties *p, const struct tei_options *options)
{
    for (size_t i = 0; i < p->count; i++) {
        struct shape shape = shape_of(schema, p, i, options);
        etl_put_u32(out, shape.flags);
        etl_put_u32(out, 0);
        etl_put_u16(out, shape.first);
        etl_put_u16(out, shape.second);
        etl_put_u32(out, 0);
        etl_put_u16(out, shape.count);
        etl_put_u16(out, shape.length);
        etl_put_u32(out, 0);
    }
}

struct span tei_map_name(const struct schema_field *field)
{
    return field->map && field->map->name.size ? field->map->name : field->name;
}

void tei_put_event(
    struct buf *out, const struct event_schema *schema, const struct tei_options *options)
{
    enum { NAME = 4, MAP_NAME = 12, SCRATCH_BYTES = 8 * 1024 * 1024 };
    struct properties p = {.list = NULL};
    arena_init(&p.arena, SCRATCH_BYTES);
    size_t start = out->size;
    if (!list_properties(&p, schema)) {
        out->failed = true;
    } else {
        put_head(out, schema, &p, options);
        put_properties(out, schema, &p, options);
        put_names(out, start, schema, options);
    }
    for (size_t i = 0; !out->failed && i < p.count; i++) {
        const struct property *property = &p.list[i];
        size_t slot = HEAD_BYTES + i * PROPERTY_BYTES;
        char more[8] = "";
        if (property->number) {
            snprintf(more, sizeof(more), "%u", property->number);
        }
        put_text(
            out, start, slot + NAME, property->field->name, property->is_count ? ".Count" : more);
        if (property->field->map && !property->is_count) {
            put_text(out, start, slot + MAP_NAME, tei_map_name(property->field), "");
        }
    }
    arena_fini(&p.arena);
}

void tei_put_map(struct buf *out, const struct schema_map *map, struct span name)
{
    enum { MANIFEST_VALUEMAP = 1, MANIFEST_BITMAP = 2, VALUE_ULONG = 0 };
    size_t start = out->size;
    etl_put_u32(out, 0);
    etl_put_u32(out, map->kind == MAP_BITS ? MANIFEST_BITMAP : MANIFEST_VALUEMAP);
    etl_put_u32(out, (uint32_t)map->entry_count);
    etl_put_u32(out, VALUE_ULONG);
    for (size_t i = 0; i < map->entry_count; i++) {
        etl_put_u32(out, 0);
        etl_put_u32(out, (uint32_t)map->entries[i].value);
    }
    put_text(out, start, 0, name, "");
    for (size_t i = 0; i < map->entry_count; i++) {
        /* Texts of message tables end with one space. */
        put_text(out, start, MAP_HEAD_BYTES + i * MAP_ENTRY_BYTES, map->entries[i].text, " ");
    }
}
