#include "schema/events/event_info.h"

#include "base/reader.h"
#include "base/utf.h"
#include "schema/text/names.h"

enum {
    HEAD_BYTES = 0x70, /* up to EventPropertyInfoArray */
    PROPERTY_BYTES = 24,
    SKIPPED_BYTES = 20, /* provider message, binary XML and its size, event name, attributes */
    MAP_HEAD_BYTES = 16,
    MAP_ENTRY_BYTES = 8,
    MAX_KEYWORDS = 64,
    TEMPLATE_CONTROL_GUID = 4,
};

/* PROPERTY_FLAGS. */
enum {
    PROPERTY_STRUCT = 0x01,
    PROPERTY_PARAM_LENGTH = 0x02,
    PROPERTY_PARAM_COUNT = 0x04,
    PROPERTY_PARAM_FIXED_LENGTH = 0x10,
    PROPERTY_PARAM_FIXED_COUNT = 0x20,
    PROPERTY_HAS_CUSTOM_SCHEMA = 0x80,
};

/* MAP_FLAGS and MAP_VALUETYPE. */
enum {
    MAP_FLAG_MANIFEST_VALUEMAP = 0x01,
    MAP_FLAG_MANIFEST_BITMAP = 0x02,
    MAP_FLAG_MANIFEST_PATTERNMAP = 0x04,
    MAP_FLAG_WBEM_VALUEMAP = 0x08,
    MAP_FLAG_WBEM_BITMAP = 0x10,
    MAP_FLAG_WBEM_FLAG = 0x20,
    MAP_FLAG_WBEM_NO_MAP = 0x40,
    MAP_VALUE_TYPE_ULONG = 0,
};

struct head {
    struct event_info_key key;
    uint32_t provider_name;
    uint32_t level_name;
    uint32_t channel_name;
    uint32_t keywords_name;
    uint32_t task_name;
    uint32_t opcode_name;
    uint32_t message;
    uint32_t property_count;
    uint32_t top_count;
};

static bool read_head(struct span info, struct head *ret_head)
{
    struct reader r = reader_make(info);
    struct head head = {0};
    head.key.provider = reader_guid(&r);
    head.key.event_guid = reader_guid(&r);
    head.key.descriptor = record_read_descriptor(&r);
    uint32_t source = reader_u32(&r);
    head.provider_name = reader_u32(&r);
    head.level_name = reader_u32(&r);
    head.channel_name = reader_u32(&r);
    head.keywords_name = reader_u32(&r);
    head.task_name = reader_u32(&r);
    head.opcode_name = reader_u32(&r);
    head.message = reader_u32(&r);
    reader_skip(&r, SKIPPED_BYTES);
    head.property_count = reader_u32(&r);
    head.top_count = reader_u32(&r);
    uint32_t flags = reader_u32(&r);
    if (r.failed || source > EVENT_INFO_TLG || head.property_count > SCHEMA_MAX_FIELDS ||
        (size_t)head.property_count * PROPERTY_BYTES > reader_left(&r) ||
        head.top_count > head.property_count) {
        return false;
    }
    head.key.source = source;
    head.key.has_control = source == EVENT_INFO_XML && (flags & TEMPLATE_CONTROL_GUID);
    *ret_head = head;
    return true;
}

bool event_info_read_key(struct span info, struct event_info_key *ret_key)
{
    struct head head;
    if (!read_head(info, &head)) {
        return false;
    }
    *ret_key = head.key;
    return true;
}

/* ---- texts ----------------------------------------------------------------------------------- */

struct maker {
    struct span info;
    struct arena *arena;
    bool out_of_memory;
};

/* Text at ${offset}; empty if there is none. */
static struct span text_at(struct maker *m, uint32_t offset)
{
    struct span text = {0};
    if (offset != 0 && offset < m->info.size &&
        !names_from_utf16(m->arena, span_from(m->info, offset), &text)) {
        m->out_of_memory = true;
    }
    return text;
}

/* Read a list of texts that ends with an empty text. */
static void read_keywords(struct maker *m, uint32_t offset, struct event_schema *schema)
{
    if (offset == 0 || offset >= m->info.size) {
        return;
    }
    struct schema_keyword list[MAX_KEYWORDS] = {{0}};
    struct reader r = reader_make(span_from(m->info, offset));
    size_t count = 0;
    while (count < MAX_KEYWORDS) {
        struct span utf16 = reader_text16(&r);
        struct span name;
        if (r.failed || utf16.size == 0) {
            break;
        }
        if (!names_from_utf16(m->arena, utf16, &name)) {
            m->out_of_memory = true;
            return;
        }
        list[count++].name = names_without_win(names_without_space(name));
    }
    struct schema_keyword *kept = arena_alloc_array(m->arena, count, sizeof(*kept));
    if (!kept) {
        m->out_of_memory = true;
        return;
    }
    memcpy(kept, list, count * sizeof(*kept));
    schema->keywords = kept;
    schema->keyword_count = count;
}

/* ---- properties ------------------------------------------------------------------------------ */

