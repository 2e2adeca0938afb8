#include "schema/manifest/manifest_templates.h"

#include <stdio.h>

#include "schema/text/names.h"

/*
 * TEMP: the properties of events, numbered as in TDH. VMAP and BMAP: names of their values. Both
 * are read where an event or property refers to them, because their tables (TTBL, MAPS) add
 * nothing.
 */
enum { PROPERTY_BYTES = 20 };

enum property_flags {
    PROPERTY_STRUCT = 0x01,
    PROPERTY_FIXED_LENGTH = 0x02,
    PROPERTY_PARAM_LENGTH = 0x04,
    PROPERTY_FIXED_COUNT = 0x08,
    PROPERTY_PARAM_COUNT = 0x10,
};

static void read_map_entries(struct manifest_crim *p, struct reader *r, struct model_map *map)
{
    uint32_t count = reader_u32(r);
    for (uint32_t i = 0; i < count && i < SCHEMA_MAX_MAP_ENTRIES; i++) {
        uint32_t value = reader_u32(r);
        uint32_t message = reader_u32(r);
        struct model_entry *entry = r->failed ? NULL : manifest_crim_allocate(p, sizeof(*entry));
        if (!entry) {
            return;
        }
        entry->value = value;
        entry->message = manifest_crim_message(p, message);
        manifest_model_add_entry(map, entry);
    }
}

/* Key of the map at ${offset}; empty for pattern maps (QUER), which name no values. */
static struct span read_map(struct manifest_crim *p, uint32_t offset)
{
    struct span key = manifest_crim_key(p, offset);
    if (key.size == 0 || map_get(&p->provider->names[MODEL_MAP], key)) {
        return key;
    }
    struct reader r = manifest_crim_reader(p, offset);
    struct span signature = reader_take(&r, 4);
    bool is_bits = span_is(signature, "BMAP");
    if (span_is(signature, "QUER")) {
        return span_make(NULL, 0);
    }
    if (!is_bits && !span_is(signature, "VMAP")) {
        return key; /* the model then reports it as missing */
    }
    reader_skip(&r, 4);
    struct model_map *map = manifest_crim_allocate(p, sizeof(*map));
    if (map) {
        map->kind = is_bits ? MAP_BITS : MAP_VALUE;
        map->name = manifest_crim_text(p, reader_u32(&r));
        reader_skip(&r, 4);
        read_map_entries(p, &r, map);
        manifest_crim_define(p, MODEL_MAP, key, map);
    }
    return key;
}

/* TDH ignores the length of a fixed-size type. */
static void set_extent(struct schema_field *field, uint32_t flags)
{
    if (flags & (PROPERTY_FIXED_COUNT | PROPERTY_PARAM_COUNT)) {
        field->flags |= flags & PROPERTY_PARAM_COUNT ? FIELD_PARAM_COUNT : FIELD_FIXED_COUNT;
    } else {
        field->count = 1;
    }
    bool has_length = !(flags & PROPERTY_STRUCT) && names_has_length(field->in_type);
    if (has_length && (flags & PROPERTY_PARAM_LENGTH)) {
        field->flags |= FIELD_PARAM_LENGTH;
    } else if (has_length && (flags & PROPERTY_FIXED_LENGTH) && field->length) {
        field->flags |= FIELD_FIXED_LENGTH;
    } else {
        field->length = 0;
    }
}

static void read_property(
    struct manifest_crim *p, struct reader *r, struct schema_field *field, struct span *ret_map)
{
    uint32_t flags = reader_u32(r);
    if (flags & PROPERTY_STRUCT) {
        field->flags = FIELD_STRUCT;
        field->struct_start = reader_u16(r);
        field->struct_members = reader_u16(r);
        reader_skip(r, 4);
    } else {
        uint8_t in = reader_u8(r);
        uint8_t out = reader_u8(r);
        field->in_type = in;
        field->out_type = names_is_default_out(in, out) ? OUT_NULL : out;
        reader_skip(r, 2);
        *ret_map = read_map(p, reader_u32(r));
    }
    field->count = reader_u16(r);
    field->length = reader_u16(r);
    set_extent(field, flags);
    field->name = manifest_crim_text(p, reader_u32(r));
}

/* Returns the reason why the template at ${r} is unusable; NULL if it is usable or memory is
 * short. */
static const char *read_properties(
    struct manifest_crim *p, struct reader *r, struct model_template *template)
{
    reader_skip(r, 4);
    uint32_t top_count = reader_u32(r);
    uint32_t count = reader_u32(r);
    uint32_t offset = reader_u32(r);
    if (r->failed || count > SCHEMA_MAX_FIELDS || top_count > count) {
        return "it has too many properties or is truncated";
    }
    struct event_schema *schema = &template->schema;
    struct arena *arena = &p->model->manifest->arena;
    struct span *maps = manifest_crim_allocate(p, (count + 1) * sizeof(*maps));
    schema->fields = p->failed ? NULL : arena_alloc_array(arena, count, sizeof(*schema->fields));
    if (!schema->fields) {
        manifest_crim_no_memory(p);
        return NULL;
    }
    struct reader properties = manifest_crim_reader(p, offset);
    if (reader_left(&properties) < (size_t)count * PROPERTY_BYTES) {
        return "its properties lie outside the manifest";
    }
    for (uint32_t i = 0; i < count && !p->failed; i++) {
        read_property(p, &properties, &schema->fields[i], &maps[i]);
    }
    schema->field_count = (uint16_t)count;
    schema->top_count = (uint16_t)top_count;
    template->map_names = maps;
    return NULL; /* schema_finish checks references between properties */
}

struct span manifest_templates_read(struct manifest_crim *p, uint32_t offset)
{
    struct span key = manifest_crim_key(p, offset);
    if (key.size == 0 || map_get(&p->provider->names[MODEL_TEMPLATE], key)) {
        return key;
    }
    struct reader r = manifest_crim_reader(p, offset);
    struct model_template *template = manifest_crim_signature(&r, "TEMP")
                                          ? manifest_crim_allocate(p, sizeof(*template))
                                          : NULL;
    if (!template) {
        return key; /* the model then reports it as missing */
    }
    layout_init(&template->layout, &p->model->scratch);
    const char *why = read_properties(p, &r, template);
    if (why) {
        template->state = MODEL_BROKEN;
        snprintf(template->broken, sizeof(template->broken), "%s", why);
    }
    manifest_crim_define(p, MODEL_TEMPLATE, key, template);
    return key;
}