static uint16_t flags_of(uint32_t property_flags)
{
    static const struct {
        uint32_t property;
        uint16_t field;
    } pairs[] = {
        {PROPERTY_STRUCT, FIELD_STRUCT},
        {PROPERTY_PARAM_LENGTH, FIELD_PARAM_LENGTH},
        {PROPERTY_PARAM_COUNT, FIELD_PARAM_COUNT},
        {PROPERTY_PARAM_FIXED_LENGTH, FIELD_FIXED_LENGTH},
        {PROPERTY_PARAM_FIXED_COUNT, FIELD_FIXED_COUNT},
    };
    uint16_t flags = 0;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        flags |= property_flags & pairs[i].property ? pairs[i].field : 0;
    }
    return flags;
}

/* Drop lengths of fixed-size types: they mean nothing. Infos of 64-bit traces say 4 for
 * pointers. */
static void drop_useless_length(struct schema_field *field)
{
    if ((field->flags & FIELD_STRUCT) || !names_has_length(field->in_type)) {
        field->flags &= (uint16_t) ~(FIELD_PARAM_LENGTH | FIELD_FIXED_LENGTH);
        field->length = 0;
    }
}

/* Returns the offset of the map name, or 0. */
static uint32_t read_property(struct maker *m, struct reader *r, struct schema_field *field)
{
    uint32_t flags = reader_u32(r);
    field->name = text_at(m, reader_u32(r));
    uint16_t first = reader_u16(r);
    uint16_t second = reader_u16(r);
    uint32_t map_name = reader_u32(r);
    field->count = reader_u16(r);
    field->length = reader_u16(r);
    reader_skip(r, 4); /* tags */
    field->flags = flags_of(flags);
    if (field->flags & FIELD_STRUCT) {
        field->struct_start = first;
        field->struct_members = second;
    } else {
        field->in_type = first;
        field->out_type = second;
    }
    if (field->count == 0 && !(field->flags & (FIELD_PARAM_COUNT | FIELD_FIXED_COUNT))) {
        field->count = 1;
    }
    drop_useless_length(field);
    return flags & (PROPERTY_STRUCT | PROPERTY_HAS_CUSTOM_SCHEMA) ? 0 : map_name;
}

static void read_properties(struct maker *m, const struct head *head,
    const struct event_info_maps *maps, struct event_schema *schema, bool *missing)
{
    schema->fields = arena_alloc_array(m->arena, head->property_count, sizeof(*schema->fields));
    if (!schema->fields) {
        m->out_of_memory = true;
        return;
    }
    schema->field_count = (uint16_t)head->property_count;
    schema->top_count = (uint16_t)head->top_count;
    struct reader r = reader_make(span_from(m->info, HEAD_BYTES));
    for (size_t i = 0; i < head->property_count; i++) {
        struct schema_field *field = &schema->fields[i];
        struct span map_name = text_at(m, read_property(m, &r, field));
        if (map_name.size) {
            field->map = maps->find(maps->self, &head->key.provider, map_name);
            *missing |= !field->map;
        }
    }
}

/* ---- schemas --------------------------------------------------------------------------------- */

static enum schema_kind kind_of(enum event_info_source source)
{
    switch (source) {
    case EVENT_INFO_XML:
        return SCHEMA_MANIFEST;
    case EVENT_INFO_WBEM:
        return SCHEMA_MOF;
    case EVENT_INFO_TLG:
        return SCHEMA_TRACELOGGING;
    default:
        return SCHEMA_WPP;
    }
}

/* TDH stores other texts in the places of task and opcode (TRACE_EVENT_INFO, remarks): class and
 * event type for Wbem, the event name for TraceLogging. */
static void set_event_name(struct maker *m, struct event_schema *schema)
{
    if (schema->kind == SCHEMA_TRACELOGGING) {
        schema->event_name = schema->task_name;
        schema->task_name = span_make(NULL, 0);
    } else if (schema->kind == SCHEMA_MOF && schema->task_name.size) {
        schema->event_name = schema->task_name;
        if (schema->opcode_name.size && !names_join(m->arena, schema->task_name, "/",
                                            schema->opcode_name, &schema->event_name)) {
            m->out_of_memory = true;
        }
    }
}

/* The message of a manifest. The message compiler appends a space to each message and Windows keeps
 * it, so it is removed here. Texts of other sources stay as they are. */
static struct span message_at(struct maker *m, const struct head *head, uint32_t offset)
{
    struct span text = text_at(m, offset);
    return head->key.source == EVENT_INFO_XML ? names_without_space(text) : text;
}

static void read_names(struct maker *m, const struct head *head, struct event_schema *schema)
{
    const struct event_descriptor *descriptor = &head->key.descriptor;
    schema->provider_name = text_at(m, head->provider_name);
    schema->level_name = names_of_level(descriptor->level, message_at(m, head, head->level_name));
    schema->channel_name = names_without_win(message_at(m, head, head->channel_name));
    schema->message = message_at(m, head, head->message);
    schema->task_name = message_at(m, head, head->task_name);
    if (span_is(schema->task_name, "win:None")) {
        schema->task_name = span_make(NULL, 0);
    }
    struct span opcode = message_at(m, head, head->opcode_name);
    schema->opcode_name = schema->kind == SCHEMA_MOF && opcode.size
                              ? opcode
                              : names_of_opcode(descriptor->opcode, opcode);
    read_keywords(m, head->keywords_name, schema);
    set_event_name(m, schema);
}

/* Make the schema without its layout. */
static struct event_schema *start_schema(
    struct maker *m, struct span info, struct head *ret_head, struct error *err)
{
    if (!read_head(info, ret_head)) {
        error_set(err, ERR_FORMAT, "not a TRACE_EVENT_INFO");
        return NULL;
    }
    struct event_schema *schema = arena_alloc(m->arena, sizeof(*schema));
    if (!schema) {
        error_set(err, ERR_MEMORY, "no memory left for event schemas");
        return NULL;
    }
    schema->kind = kind_of(ret_head->key.source);
    schema->provider = ret_head->key.provider;
    schema->descriptor = ret_head->key.descriptor;
    if (schema->kind == SCHEMA_MOF) {
        schema->class_guid = ret_head->key.event_guid;
    }
    read_names(m, ret_head, schema);
    return schema;
}

struct event_schema *event_info_names(struct span info, struct arena *arena, struct error *err)
{
    struct head head;
    struct maker m = {.info = info, .arena = arena};
    struct event_schema *schema = start_schema(&m, info, &head, err);
    if (schema && m.out_of_memory) {
        error_set(err, ERR_MEMORY, "no memory left for event schemas");
        return NULL;
    }
    return schema;
}

struct event_schema *event_info_schema(struct span info, const struct event_info_maps *maps,
    struct arena *arena, bool *ret_maps_missing, struct error *err)
{
    struct head head;
    struct maker m = {.info = info, .arena = arena};
    bool missing = false;
    struct event_schema *schema = start_schema(&m, info, &head, err);
    if (!schema) {
        return NULL;
    }
    schema->has_layout = schema->kind != SCHEMA_WPP;
    read_properties(&m, &head, maps, schema, &missing);
    if (m.out_of_memory) {
        error_set(err, ERR_MEMORY, "no memory left for event schemas");
        return NULL;
    }
    if (!schema_finish(schema, arena, err)) {
        return NULL;
    }
    *ret_maps_missing = missing;
    return schema;
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* Meaning of an entry's number: bit position, list position, or the value itself. */
static bool entry_value(uint32_t flags, size_t place, uint32_t number, uint64_t *ret_value)
{
    if (flags & MAP_FLAG_WBEM_NO_MAP) {
        number = (uint32_t)place;
    }
    if ((flags & MAP_FLAG_WBEM_BITMAP) && !(flags & MAP_FLAG_WBEM_FLAG)) {
        *ret_value = number < 32 ? UINT64_C(1) << number : 0;
        return number < 32;
    }
    *ret_value = number;
    return true;
}

bool event_info_map(struct span info, struct arena *arena, struct span *ret_name,
    const struct schema_map **ret_map, struct error *err)
{
    struct reader r = reader_make(info);
    struct maker m = {.info = info, .arena = arena};
    uint32_t name_offset = reader_u32(&r);
    uint32_t flags = reader_u32(&r);
    uint32_t count = reader_u32(&r);
    uint32_t value_type = reader_u32(&r);
    if (r.failed || count > SCHEMA_MAX_MAP_ENTRIES ||
        (size_t)count * MAP_ENTRY_BYTES > reader_left(&r)) {
        return error_set(err, ERR_FORMAT, "not an EVENT_MAP_INFO");
    }
    if ((flags & MAP_FLAG_MANIFEST_PATTERNMAP) ||
        (value_type != MAP_VALUE_TYPE_ULONG && !(flags & MAP_FLAG_WBEM_NO_MAP))) {
        return error_set(err, ERR_UNSUPPORTED, "a map from texts instead of numbers");
    }
    struct schema_map *map = arena_alloc(arena, sizeof(*map));
    struct schema_map_entry *entries = arena_alloc_array(arena, count, sizeof(*entries));
    struct span name = text_at(&m, name_offset);
    size_t used = 0;
    for (size_t i = 0; map && entries && i < count && !m.out_of_memory; i++) {
        struct span text = text_at(&m, reader_u32(&r));
        if (flags & (MAP_FLAG_MANIFEST_VALUEMAP | MAP_FLAG_MANIFEST_BITMAP)) {
            text = names_without_space(text);
        }
        uint64_t value;
        if (entry_value(flags, i, reader_u32(&r), &value)) {
            entries[used++] = (struct schema_map_entry){.value = value, .text = text};
        }
    }
    if (!map || !entries || m.out_of_memory) {
        return error_set(err, ERR_MEMORY, "no memory left for maps");
    }
    bool bits = flags & (MAP_FLAG_MANIFEST_BITMAP | MAP_FLAG_WBEM_BITMAP | MAP_FLAG_WBEM_FLAG);
    if (!bits) {
        schema_map_sort(entries, used);
    }
    map->kind = bits ? MAP_BITS : MAP_VALUE;
    map->entries = entries;
    map->entry_count = used;
    map->name = name;
    *ret_name = name;
    *ret_map = map;
    return true;
}
